import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from bindlib.scenes import RED_CAR_BLUE_DOG, caption, order_variants, swap
from bindlib.theory import bag_of_words as bow

SEEDS = st.integers(0, 2**31 - 1)
PAIR = caption(RED_CAR_BLUE_DOG), caption(swap(RED_CAR_BLUE_DOG))


@given(SEEDS, st.integers(2, 64))
def test_ceiling_is_the_maximum_over_unit_images(seed, dim):
    """Independent oracle: random search never beats the ceiling, and the gradient's direction attains it."""
    rng = np.random.default_rng(seed)
    t, t_swap = bow.unit(rng.standard_normal((2, dim)))
    images = bow.unit(rng.standard_normal((200, dim)))
    d = bow.ceiling(t, t_swap)
    assert np.all(np.abs(bow.margin(images, t, t_swap)) <= d + 1e-12)
    assert bow.margin(bow.best_image(t, t_swap), t, t_swap) == pytest.approx(d, abs=1e-12)


def test_ceiling_against_a_numerical_optimiser():
    t, t_swap = bow.unit(np.random.default_rng(3).standard_normal((2, 5)))
    found = minimize(lambda x: -bow.margin(bow.unit(x), t, t_swap), np.ones(5))
    assert -found.fun == pytest.approx(bow.ceiling(t, t_swap), abs=1e-6)


def test_no_best_image_for_equal_captions():
    t = np.array([1.0, 0.0])
    with pytest.raises(ValueError, match="margin 0"):
        bow.best_image(t, t)


@pytest.mark.parametrize("make", [bow.superposition, bow.multiset_hash])
@given(seed=SEEDS, dim=st.integers(2, 128))
def test_pairing_blind_maps_ignore_order_to_the_last_bit(make, seed, dim):
    encode = make(dim, seed)
    first, *others = [encode(c) for c in order_variants(RED_CAR_BLUE_DOG)] + [encode(PAIR[1])]
    assert all(np.array_equal(first, other) for other in others)
    assert np.linalg.norm(first) == pytest.approx(1)


@given(SEEDS, st.integers(1, 4))
def test_attention_leaks_order_through_positions_or_a_causal_mask_only(seed, layers):
    def d(**switches):
        return bow.ceiling(*(bow.attention_tower(c, 32, seed, layers=layers, **switches) for c in PAIR))

    assert d() < 1e-12
    assert d(causal=True) > 1e-3
    assert d(positions=True) > 1e-3


@given(SEEDS, st.integers(1, 4))
def test_a_causal_mask_hides_what_comes_later(seed, layers):
    def first_row(text, causal):
        return bow.attention_rows(text, 16, seed, layers=layers, causal=causal)[0]

    assert np.allclose(first_row("red car", True), first_row("red dog", True))
    assert not np.allclose(first_row("red car", False), first_row("red dog", False))


def test_unit_refuses_what_has_no_direction():
    for vector in (np.zeros(3), np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.full(2, 1e200)):
        with pytest.raises(ValueError, match="no direction"):
            bow.unit(vector)
