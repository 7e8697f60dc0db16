"""Each explorer draws, and what it draws is what the theory computes; a browser test drags a slider."""

import numpy as np
import pytest
import vl_convert

from bindlib.explorers import bag_of_words, frontier, measurements
from bindlib.scenes import RED_CAR_BLUE_DOG
from bindlib.theory.bag_of_words import best_image, ceiling, margin, unit

ENCODERS = (("minilm", 0.1, 0.05, 0.8), ("glove", 0.0, 0.02, None), ("random-clip:0", 0.3, 0.2, 1))
ROWS = [
    {
        "encoder": name, "n": 20, "ceiling": d, "delta": delta, "cap": (8 * delta) ** 0.5,
        "usage": d / (8 * delta) ** 0.5, "sharp_usage": d / (8 * delta) ** 0.5, "order_distance": 0.2,
        "binding_to_order": ratio, "order_closer": 0.5,
        "intervals": {"usage": [0.1, 0.3], "binding_to_order": None if ratio is None else [0.5, 1.5]},
    }
    for name, d, delta, ratio in ENCODERS
]  # fmt: skip
ORDERS = [{"encoder": "<b>", "order_distance": 0.2, "swap_distance": 0.1}]
FIGURES = {
    "frontier": lambda: frontier.chart(ROWS),
    "frontier without encoders": frontier.chart,
    "geometry": frontier.geometry,
    "bag of words": bag_of_words.chart,
    "word orders": lambda: bag_of_words.word_orders(ORDERS),
    "zoo": lambda: measurements.chart(ROWS),
    "usage": lambda: measurements.metric(ROWS, "usage"),
    "ratio": lambda: measurements.metric(ROWS, "binding_to_order"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = FIGURES[name]()
    assert len(figure.alt) > 60
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


def evaluate(expression: str, **signals: float) -> float:
    """A Vega expression of ours, as Python; the functions that they use have the same names in both."""
    return eval(expression, {"sqrt": np.sqrt, "sin": np.sin, "pow": pow, "PI": np.pi}, signals)


def test_bag_of_words_draws_what_vectors_do():
    """The drawn expressions, against vectors in an orthonormal basis."""
    bag, code, swapped = np.eye(5)[:3]
    for w in np.linspace(0.05, 1, 20):
        t, t_swap = unit((1 - w) * bag + w * code), unit((1 - w) * bag + w * swapped)
        d = evaluate(bag_of_words.CEILING, weight=w)
        assert d == pytest.approx(ceiling(t, t_swap))
        # The picture's axes: the common direction and the direction of the best image.
        common, apart = unit(t + t_swap), best_image(t, t_swap)
        for degrees in (-150, -30, 0, 45, 90):
            image = np.cos(np.radians(degrees)) * common + np.sin(np.radians(degrees)) * apart
            drawn = evaluate(bag_of_words.MARGIN, ceiling=d, image=degrees)
            assert margin(image, t, t_swap) == pytest.approx(drawn)


def test_kinds():
    assert [measurements.kind(row) for row in ROWS] == ["trained", "bag of words", "null: random weights"]


def test_word_order_rows():
    class Toy:
        name = "toy"

        def encode_text(self, captions):
            return np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)

    (row,) = bag_of_words.word_order_rows([Toy()], RED_CAR_BLUE_DOG)
    assert row == {"encoder": "toy", "order_distance": pytest.approx(2**0.5), "swap_distance": 2}
