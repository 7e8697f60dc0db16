"""A full depth-law margin, streamed, against encoding all leaves at once with NumPy and with torchhd.

Every contestant computes the margin of the same swap in the same tree, and all must agree to rounding.  The peers get
their leaves and roles ready-made and untimed; ours draws the tree inside its time.  Each runs in processes of its own,
in turns, so that none disturbs another and a busy machine is busy for all.  Seconds are medians over all turns.
Megabytes are the growth of a process's peak resident memory from just after its imports, over the first margin, with
the leaves that a peer needs.

Run: ``python benchmarks/depth_law.py``.  torchhd is in ``requirements-bench.txt``; without it its row is left out.
"""

import importlib.util
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from bindlib.theory import depth_law

BRANCHING, DEPTH, DIM, SEED = 2, 10, 65_536, 0
TURNS, REPEATS = 3, 3
AGREE = 1e-6  # the margin is near 2e-3; torchhd subtracts a single-precision cosine from 1


def streamed() -> Callable[[], float]:
    return lambda: depth_law.swap_margin(BRANCHING, DEPTH, DIM, np.random.default_rng(SEED))


def numpy_encoding() -> Callable[[], float]:
    """The straightforward way: one array of leaves, a matrix operation for every level, both trees encoded."""
    leaves, roles = depth_law.full_tree(BRANCHING, DEPTH, DIM, np.random.default_rng(SEED))

    def encode(codes: np.ndarray) -> np.ndarray:
        for level in roles:
            codes = (level * codes.reshape(-1, BRANCHING, DIM)).sum(axis=1)
            codes /= np.linalg.norm(codes, axis=1, keepdims=True)
        return codes[0]

    def margin() -> float:
        edited = leaves.copy()
        edited[[0, 1]] = leaves[[1, 0]]
        return 1 - float(encode(leaves) @ encode(edited))

    return margin


def torchhd_encoding() -> Callable[[], float]:
    """The same with torchhd's MAP hypervectors: bind to the roles, bundle, and divide by the length, level by level."""
    import torch
    import torchhd

    tree = depth_law.full_tree(BRANCHING, DEPTH, DIM, np.random.default_rng(SEED), dtype=np.float32)
    leaves, roles = (torch.from_numpy(x).as_subclass(torchhd.MAPTensor) for x in tree)

    def encode(codes: torchhd.MAPTensor) -> torchhd.MAPTensor:
        for level in roles:
            codes = torchhd.multiset(torchhd.bind(codes.view(-1, BRANCHING, DIM), level))
            codes = codes / codes.norm(dim=-1, keepdim=True)
        return codes[0]

    def margin() -> float:
        edited = leaves.clone()
        edited[[0, 1]] = leaves[[1, 0]]
        return 1 - float(torchhd.cosine_similarity(encode(leaves), encode(edited)))

    return margin


CONTESTANTS = {"ours": streamed, "numpy": numpy_encoding, "torchhd": torchhd_encoding}


def peak_bytes() -> int:
    """Peak resident memory of this process.

    Linux keeps a figure for the program that runs; ``getrusage`` may report that of the parent before it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def contest(name: str) -> dict:
    """One turn of a contestant, in this process, which should have done nothing else: margin, megabytes, seconds."""
    if name == "torchhd":
        import torchhd  # noqa: F401
    baseline = peak_bytes()
    margin = CONTESTANTS[name]()
    value, megabytes, times = margin(), (peak_bytes() - baseline) / 1e6, []
    for _ in range(REPEATS):
        start = perf_counter()
        margin()
        times.append(perf_counter() - start)
    return {"margin": value, "megabytes": megabytes, "seconds": times}


def turn(name: str) -> dict:
    """The same, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--turn", name], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> list[dict]:
    """One row for each peer: ``benchmark, ours_s, peer_s, ratio, ours_MB, peer_MB, repeats``, printed and returned."""
    names = [name for name in CONTESTANTS if name != "torchhd" or importlib.util.find_spec("torchhd")]
    if "torchhd" not in names:
        print("torchhd is not installed: pip install -r requirements-bench.txt", file=sys.stderr)
    turns = [{name: turn(name) for name in names} for _ in range(TURNS)]
    margins = {name: result["margin"] for name, result in turns[0].items()}
    if max(margins.values()) - min(margins.values()) > AGREE:
        raise AssertionError(f"the contestants must compute the same margin, got {margins}")
    seconds = {name: median(t for results in turns for t in results[name]["seconds"]) for name in names}
    megabytes = {name: median(results[name]["megabytes"] for results in turns) for name in names}
    rows = [
        {
            "benchmark": f"depth-law margin, b={BRANCHING} D={DEPTH} N={DIM}, against {peer}",
            "ours_s": seconds["ours"],
            "peer_s": seconds[peer],
            "ratio": seconds[peer] / seconds["ours"],
            "ours_MB": megabytes["ours"],
            "peer_MB": megabytes[peer],
            "repeats": TURNS * REPEATS,
        }
        for peer in names[1:]
    ]
    for row in rows:
        print("  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()))
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--turn"]:
        print(json.dumps(contest(sys.argv[2])))
    else:
        main()
