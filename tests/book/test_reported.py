import pytest

from bindlib.book.reported import REPORTED, reported
from bindlib.errors import BindlibError


def test_prints_as_printed_and_computes_as_a_number():
    assert f"{reported('clip_b32_delta')}" == repr(reported("clip_b32_delta")) == "0.112"
    assert reported("clip_b32_delta").number == 0.112


IN_WORDS = {"low_decile_accuracy", "subset_order", "negclip"}


@pytest.mark.parametrize("key", REPORTED)
def test_every_figure_has_a_place_and_a_meaning_and_a_number_or_words(key):
    figure = reported(key)
    assert figure.where and figure.meaning and figure.text
    if key not in IN_WORDS:
        assert figure.number is not None
    else:
        with pytest.raises(BindlibError, match=f"says '{figure.text}'"):
            figure.number  # noqa: B018


def test_unknown_key():
    with pytest.raises(BindlibError, match="usage_low"):
        reported("usage")
