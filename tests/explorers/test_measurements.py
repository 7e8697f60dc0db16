"""The explorers of the measurements: the zoo, and one encoder scene by scene, with deciles and a brush."""

from types import SimpleNamespace

import numpy as np
import pytest
import vl_convert
from parity import agree, agree_everywhere

from bindlib.book.render import script_json
from bindlib.explorers import measurements as zoo
from bindlib.explorers import measurements_scenes as explorer
from bindlib.explorers.live import Live
from bindlib.measurements.datasets import built_in_quartets
from bindlib.measurements.diagnostic import per_quartet
from bindlib.scenes import Quartet

ROWS = [
    {"encoder": name, "n": 20, "ceiling": d, "delta": 0.1, "cap": 0.9, "usage": d / 0.9, "sharp_usage": d / 0.87,
     "order_distance": 0.2, "binding_to_order": ratio, "order_closer": 0.5,
     "intervals": {"usage": [0.1, 0.3], "binding_to_order": None if ratio is None else [0.5, 1.5]}}
    for name, d, ratio in (("minilm", 0.1, 0.8), ("glove", 0.0, None), ("random-clip:0", 0.3, 1.0))
]  # fmt: skip
N = 24
QUARTETS = built_in_quartets(n=N)


def vectors(seed, blind=False):
    rng = np.random.default_rng(seed)
    found = np.ones((N, 5, 6)) + 0.3 * rng.standard_normal((N, 5, 6))
    found = np.repeat(found[:, :1], 5, axis=1) if blind else found
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


FOUND = {"one": per_quartet(vectors(0)), "two": per_quartet(vectors(1)), "blind": per_quartet(vectors(2, blind=True))}


@pytest.fixture(scope="module")
def figure():
    return explorer.chart(FOUND, QUARTETS)


def brushed(figure, brush=None):
    """The figure with a box as if it had been drawn: a pair for ``x`` and one for ``d``."""
    params = [{"name": "brush", "value": brush or {}} if p["name"] == "brush" else p for p in figure.spec()["params"]]
    parts = {name: getattr(figure, name) for name in ("grid", "controls", "computed", "readouts")}
    return SimpleNamespace(spec=lambda: {"$schema": figure.spec()["$schema"], "params": params}, **parts)


def test_figures_compile_draw_and_say_what_they_show(figure):
    for each in (figure, zoo.chart(ROWS)):
        assert len(each.alt) > 60 and each.table and each.prompt and each.answer
        assert "<path" in vl_convert.vegalite_to_svg(each.spec())


def test_the_page_says_what_was_measured(figure, signals):
    agree_everywhere(signals, brushed(figure), draws=30)
    agree_everywhere(signals, zoo.chart(ROWS))


@pytest.mark.parametrize("across", explorer.ACROSS.values())
def test_a_box_selects_the_scenes_inside(across, figure, signals):
    arrays = {name: np.round(values, 6) for name, values in FOUND["two"].items()}
    x, d = arrays[across], arrays["ceiling"]
    box = {"x": [float(np.quantile(x, 0.2)), float(np.quantile(x, 0.9))], "d": [float(np.quantile(d, 0.8)), 0.0]}
    inside = (x >= box["x"][0]) & (x <= box["x"][1]) & (d <= box["d"][0])
    names = [readout.signal for readout in figure.readouts]
    seen = signals(brushed(figure, box), names, encoder="two", across=across)
    assert 1 < int(seen["count"]) == inside.sum() < N
    assert float(seen["mean_d"]) == pytest.approx(d[inside].mean())
    assert float(seen["ratio"]) == pytest.approx(d[inside].mean() / arrays["order_distance"][inside].mean())
    assert seen["farthest"] == QUARTETS[np.flatnonzero(inside)[d[inside].argmax()]].caption
    both = inside & (explorer.decile_of(d) == 3)
    seen = signals(brushed(figure, box), names, encoder="two", across=across, decile=3)
    assert int(seen["count"]) == both.sum()


def test_an_empty_box_selects_nothing(figure, signals):
    seen = signals(brushed(figure, {"x": [5, 6], "d": [5, 6]}), [readout.signal for readout in figure.readouts])
    assert seen == {"count": "0"} | dict.fromkeys(("mean_d", "mean_order", "ratio", "farthest"), "none")


def test_deciles_are_tenths_of_the_scenes():
    values = np.random.default_rng(0).permutation(120) / 120
    deciles = explorer.decile_of(values)
    assert np.array_equal(np.bincount(deciles)[1:], [12] * 10)
    assert np.array_equal(deciles, np.ceil(10 * (values * 120 + 1) / 120))
    edges = explorer.tenths(values)
    assert all(np.all(values[deciles == k] <= edges[k]) for k in range(1, 11))
    assert sorted(explorer.decile_of(np.zeros(3))) == [1, 2, 3]


def test_few_scenes_leave_deciles_empty(signals):
    few = explorer.chart({"one": {name: values[:3] for name, values in FOUND["one"].items()}}, QUARTETS[:3])
    for decile in (0, 1, 9):
        agree(signals, brushed(few), {"encoder": "one", "across": "delta", "decile": decile})
    assert few.computed("one", "delta", 9) == {"count": 0} | dict.fromkeys(
        ("mean_d", "mean_order", "ratio", "farthest"), "none"
    )


def test_a_bag_of_words_has_no_ratio_and_no_correlation(figure):
    assert figure.computed("blind", "delta", 0)["ratio"] == "not defined: both are 0"
    assert "one" in figure.answer and "blind" not in figure.answer


def test_captions_are_data_and_never_markup():
    hostile = [Quartet("<b>a</b>", "</script>'b\"", "c", "d", "e")] * 3
    figure = explorer.chart({"one": {name: values[:3] for name, values in FOUND["one"].items()}}, hostile)
    assert "<" not in script_json(figure.spec())
    shown = Live(figure)
    assert shown.settle()
    assert "&lt;b&gt;a&lt;/b&gt;" in shown._readouts.value and "<b>a" not in shown._readouts.value


def test_the_widgets_say_what_was_measured():
    widget = explorer.widget(FOUND, QUARTETS)
    widget.inputs["encoder"].value, widget.inputs["decile"].value = "two", 10
    assert widget.settle()
    d = np.sort(FOUND["two"]["ceiling"])
    assert widget.said["count"] == 2 and widget.said["mean_d"] == pytest.approx(d[-2:].mean(), abs=1e-6)
    ray = zoo.widget(ROWS)
    ray.inputs["ray"].value = 0.12
    assert ray.settle() and ray.said == {"ray": 0.12, "below": 2}
