"""All benchmarks in one run, as one table: ours and the peer's median seconds and peak memory.

Run: ``make bench``.  Nothing here is a test: speed is shown, not asserted.
"""

import os
import platform
from contextlib import redirect_stdout
from importlib import import_module

BENCHMARKS = ("depth_law", "radon", "throttle", "encoders")
COLUMNS = ("benchmark", "ours_s", "peer_s", "ratio", "ours_MB", "peer_MB", "repeats")


def main() -> None:
    """Run each benchmark and print the table of all their rows."""
    rows = []
    for name in BENCHMARKS:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            rows += import_module(name).main()
    cells = [[f"{row[c]:.3g}" if isinstance(row[c], float) else str(row[c]) for c in COLUMNS] for row in rows]
    widths = [max(len(line[i]) for line in [list(COLUMNS), *cells]) for i in range(len(COLUMNS))]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for line in [list(COLUMNS), *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
