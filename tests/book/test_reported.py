import pytest

from bindlib.book.reported import REPORTED, reported
from bindlib.errors import BindlibError


def test_prints_as_printed_and_computes_as_a_number():
    assert f"{reported('clip_b32_delta')}" == repr(reported("clip_b32_delta")) == "0.112"
    assert reported("clip_b32_delta").number == 0.112


def test_every_figure_has_a_place_and_a_meaning():
    for figure in REPORTED.values():
        assert figure.number is not None and figure.where and figure.meaning


def test_unknown_key():
    with pytest.raises(BindlibError, match="usage_low"):
        reported("usage")
