"""What breaks the swap margin of pooled codes: atoms that lean on each other, an image of its own."""

import numpy as np

from bindlib.certificates import Ablation, Outcome, smallest
from bindlib.theory.bag_of_words import RUNNING_PAIR, margin, unit
from bindlib.theory.factored_codes import orthonormal, predicted_margins
from bindlib.theory.factored_codes_claims import ORTHONORMAL, POOLED, TIED


def swap_margin(atoms: np.ndarray, image: np.ndarray | None = None) -> Outcome:
    """The margin of the two-atom scene for atom codes ``(4, dim)`` of red car, blue dog, blue car, red dog.

    The image is the caption's code unless it is given.
    """
    text, swapped = unit(atoms[:2].sum(axis=0)), unit(atoms[2:].sum(axis=0))
    cosines = np.abs(np.triu(atoms @ atoms.T, 1)).max()
    return Outcome(
        (("red car", "blue dog"),),
        RUNNING_PAIR,
        f"2 atoms, dimension {atoms.shape[1]}",
        "swap margin",
        "=",
        predicted_margins(2)["swap"],
        float(margin(text if image is None else image, text, swapped)),
        {"atoms": atoms, "image": image},
        f"largest cosine of two atoms {cosines:.2f}" if image is None else "the image is another unit vector",
    )


def _leaning(dim: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Unit atoms in any directions, drawn until neither sum is 0."""
    while True:
        atoms = unit(rng.standard_normal((4, dim)))
        if min(np.linalg.norm(pair.sum(axis=0)) for pair in (atoms[:2], atoms[2:])) > 1e-6:
            return {"atoms": atoms}


def leaning_atoms(rng: np.random.Generator) -> Outcome:
    """The lowest dimension in which unit atoms miss the margin."""
    return smallest(range(1, 5), _leaning, swap_margin, rng)


def another_image(rng: np.random.Generator) -> Outcome:
    """Orthonormal atoms, in the lowest dimension that has room for four, and a unit image of no caption."""

    def draw(dim, rng):
        return {"atoms": orthonormal(4, dim, rng), "image": unit(rng.standard_normal(dim))}

    return smallest(range(4, 6), draw, swap_margin, rng)


def pooled(rng: np.random.Generator) -> Outcome:
    """Random orthonormal atoms in four dimensions."""
    return swap_margin(orthonormal(4, 4, rng))


ABLATIONS = (Ablation(POOLED, pooled, {ORTHONORMAL: leaning_atoms, TIED: another_image}),)
