"""The exceptions that users are meant to see."""


class BindlibError(Exception):
    """An expected failure: one line that says what is wrong and what to do about it.

    The command line prints the message alone and exits with ``exit_code``; anything else is a bug and
    keeps its traceback.
    """

    exit_code = 2


class CheckFailed(BindlibError):
    """What was asked for ran and did not pass: a cell failed, a page has warnings, a claim does not hold.

    The message is a report and may have several lines.
    """

    exit_code = 1


class Interrupted(BindlibError):
    """The user stopped the command."""

    exit_code = 130
