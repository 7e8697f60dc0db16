"""Two contestants in one run: median seconds, taking turns, and peak allocation."""

import tracemalloc
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter

Contestant = Callable[[], object]


def megabytes(contestant: Contestant) -> float:
    """Peak allocation while the contestant runs, as tracemalloc sees it."""
    tracemalloc.start()
    contestant()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def compare(benchmark: str, ours: Contestant, peer: Contestant, repeats: int, peer_share: int = 1) -> dict:
    """A row of the table; ``peer_share`` is how many times its part of the work the peer would have to do."""
    return compare_all({benchmark: ours}, peer, repeats, peer_share)[0]


def compare_all(ours: dict[str, Contestant], peer: Contestant, repeats: int, peer_share: int = 1) -> list[dict]:
    """A row for each of several contestants of ours, by the name of its benchmark, against one peer."""
    seconds: dict[Contestant, list[float]] = {contestant: [] for contestant in (*ours.values(), peer)}
    for _ in range(repeats):
        for contestant, times in seconds.items():
            start = perf_counter()
            contestant()
            times.append(perf_counter() - start)
    peer_s, peer_mb = peer_share * median(seconds[peer]), megabytes(peer)
    rows = []
    for benchmark, contestant in ours.items():
        ours_s = median(seconds[contestant])
        row = {
            "benchmark": benchmark,
            "ours_s": ours_s,
            "peer_s": peer_s,
            "ratio": peer_s / ours_s,
            "ours_MB": megabytes(contestant),
            "peer_MB": peer_mb,
            "repeats": repeats,
        }
        print("  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()))
        rows.append(row)
    return rows


def print_table(rows: Sequence[dict], columns: Sequence[str]) -> None:
    """The rows below their columns, numbers to three digits, nothing where there is none."""
    shown = [["" if row[c] is None else f"{row[c]:.3g}" if isinstance(row[c], float) else str(row[c]) for c in columns]
             for row in rows]  # fmt: skip
    widths = [max(map(len, cells)) for cells in zip(columns, *shown, strict=True)]
    for line in [columns, *shown]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
