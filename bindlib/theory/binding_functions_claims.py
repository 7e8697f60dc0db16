"""Claims of the chapter on binding functions: codes that are products, the cost of blindness, what is determined."""

from itertools import product

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory.binding_functions import (
    CANDIDATES,
    all_scenes,
    blind_r_squared,
    exposure_graph,
    judge,
    path_product,
    reachable,
)
from bindlib.theory.factored_codes import draw_code, orthonormal

OWN = "the coordinates are those of the binding"
BLIND = "a scene and its swap get the same prediction"
CLOSED = "every scene is judged together with its swap"
PRODUCT, NONZERO = "every object's code is u_a ∘ v_b", "no coordinate of a factor is 0"
JOINED = "a path of seen objects joins the two concepts"
HASHED = "an object's code is independent of the codes of all others"
SYMMETRIC = "a code and its negative are equally likely"
UNSEEN = "no object of the scene or of its swap was seen"
ONE_LAW = "the objects of the scene and of its swap have codes of one law"

REPRESENTS = Theorem(
    "thm-product-represents",
    "A per-object product represents Hadamard and tensor codes exactly, FHRR codes in complex coordinates, and HRR "
    "codes after a Fourier transform: in each coordinate the table of objects has rank one.",
    (OWN,),
    tolerance=1e-12,
)
BLIND_FIT = Theorem(
    "prop-blind-fit",
    "Swap accuracy is 1/2, R² of the swap differences 0, and R² at most 1 - Σ|f(s) - f(σs)|²/2 / Σ|f(s) - mean|², one "
    "term a pair above and a scene below; the mean of each pair attains it.",
    (BLIND, CLOSED),
    tolerance=1e-9,
)
PATH = Theorem(
    "thm-path-identifies",
    "The codes of the seen objects determine the unseen one: along the path they are multiplied and divided in turn. "
    "Where no path joins its concepts, every code without zeros agrees with all that was seen.",
    (PRODUCT, NONZERO, JOINED),
    tolerance=1e-9,
)
UNSEEN_HASH = Theorem(
    "prop-hashed-unseen",
    "Whatever is predicted from the seen codes has expected inner product 0 with an unseen one, and every rule is "
    "right about a scene and its swap, equally likely to be shown, with probability 1/2.",
    (HASHED, SYMMETRIC, UNSEEN, ONE_LAW),
    tolerance=1e-12,
)
FAMILIES = {
    "hadamard": lambda codes: codes,
    "tensor": lambda codes: codes,
    "fhrr": lambda codes: np.ascontiguousarray(codes).view(complex),
    "hrr": lambda codes: np.fft.rfft(codes),
}


def beyond_rank_one(table: np.ndarray) -> float:
    """The largest second singular value of a coordinate's table, over its first; ``table`` is ``(A, B, dim)``."""
    sizes = np.linalg.svd(np.moveaxis(table, 2, 0), compute_uv=False)
    return float(np.max(sizes[:, 1] / np.where(sizes[:, 0] == 0, 1, sizes[:, 0])))


def certify_represents(seed: int = 0, instances: int = 400) -> Certificate:
    """All four bindings, 2 to 6 concepts of each kind, 4 to 64 dimensions."""

    def case(rng):
        family = str(rng.choice(list(FAMILIES)))
        m, k, dim = int(rng.integers(2, 7)), int(rng.integers(2, 7)), int(rng.choice([4, 16, 36, 64]))
        codes = draw_code(family, m, k, dim, rng).atoms(*np.indices((m, k)))
        return beyond_rank_one(FAMILIES[family](codes)), {"family": family, "grid": [m, k], "dim": dim}

    return REPRESENTS.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_represents(seed: int = 0) -> Certificate:
    """The same Hadamard code, turned by a random rotation: its coordinates are products no more."""
    rng = np.random.default_rng(seed)
    codes = draw_code("hadamard", 4, 4, 16, rng).atoms(*np.indices((4, 4))) @ orthonormal(16, 16, rng)
    found = beyond_rank_one(codes)
    return REPRESENTS.certificate(seed, 1, found, {"dim": 16, "second_over_first": found}, dropped=OWN)


def _some_scenes(rng: np.random.Generator, side: int = 5) -> np.ndarray:
    """Ten scenes of a ``side × side`` grid and their ten swaps."""
    scenes = all_scenes(side, side)
    half = len(scenes) // 2
    chosen = rng.permutation(half)[: CANDIDATES // 2]
    return np.concatenate([scenes[chosen], scenes[chosen + half]])


def _blind_guess(scenes: np.ndarray, dim: int, rng: np.random.Generator) -> np.ndarray:
    """A bag of random concept vectors, or their global product."""
    u, v = rng.standard_normal((2, 5, dim))
    parts = np.stack([u[scenes[..., 0]], v[scenes[..., 1]]])
    return parts.sum(axis=(0, 2)) if rng.integers(2) else parts.prod(axis=(0, 2))


def _excess(y: np.ndarray, guess: np.ndarray, mean: np.ndarray) -> float:
    found = judge(y, guess, mean)
    off = abs(found["swap"] - 0.5), abs(found["swap_r2"]), found["recognition"] - 0.5
    return float(np.max([found["r2"] - blind_r_squared(y, mean), *off]))


def certify_blind(seed: int = 0, instances: int = 400) -> Certificate:
    """Random embeddings, from blind to unrelated, and random bags and global products; then the mean of each pair."""

    def case(rng):
        dim, scenes = int(rng.integers(1, 9)), _some_scenes(rng)
        guess = _blind_guess(scenes, dim, rng)
        y = guess + 10 ** rng.uniform(-3, 1) * rng.standard_normal(guess.shape)
        best = np.tile(y.reshape(2, -1, dim).mean(axis=0), (2, 1))
        attained = abs(judge(y, best, y.mean(axis=0))["r2"] - blind_r_squared(y, y.mean(axis=0)))
        return np.max([_excess(y, guess, y.mean(axis=0)), attained]), {"dim": dim}

    return BLIND_FIT.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_blind(seed: int = 0) -> Certificate:
    """A per-object product on the embeddings that it made itself: R² 1 and every swap right."""
    rng = np.random.default_rng(seed)
    scenes, (u, v) = _some_scenes(rng), rng.standard_normal((2, 5, 8))
    y = (u[scenes[..., 0]] * v[scenes[..., 1]]).sum(axis=1)
    witness = judge(y, y, y.mean(axis=0)) | {"best_blind_r2": blind_r_squared(y, y.mean(axis=0))}
    return BLIND_FIT.certificate(seed, 1, _excess(y, y, y.mean(axis=0)), witness, dropped=BLIND)


def _draw_seen(rng: np.random.Generator) -> np.ndarray:
    sides = rng.integers(2, 7, size=2)
    return rng.random(sides) < rng.choice([0.15, 0.3, 0.6])


def _factors(seen: np.ndarray, dim: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.uniform(0.5, 2, (n, dim)) * rng.choice([-1, 1], (n, dim)) for n in seen.shape]


def _regauged(seen: np.ndarray, factors: list[np.ndarray], pair: tuple[int, int], code: np.ndarray) -> np.ndarray:
    """A table with the same seen codes in which the object ``pair``, across two components, has this code."""
    (u, v), (first, second) = factors, exposure_graph(seen).components
    scale = code / (u[pair[0]] * v[pair[1]])
    here = first[pair[0]]
    u = np.where((first == here)[:, None], u * scale, u)
    v = np.where((second == here)[:, None], v / scale, v)
    return u[:, None] * v


def certify_path(seed: int = 0, instances: int = 400) -> Certificate:
    """Random sets of seen objects on grids up to 6 × 6: paths where there are any, other codes where there are none."""

    def case(rng):
        seen, dim = _draw_seen(rng), int(rng.integers(1, 6))
        factors = _factors(seen, dim, rng)
        table = factors[0][:, None] * factors[1]
        shown, slack = np.where(seen[..., None], table, np.nan), 0.0
        joined = reachable(seen)
        for pair in map(tuple, np.argwhere(joined & ~seen)):
            slack = max(slack, np.max(np.abs(path_product(seen, shown, pair) / table[pair] - 1)))
        for pair in map(tuple, np.argwhere(~joined)[:3]):
            code = rng.uniform(0.5, 2, dim)
            other = _regauged(seen, factors, pair, code)
            off = np.abs(other[seen] / table[seen] - 1).max(initial=0)
            slack = max(slack, off, np.max(np.abs(other[pair] / code - 1)))
        return slack, {"grid": list(map(int, seen.shape)), "seen": int(seen.sum()), "dim": dim}

    return PATH.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_path(seed: int = 0) -> Certificate:
    """With a factor of 0 on the path: the codes of (0, 0), (1, 0) and (1, 1) are 0·1, and (0, 1) is anything."""
    seen = np.array([[True, False], [True, True]])
    u, found = np.array([1.0, 0.0]), []
    for free in (1.0, 3.0):
        found.append(u[:, None] * np.array([1.0, free]))
    # Two solutions that differed on what was seen would be no witness: a slack of NaN does not count as a failure.
    same = np.array_equal(found[0][seen], found[1][seen])
    slack = abs(found[0][0, 1] - found[1][0, 1]) if same else np.nan
    witness = {"seen": found[0][seen].tolist(), "unseen": [float(table[0, 1]) for table in found]}
    return PATH.certificate(seed, 1, slack, witness, dropped=NONZERO)


def _unseen_slack(codes: np.ndarray, rng: np.random.Generator) -> float:
    """For all equally likely ``codes`` ``(n, 4, dim)``, a random fixed prediction and a random rule on images.

    The four objects are (1, 1), (2, 2) and, of the swap, (1, 2), (2, 1).
    """
    prediction = rng.standard_normal(codes.shape[2])
    inner = abs(float(np.mean(codes[:, 0] @ prediction)))
    right = 0.0
    answers: dict[bytes, int] = {}
    for scene, image in product((0, 1), range(len(codes))):
        shown = codes[image, 2 * scene : 2 * scene + 2].sum(axis=0)
        right += answers.setdefault(shown.tobytes(), int(rng.integers(2))) == scene
    return float(np.max([inner, abs(right / (2 * len(codes)) - 0.5)]))


def certify_unseen(seed: int = 0, instances: int = 100) -> Certificate:
    """Every sign code of four unseen objects in 1 or 2 dimensions, against random predictions and rules; exact."""

    def case(rng):
        dim = int(rng.integers(1, 3))
        codes = np.array(list(product((-1.0, 1.0), repeat=4 * dim))).reshape(-1, 4, dim)
        return _unseen_slack(codes, rng), {"dim": dim, "codes": len(codes)}

    return UNSEEN_HASH.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_unseen(seed: int = 0) -> Certificate:
    """A product of signs instead: three seen objects of a 2 × 2 grid give the fourth, with inner product N."""
    rng = np.random.default_rng(seed)
    (u, v), seen = rng.choice([-1.0, 1.0], (2, 2, 8)), np.array([[True, True], [True, False]])
    table = u[:, None] * v
    inner = float(path_product(seen, table, (1, 1)) @ table[1, 1])
    return UNSEEN_HASH.certificate(seed, 1, inner, {"dim": 8, "inner_product": inner}, dropped=HASHED)


CLAIMS = (
    Claim(REPRESENTS, certify_represents, mutate_represents),
    Claim(BLIND_FIT, certify_blind, mutate_blind),
    Claim(PATH, certify_path, mutate_path),
    Claim(UNSEEN_HASH, certify_unseen, mutate_unseen),
)
