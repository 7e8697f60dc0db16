from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.scenes import (
    ANCHOR_WORDINGS,
    RED_CAR_BLUE_DOG,
    WORLD,
    Atom,
    Quartet,
    Scene,
    World,
    caption,
    neutral_anchor,
    order_variants,
    swap,
)

SMALL = World(("car", "cup", "dog"), ("blue", "orange", "red"))


@st.composite
def scenes(draw, low=2, high=4):
    return WORLD.draw(draw(st.integers(low, high)), np.random.default_rng(draw(st.integers(0, 2**32))))


def test_running_example():
    assert caption(RED_CAR_BLUE_DOG) == "a red car and a blue dog"
    assert caption(swap(RED_CAR_BLUE_DOG)) == "a blue car and a red dog"


@given(scenes())
def test_swap_keeps_words_changes_meaning_and_undoes_itself(scene):
    swapped = swap(scene)
    assert Counter(caption(scene).split()) == Counter(caption(swapped).split())
    assert swapped != scene
    assert swap(swapped) == scene


@given(scenes())
def test_order_variants_are_the_same_words_in_all_orders_of_atoms(scene):
    variants = order_variants(scene)
    assert variants[0] == caption(scene)
    assert len(set(variants)) == len(variants) == np.prod(range(1, len(scene) + 1))
    assert {tuple(sorted(v.split())) for v in variants} == {tuple(sorted(caption(scene).split()))}
    assert caption(swap(scene)) not in variants


@given(scenes(high=2), st.integers(0, len(ANCHOR_WORDINGS) - 1))
def test_anchor_names_everything_and_is_the_same_for_the_swap_up_to_order(scene, wording):
    anchor, of_swap = neutral_anchor(scene, wording), neutral_anchor(swap(scene), wording)
    assert {*scene.objects, *scene.attributes} <= set(anchor.replace(",", "").replace(":", "").split())
    assert Counter(anchor.replace(",", "").split()) == Counter(of_swap.replace(",", "").split())


def test_quartet_has_the_form_of_the_independent_ones(independent_quartets):
    """Rebuild each of the 60 independent quartets from its own caption."""
    for quartet in independent_quartets["quartets"]:
        (_, a1, o1), (_, a2, o2) = (part.split() for part in quartet["caption"].split(" and "))
        first, second = Atom(o1, a1), Atom(o2, a2)
        ours = Quartet.of(Scene((first, second)))
        if ours.caption == quartet["caption"]:
            assert ours == Quartet(**quartet)
        else:  # the independent quartet lists its objects in the other order
            assert (ours.caption, ours.swap) == (quartet["caption_reordered"], quartet["swap_reordered"])


def test_world_counts_and_lists_every_scene_once():
    for k in (1, 2, 3):
        listed = list(SMALL.scenes(k))
        assert len(set(listed)) == len(listed) == SMALL.n_scenes(k)
    assert SMALL.n_scenes(2) == 3 * 3 * 2


def test_draws_are_uniform_over_scenes():
    rng = np.random.default_rng(0)
    counts = Counter(SMALL.draw(2, rng) for _ in range(9000))
    assert set(counts) == set(SMALL.scenes(2))
    assert max(abs(n - 500) for n in counts.values()) < 5 * np.sqrt(500)


def test_a_scene_is_a_set():
    assert Scene.of(dog="blue", car="red") == RED_CAR_BLUE_DOG
    assert hash(Scene.of(dog="blue", car="red")) == hash(RED_CAR_BLUE_DOG)


def test_article_follows_the_attribute():
    assert str(Atom("car", "orange")) == "an orange car"


def test_bad_words_and_orders():
    with pytest.raises(ValueError, match="needs an object"):
        Atom("car", " ")
    with pytest.raises(ValueError, match="distinct"):
        World(("car", "dog"), ("red", "red"))
    for order in ((0,), (0, 0), (), (0, 2)):
        with pytest.raises(ValueError, match="permutation"):
            caption(RED_CAR_BLUE_DOG, order)
    with pytest.raises(ValueError, match="two atoms"):
        neutral_anchor(Scene.of(car="red", dog="blue", cup="green"))


def test_articles_in_the_anchor_follow_the_objects():
    assert neutral_anchor(Scene.of(apple="red", dog="blue")).startswith("an apple and a dog")


def test_bad_scenes():
    with pytest.raises(ValueError, match="at least one"):
        Scene(())
    with pytest.raises(ValueError, match="each object once"):
        Scene((Atom("car", "red"), Atom("car", "blue")))
    with pytest.raises(ValueError, match="changes nothing"):
        swap(Scene.of(car="red", dog="red"))
    for k in (0, 4):
        with pytest.raises(ValueError, match=r"1\.\.3"):
            SMALL.draw(k, np.random.default_rng(0))
