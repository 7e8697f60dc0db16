"""The command ``bindlib``, and ``python -m bindlib``: until a command runs, Ctrl-C ends the program at once.

An import that is interrupted leaves a traceback, or half a library, behind. Nothing is lost by leaving it: a command
that has something to lose takes the signal over (``interruptible``). So this imports nothing that takes time.
"""

import os
import signal


def main() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and not ignored, as in the background
        signal.signal(signal.SIGINT, _stop)
    from bindlib import cli

    cli.main()


def _stop(signum, frame) -> None:
    os.write(2, b"bindlib: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
