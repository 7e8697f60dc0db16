"""Tokens and patches of an open_clip dual encoder in its joint space: what a coupling is made of.

A token is what the text tower holds at the place of a word after its last block, a patch what the image tower holds at
the place of a patch after some block.  Both go through the norm and the projection that the pooled vector goes through.
The towers were trained to be read at one place only, so nothing promises that these vectors lie near each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from bindlib.encoders import drawn, shipped
from bindlib.encoders.base import BATCH
from bindlib.errors import BindlibError

RIDGE = 1e-3  # of the alignment, in units of the mean variance of a coordinate
PLANTED_DIM = len(drawn.GLYPHS) + len(drawn.HUES) + 2  # of the positive control: a coordinate a word


def _no_gradients(method: Callable) -> Callable:
    @wraps(method)
    def quietly(*args, **kwargs):
        import torch

        with torch.inference_mode():
            return method(*args, **kwargs)

    return quietly


@dataclass(frozen=True)
class Towers:
    """An open_clip model of a vision transformer and a causal text transformer, with its tokenizer and transform.

    Any such model, on the CPU and in evaluation mode, as ``open_clip.create_model_and_transforms`` gives it with the
    transform that does not augment.  A caption longer than the context is cut.  Raises ``BindlibError`` for an image
    tower without patches, and for a text tower that is not read at its end token.
    """

    name: str
    model: Any
    tokenizer: Any
    transform: Any

    def __post_init__(self):
        from open_clip.transformer import VisionTransformer

        visual, text = self.model.visual, self._text
        if not isinstance(visual, VisionTransformer) or getattr(visual, "attn_pool", None) is not None:
            raise BindlibError(
                f"{self.name} has no patches in the joint space ({type(visual).__name__}): use a ViT without an "
                "attentional pool, such as ViT-B-32"
            )
        pool = getattr(text, "pool_type", None) or getattr(text, "text_pool_type", None)
        if pool != "argmax" or getattr(text, "cls_emb", None) is not None:
            raise BindlibError(f"{self.name} is not read at its end token (it pools {pool!r}): use a tower like CLIP's")

    @property
    def _text(self) -> Any:
        return getattr(self.model, "text", self.model)

    @property
    def depths(self) -> int:
        """How many blocks the image tower has."""
        return len(self.model.visual.transformer.resblocks)

    @_no_gradients
    def tokens(self, captions: list[str]) -> list[np.ndarray]:
        """The tokens ``(n, dim)`` of each caption, float64, a row a word piece.

        The start token is left out because it is the same in every caption (the tower looks back only), the end token
        because it is the pooled vector, which would put the global score inside the coupling.  Raises ``BindlibError``
        for a caption without words.
        """
        ids, kept = self._ids(captions)
        found = []
        for batch in ids.split(BATCH):
            told = self.model.forward_intermediates(
                text=batch, text_indices=1, normalize_intermediates=True, intermediates_only=True
            )
            found.append(_projected(told["text_intermediates"][-1], self._text.text_projection))
        return [rows[its] for rows, its in zip(np.concatenate(found), kept, strict=True)]

    def words(self, captions: list[str]) -> list[np.ndarray]:
        """The tokens ``(n, width)`` of each caption before the first block: rows of the embedding table, no context."""
        ids, kept = self._ids(captions)
        table = _plain(self._text.token_embedding.weight)
        return [table[row[its]] for row, its in zip(ids.numpy(), kept, strict=True)]

    def _ids(self, captions: list[str]) -> tuple[Any, np.ndarray]:
        """Token numbers ``(n, context)``, and which of them are words."""
        import torch

        ids = self.tokenizer(captions)
        special = torch.tensor(sorted(self._special()), dtype=ids.dtype)
        words = (torch.arange(ids.shape[1]) < ids.argmax(dim=-1)[:, None]) & ~torch.isin(ids, special)
        for caption, row in zip(captions, words, strict=True):
            if not row.any():
                raise BindlibError(f"{caption[:80]!r} has no words: give a caption with at least one")
        return ids, words.numpy()

    def _special(self) -> set[int]:
        inner = getattr(self.tokenizer, "tokenizer", self.tokenizer)
        return set(getattr(inner, "all_special_ids", ()))

    @_no_gradients
    def patches(self, images: list, depths: Sequence[int] | None = None) -> np.ndarray:
        """The patches of each PIL image after each block of ``depths`` (all), ``(n, depths, patches, dim)`` float64.

        Raises ``BindlibError`` for a depth that the tower does not have.
        """
        depths = range(self.depths) if depths is None else depths
        if not set(depths) <= set(range(self.depths)) or not len(depths):
            raise BindlibError(f"{self.name} has the depths 0 to {self.depths - 1}, not {list(depths)}")
        found = []
        for pixels in self._batches(images):
            told = self.model.visual.forward_intermediates(
                pixels, sorted(depths), normalize_intermediates=True, intermediates_only=True, output_fmt="NLC"
            )
            levels = dict(zip(sorted(depths), told["image_intermediates"], strict=True))
            found.append(np.stack([_projected(levels[d], self.model.visual.proj) for d in depths], axis=1))
        return np.concatenate(found)

    @_no_gradients
    def pooled_texts(self, captions: list[str]) -> np.ndarray:
        """The global vectors of captions, unit ``(n, dim)`` float64."""
        ids = self.tokenizer(captions)
        return np.concatenate([_plain(self.model.encode_text(batch, normalize=True)) for batch in ids.split(BATCH)])

    @_no_gradients
    def pooled_images(self, images: list) -> np.ndarray:
        """The global vectors of PIL images, unit ``(n, dim)`` float64."""
        return np.concatenate([_plain(self.model.encode_image(b, normalize=True)) for b in self._batches(images)])

    def _batches(self, images: list):
        import torch

        for start in range(0, len(images), BATCH):
            yield torch.stack([self.transform(image) for image in images[start : start + BATCH]])


def _plain(tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


def _projected(tensor, projection) -> np.ndarray:
    """``tensor`` ``(..., width)`` in the joint space."""
    if projection is None:
        return _plain(tensor)
    return _plain(projection(tensor) if callable(projection) else tensor @ projection)


def shipped_towers(which: str) -> Towers:
    """The towers of a shipped checkpoint, such as "0.3"; ``"untrained:SEED"`` is the null, with random weights.

    Raises ``BindlibError`` as ``bindlib.encoders.shipped.weights`` does, and for a seed that is no whole number.
    """
    import open_clip
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from safetensors.torch import load_file

    family, _, seed = which.partition(":")
    if family == "untrained" and not (seed.isascii() and seed.isdigit()):
        raise BindlibError(f"{which!r} has no seed: write untrained:0")
    model = shipped.new_model(int(seed) if family == "untrained" else 0)
    if family != "untrained":
        model.load_state_dict(load_file(shipped.weights(f"shipped:{which}", which)), strict=True)
    model.eval().requires_grad_(False)
    told = open_clip.get_model_preprocess_cfg(model) | {"mean": (shipped.MEAN,) * 3, "std": (shipped.STD,) * 3}
    transform = image_transform_v2(PreprocessCfg(**told), is_train=False)
    return Towers(which, model, shipped.tokenizer(), transform)


@dataclass(frozen=True)
class Alignment:
    """Linear maps under which the tokens of a caption lie near the patches that show them.

    ``words`` is the mean ``(d,)`` and the map ``(d, k)`` of tokens, ``depths`` the same for the patches of each depth.
    """

    words: tuple[np.ndarray, np.ndarray]
    depths: tuple[tuple[np.ndarray, np.ndarray], ...]

    def tokens(self, tokens: np.ndarray) -> np.ndarray:
        """Tokens ``(..., d)`` as ``(..., k)``."""
        return _mapped(tokens, self.words)

    def patches(self, patches: np.ndarray) -> np.ndarray:
        """Patches ``(n, depths, p, dim)`` as ``(n, depths, p, k)``."""
        return np.stack([_mapped(patches[:, i], of) for i, of in enumerate(self.depths)], axis=1)


def _mapped(features: np.ndarray, by: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    mean, matrix = by
    return (features - mean) @ matrix


def align(tokens: np.ndarray, patches: np.ndarray, told: np.ndarray | None = None, ridge: float = RIDGE) -> Alignment:
    """Alignment by ridge regression from matched captions ``(n, t, d)`` and images ``(n, depths, p, dim)``, no more.

    Tokens are whitened; then every patch of an image is asked for the mean token of its caption.  Nothing says which
    patch shows which word, and no caption is wrong, so none is a swap.  The mean of tokens without context is blind to
    pairings, and so is then all that the maps are fitted to.  ``told`` ``(n, p, t)``, the share of each word in what a
    patch shows, says more, and makes a bound of it.  ``ridge`` is in units of the mean variance.
    """
    mean = tokens.mean(axis=(0, 1))
    variances, axes = np.linalg.eigh(np.cov((tokens - mean).reshape(-1, tokens.shape[-1]).T))
    kept = variances > ridge * variances.max()
    words = mean, axes[:, kept] / np.sqrt(variances[kept])
    told = np.full((len(tokens), patches.shape[2], tokens.shape[1]), 1 / tokens.shape[1]) if told is None else told
    asked = told @ _mapped(tokens, words)
    asked -= asked.mean(axis=(0, 1))
    return Alignment(words, tuple(_regression(patches[:, i], asked, ridge) for i in range(patches.shape[1])))


def _regression(patches: np.ndarray, asked: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean ``(dim,)`` and matrix ``(dim, k)`` of the ridge regression of ``asked`` ``(n, p, k)`` on ``(n, p, dim)``."""
    mean = patches.mean(axis=(0, 1))
    x, y = ((rows - rows.mean(axis=(0, 1))).reshape(-1, rows.shape[-1]) for rows in (patches, asked))
    variance = x.T @ x / len(x)
    return mean, np.linalg.solve(
        variance + ridge * np.trace(variance) / len(mean) * np.eye(len(mean)), x.T @ y / len(x)
    )


def planted(n: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Tokens ``(2, n, 7, k)`` of captions and swaps, and patches ``(n, 1, 36, k)``, as a coupling would like them.

    The positive control, on random drawn scenes.  Tokens are basis vectors, one a word; ``k`` is ``PLANTED_DIM``.  A
    patch that a glyph touches is the sum of the glyph and its hue, in the three columns of its side; any other is zero.
    Noise of this length, in the mean square, is added to all: ``noise / √k`` in each coordinate.
    """
    scenes, right_first = drawn.draw_scenes(n, rng), rng.random(n) < 0.5
    n_glyphs, side, cell = len(drawn.GLYPHS), 6, drawn.IMAGE // 6
    basis = np.eye(PLANTED_DIM)
    patches = noise * rng.standard_normal((n, 1, side, side, len(basis))) / np.sqrt(len(basis))
    tops = rng.integers(drawn.IMAGE - drawn.GLYPH + 1, size=(n, 2))[..., None]
    rows = np.arange(side)
    touched = (rows >= tops // cell) & (rows <= (tops + drawn.GLYPH - 1) // cell)  # (n, 2, 6)
    for right in (0, 1):
        shown = basis[scenes[:, right]] + basis[n_glyphs + scenes[:, 2 + right]]
        patches[:, 0, :, 3 * right : 3 * right + 3] += touched[:, right, :, None, None] * shown[:, None, None]
    a, and_ = len(basis) - 2, len(basis) - 1
    texts = []
    for named in (scenes, drawn.swapped(scenes)):
        left, right = ([n_glyphs + named[:, 2 + i], named[:, i]] for i in (0, 1))
        first, second = (np.where(right_first, *pair) for pair in ((right, left), (left, right)))
        filler = [np.full(n, word) for word in (a, and_)]
        texts.append(basis[np.stack([filler[0], *first, filler[1], filler[0], *second], axis=1)])
    return np.stack(texts), patches.reshape(n, 1, side**2, -1)
