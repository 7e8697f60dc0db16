"""All benchmarks in one run: ours and the peer's median seconds and peak memory, and what a page costs its reader.

Run: ``make bench``.  Nothing here is a test: speed is shown, not asserted.
"""

import os
import platform
from contextlib import redirect_stdout
from importlib import import_module

import pages
from timing import print_table

BENCHMARKS = ("depth_law", "radon", "throttle", "encoders")
COLUMNS = ("benchmark", "ours_s", "peer_s", "ratio", "ours_MB", "peer_MB", "repeats")


def main() -> None:
    """Run each benchmark and print the tables."""
    rows = []
    for name in BENCHMARKS:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            rows += import_module(name).main()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print_table(rows, COLUMNS)
    print()
    print_table(pages.main(), pages.COLUMNS)


if __name__ == "__main__":
    main()
