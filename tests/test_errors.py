import pytest

from bindlib.errors import BindlibError, reason


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Wordless(Mute, OSError):
    pass


class Panic(BaseException):
    def __str__(self):
        raise Panic


@pytest.mark.parametrize(
    "error, said",
    [
        (ValueError("two\nlines"), "ValueError: two lines"),
        (ValueError(), "ValueError"),
        (BindlibError("ours: do this"), "ours: do this"),
        (FileNotFoundError(2, "No such file", "weights"), "weights: No such file"),
        (Mute(), "Mute, which does not say why"),
        (BindlibError(Mute()), "BindlibError, which does not say why"),
        (Wordless(), "Wordless, which does not say why"),
        (Panic(), "Panic, which does not say why"),
    ],
)
def test_what_any_error_says_is_one_line(error, said):
    assert reason(error) == said


def test_a_long_story_is_cut():
    assert len(reason(ValueError("x" * 10**6))) < 250
