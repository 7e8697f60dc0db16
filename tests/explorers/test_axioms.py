"""The axioms explorer: every combination of its boxes says what the solver says."""

import pytest
import vl_convert

from bindlib.explorers import axioms as explorer
from bindlib.scenes import World
from bindlib.theory.axioms import FiniteWorld
from bindlib.theory.frontier import sharp_cap
from bindlib.theory.hypotheses import Hypotheses
from bindlib.theory.satisfy import SAT, UNKNOWN, UNSAT, satisfy

SMALL = FiniteWorld.of(World(("car", "cup", "dog"), ("blue", "red")), (2,))


@pytest.fixture(scope="module")
def rows():
    return explorer.bracket_rows(SMALL)


@pytest.fixture(scope="module")
def figure(rows):
    return explorer.chart(rows)


def test_figure_compiles_draws_and_says_what_it_shows(figure):
    assert len(figure.alt) > 60
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


def test_every_combination_is_there_once(rows):
    assert len(rows) == len({(r["axioms"], r["dim"], r["supposed"]) for r in rows}) == 16 * 3 * 8
    assert all(row["low"] is None or row["low"] <= row["high"] + 1e-9 for row in rows)


@pytest.mark.parametrize("case", range(0, 384, 29))
@pytest.mark.parametrize("margin", [0, 0.8])
def test_the_boxes_say_what_the_solver_says(figure, rows, case, margin, signals):
    asked, dim, supposed = list(explorer.combinations())[case]
    boxes = dict(zip(explorer.ASKED, asked, strict=True)) | dict(zip(explorer.SUPPOSED, supposed, strict=True))
    seen = signals(figure, ("verdict", "reason", "code", "high"), **boxes, margin=margin,
                   dimension=explorer.DIMENSIONS.index(dim))  # fmt: skip
    assert int(seen["code"]) == case
    assert seen["verdict"] == explorer.verdict_of(rows[case]["low"], rows[case]["high"], margin)
    assert float(seen["high"]) == rows[case]["high"]
    names = (*explorer.chosen(explorer.ASKED, asked), "order")
    hypotheses = Hypotheses(margin, supposed[0], explorer.DELTA if supposed[1] else None, supposed[2])
    solved = satisfy(SMALL, names, dim, hypotheses)
    if UNKNOWN not in (solved.status, seen["verdict"]):
        assert seen["verdict"] == solved.status
    if seen["verdict"] == UNSAT:
        assert seen["reason"] == rows[case]["theorem"]


def test_verdict_of():
    assert explorer.verdict_of(0.5, 1.0, 0.4) == SAT
    assert explorer.verdict_of(0.5, 1.0, 0.7) == UNKNOWN
    assert explorer.verdict_of(0.5, 1.0, 1.1) == UNSAT
    assert explorer.verdict_of(None, 0.0, 0.0) == UNSAT
    assert explorer.verdict_of(None, 1.0, 0.0) == UNKNOWN


def test_the_comparison_of_neighbours():
    rows = [
        {"axioms": "none", "dim": "3", "supposed": "nothing", "low": 2.0, "high": 2.0, "theorem": "a"},
        {"axioms": "content", "dim": "3", "supposed": "nothing", "low": None, "high": 1.0, "theorem": "b"},
        {"axioms": "content binding", "dim": "3", "supposed": "nothing", "low": 0.5, "high": 1.5, "theorem": "c"},
    ]
    assert explorer._compared(rows[1], rows) == rows[1] | {"low": 0.5}
    assert explorer._compared(rows[2], rows) == rows[2] | {"high": 1.0, "theorem": "b"}
    assert explorer._compared(rows[0], rows) == rows[0]


def test_the_spine_is_computed():
    rows = explorer.spine_rows()
    assert len(rows) == 7
    solved = [row for row in rows if row["without it"]]
    assert [(row["without it"], row["with it"]) for row in solved] == [(SAT, UNSAT)] * 4
    assert {row["by"] for row in solved} == {"thm-radon", "thm-bag-of-words-collapse", "thm-pooled-margins",
                                            "thm-sharp-frontier"}  # fmt: skip
    assert "CLAIM FAILS" not in {row["with it"] for row in rows}


def test_the_smoothness_of_the_boxes():
    assert explorer.DELTA == 1 / 8
    assert sharp_cap(explorer.DELTA) == pytest.approx(0.9682, abs=1e-4)
