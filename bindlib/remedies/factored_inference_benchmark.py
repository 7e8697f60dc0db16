"""A benchmark of operators, equivalences and compounds on drawn scenes, in the manner of FACTOR-Bench.

The design is ours.  An item is a query, an image that satisfies it and one that does not; it is right if the former
scores higher, and half right in a tie.  Wherever the operators allow it, both images show equally many of the concepts
of the query, so that a bag of concepts cannot tell them apart.

The shipped encoders have no words for operators, so what they read is that bag: the concepts, joined by "and".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bindlib.encoders import drawn
from bindlib.encoders.base import DualEncoder
from bindlib.remedies.factored_inference import concept_vectors
from bindlib.remedies.queries import Query, and_, concept, concepts, not_, or_
from bindlib.scenes import article

KINDS = ("hue", "glyph", "atom")
TEMPLATES = ("{}", "{a} {}")
_NAMES = {"glyph": (True, False), "hue": (False, True), "atom": (True, True)}  # the glyph, the hue
_ROOM = 8  # words that the shipped towers read
Vectors = dict[str, np.ndarray]
a, b, c = map(concept, "abc")


@dataclass(frozen=True)
class Form:
    """A query in the concepts a, b, c, the pairs of what a satisfying and a violating image show, an equivalent."""

    name: str
    family: str
    query: Query
    pairs: tuple[tuple[str, str], ...]
    same: Query | None = None


FORMS = (
    Form("not", "operator", not_(a), (("", "a"),)),
    Form("and", "operator", and_(a, b), (("ab", "a"), ("ab", "b"))),
    Form("or", "operator", or_(a, b), (("a", ""), ("b", ""))),
    Form("but not", "operator", and_(a, not_(b)), (("a", "b"), ("a", "ab"))),
    Form("neither", "operator", and_(not_(a), not_(b)), (("", "a"), ("", "b"))),
    Form("not (a and b)", "equivalence", not_(and_(a, b)), (("a", "ab"), ("b", "ab")), or_(not_(a), not_(b))),
    Form("not (a or b)", "equivalence", not_(or_(a, b)), (("", "a"), ("", "b")), and_(not_(a), not_(b))),
    Form("not not a", "equivalence", not_(not_(a)), (("a", ""),), a),
    Form("b and a", "equivalence", and_(a, b), (("ab", "a"), ("ab", "b")), and_(b, a)),
    Form("a and (b or c), distributed", "equivalence", and_(a, or_(b, c)), (("ab", "bc"), ("ac", "bc")),
         or_(and_(a, b), and_(a, c))),
    Form("a or (a and b), absorbed", "equivalence", or_(a, and_(a, b)), (("a", "b"),), a),
    Form("a and (b or c)", "compound", and_(a, or_(b, c)), (("ab", "bc"), ("ac", "bc"))),
    Form("a or (b and c)", "compound", or_(a, and_(b, c)), (("a", "b"), ("a", "c"))),
    Form("(a or b) but not c", "compound", and_(or_(a, b), not_(c)),
         (("a", "c"), ("b", "c"), ("ab", "ac"), ("ab", "bc"))),
    Form("a but not (b and c)", "compound", and_(a, not_(and_(b, c))),
         (("a", "b"), ("a", "c"), ("ab", "bc"), ("ac", "bc"))),
    Form("neither a nor (b and c)", "compound", and_(not_(a), not_(and_(b, c))), (("b", "a"), ("c", "a"))),
)  # fmt: skip
SIZES = {"operator": 50, "equivalence": 20, "compound": 30}  # items of a form and a kind of concept


@dataclass(frozen=True)
class Group:
    """Items of one form and kind: the ``words`` of a, b, c in each, and ``scenes`` ``(n, 2, 4)``, satisfying first."""

    form: Form
    kind: str
    words: tuple[tuple[str, ...], ...]
    scenes: np.ndarray


@dataclass(frozen=True)
class Benchmark:
    """Groups of items, and the pictures of all their scenes in their order."""

    groups: tuple[Group, ...]
    pictures: list


@dataclass(frozen=True)
class Scored:
    """What an encoder says of a group: the plain score and the scores of a, b, c, ``(n, 2)`` each.

    ``same`` is the plain score of the equivalent form, and ``null`` the scores of the concepts in the images of another
    item.
    """

    group: Group
    plain: np.ndarray
    same: np.ndarray
    scores: dict[str, np.ndarray]
    null: dict[str, np.ndarray]


def benchmark(rng: np.random.Generator, sizes: dict[str, int] = SIZES) -> Benchmark:
    """All forms with all kinds of concepts, ``sizes[family]`` items each; ``rng`` draws items, heights and noise."""
    groups = tuple(_group(form, kind, sizes[form.family], rng) for form in FORMS for kind in KINDS)
    return Benchmark(groups, drawn.pictures(np.concatenate([group.scenes.reshape(-1, 4) for group in groups]), rng))


def _group(form: Form, kind: str, n: int, rng: np.random.Generator) -> Group:
    words, scenes = zip(*(_item(form, kind, i, rng) for i in range(n)), strict=True)
    return Group(form, kind, words, np.array(scenes))


def _item(form: Form, kind: str, i: int, rng: np.random.Generator) -> tuple[tuple[str, ...], list[list[int]]]:
    """Distinct words for the concepts, and the two scenes, drawn until no pair in them is held out."""
    letters, shown = concepts(form.query), form.pairs[i % len(form.pairs)]
    while True:
        named = dict(zip(letters, zip(*_two_rows(len(letters), rng), strict=True), strict=True))
        scenes = [_scene([named[x] for x in letters if x in show], named.values(), kind, rng) for show in shown]
        if kind == "atom" and any(drawn.HELD_OUT[pair] for pair in named.values()):
            continue
        if not any(_uses_held_out(scene) for scene in scenes):
            return tuple(_words(kind, *named[x]) for x in letters), scenes


def _two_rows(n: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """``n`` distinct glyphs and ``n`` distinct hues."""
    return tuple(rng.permutation(len(of))[:n].tolist() for of in (drawn.GLYPHS, drawn.HUES))


def _scene(present: list, named, kind: str, rng: np.random.Generator) -> list[int]:
    """A scene with the ``present`` concepts and none of the other ``named`` ones, all pairs of a glyph and a hue."""
    sides = []
    for i, of in enumerate((drawn.GLYPHS, drawn.HUES)):
        there = [pair[i] for pair in present] if _NAMES[kind][i] else []
        avoided = {pair[i] for pair in named} if _NAMES[kind][i] else set()
        sides.append((there + [x for x in rng.permutation(len(of)).tolist() if x not in avoided])[:2])
    i, j = rng.permutation(2)  # which is on the left
    return [sides[0][i], sides[0][j], sides[1][i], sides[1][j]]


def _uses_held_out(scene: Sequence[int]) -> bool:
    left, right, hue, other = scene
    return any(drawn.HELD_OUT[pair] for pair in ((left, hue), (right, other), (left, other), (right, hue)))


def _words(kind: str, glyph: int, hue: int) -> str:
    return {
        "glyph": drawn.GLYPHS[glyph],
        "hue": drawn.HUES[hue],
        "atom": f"{drawn.HUES[hue]} {drawn.GLYPHS[glyph]}",
    }[kind]


def shows(scene: Sequence[int], words: str) -> bool:
    """Whether a scene ``(4,)`` shows a glyph, a hue or an atom by these words."""
    left, right, hue, other = scene
    atoms = (drawn.HUES[hue], drawn.GLYPHS[left]), (drawn.HUES[other], drawn.GLYPHS[right])
    return words in (*(f"{h} {g}" for h, g in atoms), *(word for atom in atoms for word in atom))


def scenes_of(things: Sequence[tuple[str, str]]) -> np.ndarray:
    """Scenes ``(n, 4)`` of two atoms each, such as ``("red A", "blue K")``, the first on the left."""
    parts = [[atom.split() for atom in pair] for pair in things]
    return np.array(
        [[*(drawn.GLYPHS.index(g) for _, g in pair), *(drawn.HUES.index(h) for h, _ in pair)] for pair in parts]
    )


def bag(words: Sequence[str]) -> str:
    """The concepts joined by "and", with their articles if the shipped towers have room for them."""
    with_articles = " and ".join(f"{article(word)} {word}" for word in words)
    return with_articles if len(with_articles.split()) <= _ROOM else " and ".join(words)


def vocabulary(encoder: DualEncoder) -> Vectors:
    """The vector of every hue, glyph and atom, ``(dim,)`` each, by its words."""
    words = list(dict.fromkeys(_words(kind, g, h) for kind in KINDS for g, h in np.ndindex(drawn.HELD_OUT.shape)))
    return dict(zip(words, concept_vectors(encoder, words, TEMPLATES), strict=True))


def scored(encoder: DualEncoder, vectors: Vectors, items: Benchmark) -> Iterator[Scored]:
    """What ``encoder``, with the ``vectors`` of its `vocabulary`, says of every group."""
    image = encoder.encode_image(items.pictures).astype(np.float64)
    ends = np.cumsum([2 * len(group.words) for group in items.groups])
    for group, part in zip(items.groups, np.split(image, ends[:-1]), strict=True):
        yield _scored(encoder, group, part.reshape(len(group.words), 2, -1), vectors)


def _scored(encoder: DualEncoder, group: Group, image: np.ndarray, vectors: Vectors) -> Scored:
    letters = concepts(group.form.query)
    of = {x: np.stack([vectors[row[i]] for row in group.words]) for i, x in enumerate(letters)}
    plain = _plain(encoder, group, image, letters)
    same = plain if group.form.same is None else _plain(encoder, group, image, concepts(group.form.same))
    other = np.roll(image, 1, axis=0)
    scores, null = ({x: _cosines(images, v) for x, v in of.items()} for images in (image, other))
    return Scored(group, plain, same, scores, null)


def _plain(encoder: DualEncoder, group: Group, image: np.ndarray, mentioned: Sequence[str]) -> np.ndarray:
    """The plain score of the bag of the concepts mentioned, ``(n, 2)``."""
    places = ["abc".index(x) for x in mentioned]
    return _cosines(image, encoder.encode_text([bag([row[i] for i in places]) for row in group.words]))


def _cosines(images: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """``(n, 2)``: both images of an item ``(n, 2, dim)`` with its text ``(n, dim)``."""
    return np.einsum("nid,nd->ni", images, texts.astype(np.float64))


def evidence_pairs(
    encoder: DualEncoder, vectors: Vectors, n: int, rng: np.random.Generator
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each kind of concept, scores ``(4n,)`` and presence ``(4n,)`` in ``n`` scenes to calibrate with.

    Each scene is asked for the two concepts of the kind that it shows and for two that it does not.
    """
    scenes = drawn.draw_scenes(n, rng)
    image = encoder.encode_image(drawn.pictures(scenes, rng)).astype(np.float64)
    found = {}
    for kind in KINDS:
        asked = np.stack([[vectors[word] for word in _asked(scene, kind, rng)] for scene in scenes])
        scores = np.einsum("nd,nkd->nk", image, asked)
        found[kind] = scores.ravel(), np.tile([True, True, False, False], n)
    return found


def _asked(scene: np.ndarray, kind: str, rng: np.random.Generator) -> list[str]:
    """Two concepts that the scene shows, and two random ones that it does not."""
    left, right, hue, other = scene.tolist()
    asked = [_words(kind, left, hue), _words(kind, right, other)]
    while len(asked) < 4:
        word = _words(kind, int(rng.integers(len(drawn.GLYPHS))), int(rng.integers(len(drawn.HUES))))
        if word not in asked:
            asked.append(word)
    return asked
