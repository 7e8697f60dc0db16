"""The exceptions that users are meant to see, how a command is stopped, and text that is safe to show."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


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


@contextmanager
def interruptible(told: str) -> Iterator[None]:
    """Let every polite way of ending a command unwind it, so that it ends what it started and says ``told``."""

    def stop(signum, frame):
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(told) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def printable(text: str) -> str:
    """``text`` with what could steer a terminal or a page (control and bidirectional characters) spelled out."""
    return "".join(c if c.isprintable() or c in "\n\t\u00a0" else c.encode("unicode_escape").decode() for c in text)


# What stops a command, whatever is being tried; all else that a library or the user's code raises is its own fault.
STOPS = (KeyboardInterrupt, Interrupted)
MOST_CHARACTERS = 200


def reason(error: BaseException) -> str:
    """What an error says, in one line; never raises, whatever the error's own ``__str__`` does.

    One of ours and one of the system are told as they are; any other after its type, at most ``MOST_CHARACTERS``.
    """
    kind = type(error).__name__
    try:
        if isinstance(error, BindlibError):
            return " ".join(str(error).split()) or kind
        if isinstance(error, OSError):
            return " ".join(system_fault(error).split())
        return f"{kind}: {' '.join(str(error).split())[:MOST_CHARACTERS]}".removesuffix(": ")
    except STOPS:
        raise
    except BaseException:
        return f"{kind}, which does not say why"


def system_fault(error: OSError) -> str:
    """What the system said of a file, in one line that names it."""
    files = [str(file) for file in (error.filename, error.filename2) if file is not None]
    return ": ".join([" -> ".join(files), error.strerror or str(error)] if files else [error.strerror or str(error)])
