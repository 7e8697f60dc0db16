"""The axioms explorer: every combination of its boxes says what the solver says."""

from random import Random

import pytest
import vl_convert
from parity import agree, agree_everywhere

from bindlib.explorers import axioms as explorer
from bindlib.explorers import axioms_live
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


def test_the_page_says_what_the_bracket_says(figure, signals):
    agree_everywhere(signals, figure, 20)


@pytest.mark.parametrize("case", range(7, 384, 29))
def test_the_verdict_turns_where_the_bracket_ends(figure, rows, case, signals):
    asked, dim, supposed = list(explorer.combinations())[case]
    boxes = dict(zip(explorer.ASKED, asked, strict=True)) | dict(zip(explorer.SUPPOSED, supposed, strict=True))
    for end in {rows[case]["low"] or 0, rows[case]["high"]}:
        steps = {round(end * 100) / 100 + step for step in (-0.02, -0.01, 0, 0.01, 0.02)}
        for margin in (m for m in steps if 0 <= m <= 2):
            agree(signals, figure, boxes | {"dimension": explorer.DIMENSIONS.index(dim), "margin": margin})


def test_every_combination_is_there_once(rows):
    assert len(rows) == len({(r["axioms"], r["dim"], r["supposed"]) for r in rows}) == 16 * 3 * 8
    assert all(row["low"] is None or row["low"] <= row["high"] + 1e-9 for row in rows)


@pytest.mark.parametrize("case", range(0, 384, 29))
@pytest.mark.parametrize("margin", [0, 0.8])
def test_the_boxes_say_what_the_solver_says(figure, rows, case, margin, signals):
    asked, dim, supposed = list(explorer.combinations())[case]
    boxes = dict(zip(explorer.ASKED, asked, strict=True)) | dict(zip(explorer.SUPPOSED, supposed, strict=True))
    values = boxes | {"margin": margin, "dimension": explorer.DIMENSIONS.index(dim)}
    seen = signals(figure, ("verdict", "code"), **values)
    assert int(seen["code"]) == case
    assert seen["verdict"] == figure.computed(**values)["verdict"]
    names = (*explorer.chosen(explorer.ASKED, asked), "order")
    hypotheses = Hypotheses(margin, supposed[0], explorer.DELTA if supposed[1] else None, supposed[2])
    solved = satisfy(SMALL, names, dim, hypotheses)
    if UNKNOWN not in (solved.status, seen["verdict"]):
        assert seen["verdict"] == solved.status


def test_margins_of_a_row_are_those_of_an_encoder_that_has_its_worst_margin(rows):
    for row in rows:
        asked = {} if row["axioms"] == "none" else dict.fromkeys(row["axioms"].split())
        assert set(row["margins"]) == (set() if row["low"] is None else set(asked))
        if row["margins"]:
            assert min(row["margins"].values()) >= row["low"] - 1e-9


@pytest.mark.parametrize(
    ("low", "high", "margin", "status"),
    [
        (0.5, 1.0, 0.4, SAT),
        (0.5, 1.0, 0.7, UNKNOWN),
        (0.5, 1.0, 1.1, UNSAT),
        (None, 0, 0, UNSAT),
        (None, 1, 0, UNKNOWN),
    ],
)
def test_the_bracket_of_a_row(low, high, margin, status):
    assert explorer.bracket_of({"low": low, "high": high, "theorem": "t"}).status(margin) == status


def test_the_comparison_of_neighbours():
    same = {"dim": "3", "supposed": "nothing"}
    rows = [
        same | {"axioms": "none", "low": 2.0, "high": 2.0, "theorem": "a", "margins": {}},
        same | {"axioms": "content", "low": None, "high": 1.0, "theorem": "b", "margins": {}},
        same | {"axioms": "content binding", "low": 0.5, "high": 1.5, "theorem": "c",
                "margins": {"content": 0.5, "binding": 0.75}},
    ]  # fmt: skip
    assert explorer._compared(rows[1], rows) == rows[1] | {"low": 0.5, "margins": {"content": 0.5}}
    assert explorer._compared(rows[2], rows) == rows[2] | {"high": 1.0, "theorem": "b"}
    assert explorer._compared(rows[0], rows) == rows[0]


@pytest.fixture(scope="module")
def live():
    return explorer.widget()


def asked_directly(objects, attributes, size, dim, margin, delta, blind, smooth, pooled, **axioms):
    world = FiniteWorld.of(World(("a", "b", "c", "d", "e")[:objects], ("p", "q", "r")[:attributes]), range(1, size + 1))
    hypotheses = Hypotheses(margin, blind, delta if smooth else None, pooled)
    return satisfy(world, [name for name, asked in axioms.items() if asked], dim or None, hypotheses)


def test_the_live_solver_answers_for_any_world(live):
    random = Random(0)
    for _ in range(12):
        for name, control in live.inputs.items():
            values = [option[1] for option in control.options] if hasattr(control, "options") else [False, True]
            control.value = random.choice([v for v in values if name != "objects" or v < 5])
        assert live.settle()
        verdict = asked_directly(**live.values)
        assert (live.said["verdict"], live.said["high"]) == (verdict.status, verdict.bracket.high)
        if verdict.status == SAT:
            assert float(live.said["best"]) == pytest.approx(min(verdict.margin, 2))
        elif verdict.status == UNSAT:
            assert live.said["reason"] == f"forbidden by {axioms_live.THEOREMS[verdict.theorem]}"
        assert "svg" in live._picture.value and verdict.status in live._readouts.value and not live.busy.value


def test_overtaken_questions_are_dropped_and_the_last_one_is_answered(live):
    for step in range(20):
        live.inputs["margin"].value = step / 10
    assert live.settle()
    assert live.said == live.figure.computed(**live.values)


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
