"""The one exception that users are meant to see."""


class BindlibError(Exception):
    """An expected failure: one line that says what is wrong and what to do about it.

    The command line prints the message alone and exits with code 2; anything else is a bug and
    keeps its traceback.
    """
