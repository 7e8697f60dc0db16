from itertools import combinations

import numpy as np
import pytest
from PIL import Image, ImageColor

from bindlib.encoders import drawn
from bindlib.scenes import Atom, Scene, caption, swap


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def scene(row) -> Scene:
    left, right, hue, other = row
    return Scene((Atom(drawn.GLYPHS[left], drawn.HUES[hue]), Atom(drawn.GLYPHS[right], drawn.HUES[other])))


def test_no_two_glyphs_and_no_two_hues_look_alike():
    masks = drawn._masks()
    assert masks.shape == (33, 21, 21) and masks.sum(axis=(1, 2)).min() > 40
    for a, b in combinations(masks, 2):
        assert np.abs(a - b).sum() > 0.2 * min(a.sum(), b.sum())
    colours = [np.array(ImageColor.getrgb(hue)) for hue in drawn.HUES]
    grey = np.full(3, 128)
    assert min(np.linalg.norm(a - b) for a, b in combinations([*colours, grey], 2)) > 50


def test_the_picture_shows_each_glyph_in_its_hue_on_its_side_at_any_height(rng):
    scenes = drawn.draw_scenes(300, rng)
    tops = []
    for row, pixels in zip(scenes, drawn.render(scenes, rng), strict=True):
        for side, columns in enumerate((slice(1, 22), slice(26, 47))):
            mask = Image.fromarray((drawn._masks()[row[side]] * 255).astype(np.uint8))
            fits = []
            for top in range(28):
                expected = Image.new("RGB", (21, 48), (128, 128, 128))
                expected.paste(Image.new("RGB", (21, 21), drawn.HUES[row[2 + side]]), (0, top), mask)
                # Noise that would leave the range of a pixel is cut, so that its length is at most the nominal one.
                fits.append(np.std(pixels[:, columns].astype(float) - np.asarray(expected)) / 255)
            assert 0.035 < min(fits) < 0.055, scene(row)
            tops.append(int(np.argmin(fits)))
    assert set(tops) == set(range(28))


def test_pictures_are_the_rendered_pixels(rng):
    scenes = drawn.draw_scenes(3, rng)
    pictures = drawn.pictures(scenes, np.random.default_rng(1))
    pixels = drawn.render(scenes, np.random.default_rng(1))
    assert [p.size for p in pictures] == [(48, 48)] * 3
    np.testing.assert_array_equal(np.stack([np.asarray(p) for p in pictures]), pixels)


def test_captions_are_those_of_the_scene_and_a_swap_uses_the_same_words(rng):
    scenes = drawn.draw_scenes(200, rng)
    right_first = rng.random(200) < 0.5
    texts, swaps = (drawn.captions(s, right_first) for s in (scenes, drawn.swapped(scenes)))
    for row, later, text, swapped in zip(scenes, right_first, texts, swaps, strict=True):
        the = scene(row)
        order = tuple(the.objects.index(drawn.GLYPHS[i]) for i in row[:2])
        order = order[::-1] if later else order
        assert text == caption(the, order) and swapped == caption(swap(the), order)
        assert sorted(text.split()) == sorted(swapped.split()) and text != swapped
        quartet = drawn.quartet(row)
        assert {text, swapped} <= {quartet.caption, quartet.caption_reordered, quartet.swap, quartet.swap_reordered}
        assert caption(the) == quartet.caption
    np.testing.assert_array_equal(drawn.swapped(drawn.swapped(scenes)), scenes)


def held_out(row) -> list[bool]:
    left, right, hue, other = row
    return [bool(drawn.HELD_OUT[pair]) for pair in ((left, hue), (right, other), (left, other), (right, hue))]


def test_every_glyph_and_every_hue_is_seen_and_a_fixed_eighth_of_their_pairs_never_is(rng):
    assert drawn.HELD_OUT.mean() == 1 / 8
    assert set(drawn.HELD_OUT.sum(axis=1)) == {3} and set(drawn.HELD_OUT.sum(axis=0)) == {4, 5}
    scenes = drawn.draw_scenes(20_000, rng)
    assert not any(any(held_out(row)) for row in scenes[:2000])
    seen = np.zeros_like(drawn.HELD_OUT)
    seen[scenes[:, :2], scenes[:, 2:]] = True
    np.testing.assert_array_equal(seen, ~drawn.HELD_OUT)
    assert all(all(held_out(row)) for row in drawn.draw_scenes(300, rng, held_out=True))


@pytest.mark.parametrize("held", [False, True])
def test_scenes_are_uniform(rng, held):
    """Against every scene, listed: each kind of it is drawn as often as its share says."""
    grid = np.stack(np.meshgrid(*map(np.arange, (33, 33, 24, 24)), indexing="ij"), axis=-1).reshape(-1, 4)
    grid = grid[(grid[:, 0] != grid[:, 1]) & (grid[:, 2] != grid[:, 3])]
    grid = grid[drawn._held_out_pairs(grid) == (4 if held else 0)]
    n = 20_000
    scenes = drawn.draw_scenes(n, rng, held)
    for column, size in enumerate((33, 33, 24, 24)):
        expected = np.bincount(grid[:, column], minlength=size) * n / len(grid)
        found = np.bincount(scenes[:, column], minlength=size)
        assert ((found - expected) ** 2 / expected).sum() < 2.2 * size  # chi-square, its mean is size - 1
    assert len(np.unique(drawn.draw_scenes(n, rng, True), axis=0)) == 624


def test_a_group_repeats_no_word_and_learns_nothing_held_out(rng):
    # About one draw in a thousand allows no matching and is repeated: so many that some of them are met.
    groups = drawn.disjoint_groups(8000, rng)
    assert groups.shape == (8000, 12, 4)
    assert not drawn._held_out_pairs(groups.reshape(-1, 4)).any()
    groups = groups[:60]
    for group in groups:
        assert len(set(group[:, :2].flat)) == 24 and len(set(group[:, 2:].flat)) == 24
        assert not any(any(held_out(row)) for row in group)
    rows = groups.reshape(-1, 4)
    assert abs((rows[:, 0] < rows[:, 1]).mean() - 0.5) < 0.1 and abs((rows[:, 2] < rows[:, 3]).mean() - 0.5) < 0.1
    assert len(np.unique(rows, axis=0)) > 700


@pytest.mark.parametrize("draw", [lambda rng: drawn.draw_scenes(9, rng), lambda rng: drawn.disjoint_groups(2, rng)])
def test_draws_depend_on_the_generator_alone(draw):
    first, again, other = (draw(np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
