"""The trained throttle: how long two small towers need to bind, against the rate of swaps among their negatives.

Both towers are ``normalise(Σ_atoms A_o + B_a + μ sqrt(d) U_o ∘ V_a)``: a bag of words plus a weak product, so that
binding is possible and slow.  They learn by Adam on InfoNCE from images to captions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, Literal

import torch
from torch.nn.functional import cross_entropy, logsigmoid, normalize

from bindlib.decisions import SINGLE, decided
from bindlib.device import Device, resolve
from bindlib.theory.throttle import checked_rate

Negatives = Literal["all", "no swaps", "disjoint"]
BOUND_AT = 0.95
_OUT = -1e4  # the logit of what is no candidate


@dataclass(frozen=True)
class Setup:
    """World, towers and optimiser; the defaults are the experiment of the chapter."""

    n_objects: int = 20
    n_attributes: int = 20
    dim: int = 64
    batch_size: int = 256
    learning_rate: float = 3e-3
    image_noise: float = 0.2  # length of the noise beside the unit image vector
    product: float = 0.05  # μ
    scale: float = 10.0  # inverse temperature
    check_every: int = 50
    check_scenes: int = 2000


class Towers:
    """Image and text tower over scenes ``(n, 4)`` of ``o1, o2, a1, a2``; ``factors`` ``(2, 2 (M + K), dim)``."""

    def __init__(self, setup: Setup, generator: torch.Generator, device: str):
        self.setup = setup
        size = (2, 2 * (setup.n_objects + setup.n_attributes), setup.dim)
        self.factors = (torch.randn(size, generator=generator) / sqrt(setup.dim)).to(device).requires_grad_()

    def atoms(self) -> torch.Tensor:
        """Codes of all atoms, ``(2, M K, dim)``; atom ``(o, a)`` is row ``o K + a``."""
        m, k = self.setup.n_objects, self.setup.n_attributes
        a, b, u, v = self.factors.split([m, k, m, k], dim=1)
        product = self.setup.product * sqrt(self.setup.dim) * u[:, :, None] * v[:, None]
        return (a[:, :, None] + b[:, None] + product).flatten(1, 2)

    def encode(self, scenes: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Images (times the inverse temperature), captions and swapped captions, each ``(n, dim)``."""
        atoms, k = self.atoms(), self.setup.n_attributes
        o1, o2, a1, a2 = scenes.T
        true, swapped = torch.stack([o1 * k + a1, o2 * k + a2]), torch.stack([o1 * k + a2, o2 * k + a1])
        image = normalize(atoms[0, true].sum(0), dim=1) + self.setup.image_noise / sqrt(self.setup.dim) * noise
        text, swap = (normalize(atoms[1, rows].sum(0), dim=1) for rows in (true, swapped))
        return self.setup.scale * normalize(image, dim=1), text, swap

    @torch.no_grad()
    def swap_accuracy(self, scenes: torch.Tensor, noise: torch.Tensor) -> float:
        """Share of images that score their caption above its swap; a tie counts one half."""
        image, text, swap = self.encode(scenes, noise)
        margins = (image * (text - swap)).sum(1).cpu().numpy()
        return float(decided(margins, SINGLE * self.setup.scale).mean())


@dataclass(frozen=True)
class Run:
    """One training: ``steps`` until swap accuracy passed ``BOUND_AT``, or ``None`` when it never did."""

    swap_rate: float
    seed: int
    negatives: Negatives
    steps: int | None
    curve: tuple[tuple[int, float], ...]  # step and swap accuracy
    towers: Towers = field(repr=False, compare=False)

    @property
    def row(self) -> dict[str, Any]:
        """The run as plain values, with the accuracy at its last check."""
        row = {"swap_rate": self.swap_rate, "seed": self.seed, "negatives": self.negatives, "steps": self.steps}
        return row | {"last_step": self.curve[-1][0], "accuracy": self.curve[-1][1]}


def draw_scenes(n: int, setup: Setup, generator: torch.Generator) -> torch.Tensor:
    """``n`` uniform scenes ``(n, 4)`` of two different objects with two different attributes."""
    columns = []
    for size in (setup.n_objects, setup.n_attributes):
        first = torch.randint(size, (n,), generator=generator)
        columns += [first, (first + torch.randint(1, size, (n,), generator=generator)) % size]
    return torch.stack(columns, dim=1)


def shared_words(scenes: torch.Tensor, setup: Setup) -> torch.Tensor:
    """``(n, n)``: how many words two captions share; four only with itself, a copy or the swap."""
    words = torch.zeros(len(scenes), setup.n_objects + setup.n_attributes, device=scenes.device)
    words.scatter_(1, scenes + torch.tensor([0, 0, setup.n_objects, setup.n_objects], device=scenes.device), 1.0)
    return words @ words.T


def excluded(scenes: torch.Tensor, setup: Setup, negatives: Negatives) -> torch.Tensor:
    """``(n, n)``: which captions of the batch are no candidates for an image, never its own.

    ``"all"`` excludes none, ``"no swaps"`` the exact swaps, ``"disjoint"`` every caption that shares a word.
    """
    shared = shared_words(scenes, setup)
    if negatives == "all":
        return torch.zeros_like(shared, dtype=torch.bool)
    if negatives == "disjoint":
        return (shared > 0) & ~torch.eye(len(scenes), dtype=torch.bool, device=scenes.device)
    same_order = (scenes[:, None, 0] == scenes[:, 0]) == (scenes[:, None, 2] == scenes[:, 2])
    return (shared == 4) & ~same_order


@contextmanager
def one_thread() -> Iterator[None]:
    """The number of threads changes the rounding of sums, and these towers are too small to gain by more than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def learning(
    swap_rate: float,
    seed: int,
    negatives: Negatives = "all",
    max_steps: int = 4000,
    setup: Setup | None = None,
    device: Device = "cpu",
) -> Iterator[tuple[int, float, Towers]]:
    """Train until swap accuracy exceeds ``BOUND_AT`` or ``max_steps`` are done; deterministic on one machine.

    At every check: the step, the swap accuracy and the towers as they are.  Each caption is given its own swap as one
    more negative with probability ``swap_rate``.  Raises ``ValueError`` for a rate outside ``[0, 1]``, an unknown kind
    of negatives or less than one step.
    """
    rate, setup, where = float(checked_rate(swap_rate)), setup or Setup(), resolve(device)
    if negatives not in ("all", "no swaps", "disjoint"):
        raise ValueError(f"negatives are 'all', 'no swaps' or 'disjoint', got {negatives!r}")
    if max_steps < 1:
        raise ValueError(f"training needs at least one step, got {max_steps}")
    # Every draw is made on the CPU, so that all devices see the same scenes.
    generator, held_out = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed + 1_000_003)
    towers, n = Towers(setup, generator, where), setup.batch_size
    optimiser = torch.optim.Adam([towers.factors], lr=setup.learning_rate, fused=True)
    target = torch.arange(n, device=where)
    check = [draw_scenes(setup.check_scenes, setup, held_out).to(where)]
    check.append(torch.randn(setup.check_scenes, setup.dim, generator=held_out).to(where))
    with one_thread():
        for step in range(1, max_steps + 1):
            scenes = draw_scenes(n, setup, generator).to(where)
            noise = torch.randn(n, setup.dim, generator=generator).to(where)
            given = (torch.rand(n, generator=generator) < rate).to(where)
            image, text, swap = towers.encode(scenes, noise)
            logits = image @ text.T
            if negatives != "all":
                logits = logits.masked_fill(excluded(scenes, setup, negatives), _OUT)
            own = (image * swap).sum(1).masked_fill(~given, _OUT)
            optimiser.zero_grad()
            cross_entropy(torch.cat([logits, own[:, None]], dim=1), target).backward()
            optimiser.step()
            if step % setup.check_every == 0 or step == max_steps:
                accuracy = towers.swap_accuracy(*check)
                yield step, accuracy, towers
                if accuracy > BOUND_AT:
                    return


def time_to_bind(
    swap_rate: float,
    seed: int,
    negatives: Negatives = "all",
    max_steps: int = 4000,
    setup: Setup | None = None,
    device: Device = "cpu",
) -> Run:
    """The whole of one training by `learning`, with the same arguments and errors."""
    checks = list(learning(swap_rate, seed, negatives, max_steps, setup, device))
    step, accuracy, towers = checks[-1]
    curve = tuple((step, accuracy) for step, accuracy, _ in checks)
    return Run(float(swap_rate), seed, negatives, step if accuracy > BOUND_AT else None, curve, towers)


@dataclass(frozen=True)
class Trial:
    """One setting of the experiment, to be run with each of ``seeds`` seeds."""

    swap_rate: float
    negatives: Negatives
    max_steps: int
    seeds: int


PLANS: dict[str, tuple[Trial, ...]] = {
    "ci": (
        *(Trial(rate, "all", 4000, 2) for rate in (0.0, 0.1, 1.0)),
        Trial(0.0, "no swaps", 4000, 1),
        *(Trial(rate, "disjoint", 1200, 2) for rate in (0.0, 0.1)),
    ),
    "full": tuple(
        Trial(rate, negatives, 5000, 5)
        for negatives in ("all", "no swaps", "disjoint")
        for rate in (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    ),
}


def experiment(profile: str, seed: int, device: Device = "cpu") -> list[Run]:
    """Every training of a plan: ``"ci"`` in about 20 seconds on one core, ``"full"`` in about five minutes.

    Raises ``ValueError`` for an unknown profile.
    """
    if profile not in PLANS:
        raise ValueError(f"the profile is one of {', '.join(PLANS)}, got {profile!r}")
    return [
        time_to_bind(trial.swap_rate, seed + i, trial.negatives, trial.max_steps, device=device)
        for trial in PLANS[profile]
        for i in range(trial.seeds)
    ]


@torch.no_grad()
def incentive(towers: Towers, negatives: Negatives, seed: int, batches: int = 10) -> dict[str, float]:
    """What two pairing-blind rivals of the towers' scores lose on fresh batches: ``S̃``, and ``S^b`` beside it.

    ``free``: ``L(S̃) - L(S)`` on the candidate sets; ``held``: the same with the caption's swap as one more;
    ``matched``: ``E[log 2 - ℓ(M)]``; ``rho``: ``E[Z' / (a + b)]``; ``rival``: ``L(S^b) - L(S)`` on the candidate sets.
    ``thm-infonce-throttle`` bounds ``(1 - π) free + π held`` by ``π matched + 2 rho``, and ``prop-blind-rival`` says
    that ``rival`` is not positive where no candidate is the swap.
    """
    setup, generator = towers.setup, torch.Generator().manual_seed(seed)
    where, found = towers.factors.device, []
    for _ in range(batches):
        scenes = draw_scenes(setup.batch_size, setup, generator).to(where)
        noise = torch.randn(setup.batch_size, setup.dim, generator=generator).to(where)
        image, text, swap = (x.double() for x in towers.encode(scenes, noise))
        true, swapped = image @ text.T, image @ swap.T
        a, b = true.diagonal(), swapped.diagonal()
        out = excluded(scenes, setup, negatives).fill_diagonal_(True)
        pair, half = torch.logaddexp(a, b), torch.logaddexp(a, b) - log(2)
        own = torch.maximum(a, half)
        means = torch.where(shared_words(scenes, setup) == 4, own[:, None], (true + swapped) / 2)
        scores = (true, torch.logaddexp(true, swapped) - log(2), means)
        rest, soft_rest, mean_rest = (x.masked_fill(out, -torch.inf).logsumexp(1) for x in scores)
        base = torch.logaddexp(a, rest) - a
        free = (torch.logaddexp(half, soft_rest) - half) - base
        held = (torch.logaddexp(pair, soft_rest) - half) - (torch.logaddexp(pair, rest) - a)
        rival = (torch.logaddexp(own, mean_rest) - own) - base
        matched = log(2) + logsigmoid(a - b)
        found.append(torch.stack([x.mean() for x in (free, held, matched, (rest - pair).exp(), rival)]))
    return dict(zip(("free", "held", "matched", "rho", "rival"), torch.stack(found).mean(0).tolist(), strict=True))


def incentive_rows(towers: Towers, seed: int) -> list[dict[str, Any]]:
    """``incentive`` for each kind of negatives, as the chapter's table shows it."""
    rows = []
    for negatives in ("all", "no swaps", "disjoint"):
        found = incentive(towers, negatives, seed)
        row = {"negatives": negatives, "over S̃ at rate 0": found["free"], "its bound": 2 * found["rho"]}
        row |= {"over S̃ at rate 1": found["held"], "matched constant": found["matched"]}
        rows.append(row | {"over the rival at rate 0": found["rival"]})
    return rows
