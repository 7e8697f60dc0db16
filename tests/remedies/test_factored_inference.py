"""Factored inference on encoders: against a toy that sees everything, and on a shipped one."""

from math import sqrt

import numpy as np
import pytest

from bindlib.encoders import drawn
from bindlib.encoders.base import unit_rows
from bindlib.encoders.zoo import load_encoder
from bindlib.errors import BindlibError
from bindlib.measurements.estimates import share
from bindlib.remedies import factored_inference as fi
from bindlib.remedies import factored_inference_benchmark as bench
from bindlib.remedies import factored_inference_runs as runs
from bindlib.remedies.factored_inference import Setting, and_, concept, not_, or_
from bindlib.remedies.queries import concepts, holds, normal

a, b, c = map(concept, "abc")
SURE = Setting(beta=60, mu=0.2)  # for the toy
ATOMS = [f"{hue} {glyph}" for glyph in drawn.GLYPHS for hue in drawn.HUES]
PLACE = {word: i for i, word in enumerate([*drawn.GLYPHS, *drawn.HUES, *ATOMS])}
SMALL = {"operator": 6, "equivalence": 4, "compound": 8}


class Toy:
    """An image is a scene: its four words and its two atoms, of length 1.  A text is the phrases that "and" joins."""

    name, revision, context_length = "toy", "none", None

    def __init__(self, noise=0.0):
        self.noise, self.rng = noise, np.random.default_rng(0)

    def encode_text(self, captions):
        rows = np.zeros((len(captions), len(PLACE)))
        for row, caption in zip(rows, captions, strict=True):
            for phrase in caption.split(" and "):
                row[PLACE[" ".join(word for word in phrase.split() if word not in ("a", "an"))]] += 1
        return unit_rows(rows, self.name, captions)

    def encode_image(self, images):
        rows = np.zeros((len(images), len(PLACE)))
        for row, (left, right, hue, other) in zip(rows, images, strict=True):
            for glyph, colour in ((left, hue), (right, other)):
                words = drawn.GLYPHS[glyph], drawn.HUES[colour], f"{drawn.HUES[colour]} {drawn.GLYPHS[glyph]}"
                row[[PLACE[word] for word in words]] = 1
        rows += self.noise * self.rng.standard_normal(rows.shape)
        return unit_rows(rows, self.name, [str(image) for image in images])

    def count_truncated(self, captions):
        return 0


VECTORS = bench.vocabulary(Toy())


@pytest.fixture
def seeing(monkeypatch):
    """Images are not drawn: they are the scenes themselves."""
    monkeypatch.setattr(drawn, "pictures", lambda scenes, rng: list(scenes))


@pytest.fixture(scope="module")
def groups():
    return bench.benchmark(np.random.default_rng(3)).groups


def test_flat_queries_are_edited_as_the_formula_does():
    rng = np.random.default_rng(0)
    plain, scores = rng.uniform(0, 0.5, 7), dict(zip("abc", rng.uniform(0, 0.5, (3, 7)), strict=True))
    columns = np.stack(list(scores.values()), axis=1)
    for query, negated, operator in (
        (and_(a, b, c), (0, 0, 0), "and"),
        (or_(a, b, c), (0, 0, 0), "or"),
        (and_(a, not_(b), not_(c)), (0, 1, 1), "and"),
        (or_(not_(a), b, c), (1, 0, 0), "or"),
    ):
        found = plain + fi.edit(query, scores, Setting(20, 0.3))
        expected = fi.lcse(plain, columns, np.array(negated, bool), operator, 20, 0.3)
        np.testing.assert_allclose(found, expected, atol=1e-14)
    lone = {"a": scores["a"], "b": scores["b"]}  # what the query does not mention does not count
    np.testing.assert_allclose(fi.edit(not_(a), lone), -2 * (scores["a"] - 0.22), atol=1e-14)
    assert (fi.edit(a, lone) == 0).all()


def test_nested_queries_are_evaluated_from_their_leaves_and_edited_once():
    p = {"a": 0.9, "b": 0.3, "c": 0.6}
    scores = {x: np.array([0.22 + np.log(v / (1 - v)) / 30]) for x, v in p.items()}
    inner = ((0.3**10 + 0.6**10) / 2) ** 0.1
    logical = 1 - 2 / (1 / 0.9 + 1 / (1 - inner))
    soft = 0.6
    expected = (np.log(logical / (1 - logical)) - np.log(soft / (1 - soft))) / 30
    assert fi.edit(not_(and_(a, not_(or_(b, c)))), scores)[0] == pytest.approx(expected, abs=1e-12)
    # A concept that is mentioned twice counts once in the soft evidence.
    twice = or_(and_(a, b), and_(a, c))
    m = [2 / (1 / 0.9 + 1 / v) for v in (0.3, 0.6)]
    logical = ((m[0] ** 10 + m[1] ** 10) / 2) ** 0.1
    expected = (np.log(logical / (1 - logical)) - np.log(soft / (1 - soft))) / 30
    assert fi.edit(twice, scores)[0] == pytest.approx(expected, abs=1e-12)


def test_a_nested_and_may_be_edited_upwards():
    """The sign of an edit is a statement about flat queries."""
    query = and_(a, or_(b, c))
    scores = {"a": np.array([0.4]), "b": np.array([0.4]), "c": np.array([0.0])}
    p = [1 / (1 + np.exp(-30 * (s - 0.22))) for s in (0.4, 0.4, 0.0)]
    logical = 2 / (1 / p[0] + ((p[1] ** 10 + p[2] ** 10) / 2) ** -0.1)
    expected = (np.log(logical / (1 - logical)) - np.log(sum(p) / (3 - sum(p)))) / 30
    assert fi.edit(query, scores)[0] == pytest.approx(expected, abs=1e-12) and expected > 0.08
    assert fi.edit(and_(a, b, c), scores)[0] < 0


def test_de_morgan_fails_as_written_and_holds_in_normal_form():
    scores = {"a": np.array([0.5]), "b": np.array([0.2])}
    one, other = not_(and_(a, b)), or_(not_(a), not_(b))
    assert abs(fi.edit(one, scores) - fi.edit(other, scores)) > 0.01
    assert fi.edit(normal(one), scores) == fi.edit(other, scores)
    assert fi.edit(and_(a, b), scores) == pytest.approx(fi.edit(and_(b, a), scores), abs=1e-15)


def test_concept_scores_are_mean_cosines_over_templates(seeing, monkeypatch):
    toy, scene = Toy(), np.array([0, 1, 2, 3])
    vectors = fi.concept_vectors(toy, ["0", "black"], ("{}", "{a} {}", "{} and white"))
    image = toy.encode_image([scene])[0]
    np.testing.assert_allclose(vectors @ image, [(2 + 1 / sqrt(2)) / 3 / sqrt(6), 0], atol=1e-7)
    read = []
    monkeypatch.setattr(toy, "encode_text", lambda texts: read.extend(texts) or np.eye(len(texts)))
    fi.concept_vectors(toy, ["A", "red A"], ("{}", "{a} {}"))
    assert read == ["A", "red A", "an A", "a red A"]


def test_score_is_the_plain_score_and_the_edit(seeing):
    toy, scenes = Toy(), [np.array([0, 1, 2, 3]), np.array([4, 5, 6, 7])]
    query = and_(concept("0"), not_(concept("navy")))
    found = fi.score(toy, scenes, query, "0 and navy", bench.TEMPLATES, SURE)
    plain = np.array([1 / sqrt(12), 0])
    scores = {"0": np.array([1 / sqrt(6), 0]), "navy": np.zeros(2)}
    np.testing.assert_allclose(found, plain + fi.edit(query, scores, SURE), atol=1e-7)
    assert found[0] > found[1]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"query": and_(a, not_(a))}, "true of no image"),
        ({"query": or_(a, not_(a))}, "true of every image"),
        ({"query": "a and b"}, "is no query"),
        ({"images": []}, "nothing to rank"),
        ({"templates": ()}, "needs a place"),
        ({"templates": ("a photo",)}, "needs a place"),
        ({"templates": ("{} {x}",)}, "no others"),
        ({"templates": ("{} {",)}, "no others"),
    ],
)
def test_score_refuses(change, said):
    given = {"images": [np.arange(4)], "query": concept("0"), "templates": ("{}",)} | change
    with pytest.raises(BindlibError, match=said) as raised:
        fi.score(Toy(), **given)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "scores, said",
    [
        ({"a": np.zeros(2)}, "no scores of 'b'"),
        ({"a": np.zeros(2), "b": np.zeros(3)}, r"shapes \[\(2,\), \(3,\)\]"),
    ],
)
def test_an_edit_needs_the_scores_of_every_concept_on_the_same_images(scores, said):
    with pytest.raises(BindlibError, match=said):
        fi.edit(and_(concept("a"), concept("b")), scores)


def test_a_shipped_encoder_scores_pictures_and_knows_no_other_words():
    encoder, rng = load_encoder("shipped:ordinary"), np.random.default_rng(0)
    scenes = bench.scenes_of([("red A", "blue B"), ("green A", "khaki B")])
    assert drawn.captions(scenes, np.zeros(2, bool)) == ["a red A and a blue B", "a green A and a khaki B"]
    pictures = drawn.pictures(scenes, rng)
    wanted = and_(concept("red"), not_(concept("green")))
    found = fi.score(encoder, pictures, wanted, "a red and a green", bench.TEMPLATES)
    assert found.shape == (2,) and found[0] > found[1]
    with pytest.raises(BindlibError, match="don't know every word"):
        fi.score(encoder, pictures, concept("crimson"), templates=bench.TEMPLATES)
    with pytest.raises(BindlibError, match="don't know every word"):  # "but not" is no word of theirs
        fi.score(encoder, pictures, wanted, templates=bench.TEMPLATES)


def test_features_that_are_not_numbers_are_refused():
    class Broken(Toy):
        def encode_image(self, images):
            return unit_rows(np.full((len(images), len(PLACE)), np.nan), "broken", list(map(str, images)))

    with pytest.raises(BindlibError, match="not finite"):
        fi.score(Broken(), [np.arange(4)], concept("0"), templates=("{}",))
    with pytest.raises(ValueError, match="must be finite"):
        fi.edit(a, {"a": np.array([np.nan])})


def test_there_are_enough_items_and_each_is_what_it_says(groups):
    assert sum(len(group.words) for group in groups) >= 1500
    assert {group.form.family for group in groups} == {"operator", "equivalence", "compound"}
    for group in groups:
        letters = concepts(group.form.query)
        for i, (words, pair) in enumerate(zip(group.words, group.scenes, strict=True)):
            assert len(set(words)) == len(letters)
            shown = [{x for x, word in zip(letters, words, strict=True) if bench.shows(s, word)} for s in pair]
            assert [*map(set, group.form.pairs[i % len(group.form.pairs)])] == shown
            for query in filter(None, (group.form.query, group.form.same)):
                assert [holds(query, show) for show in shown] == [True, False]


def test_scenes_have_two_things_and_no_pair_that_was_held_out(groups):
    scenes = np.concatenate([group.scenes.reshape(-1, 4) for group in groups])
    assert (scenes[:, 0] != scenes[:, 1]).all() and (scenes[:, 2] != scenes[:, 3]).all()
    assert not drawn._held_out_pairs(scenes).any()


def test_a_bag_of_concepts_cannot_tell_wherever_the_operators_allow_it():
    """Both images show equally many concepts, if any two images that the form tells apart do."""
    for form in bench.FORMS:
        possible = [x for x in ("", *"abc", "ab", "ac", "bc") if set(x) <= set(concepts(form.query))]
        good, bad = ({len(x) for x in possible if holds(form.query, set(x)) == truth} for truth in (True, False))
        balanced = [len(x) == len(y) for x, y in form.pairs]
        if form.name == "but not":  # half of them show both concepts: the failure that the paper begins with
            assert balanced == [True, False]
        else:
            assert all(balanced) if good & bad else not any(balanced)


def test_what_the_towers_read_fits_their_context(groups):
    texts = {bench.bag(words) for group in groups for words in group.words}
    encoder = load_encoder("shipped:0")
    assert encoder.count_truncated(sorted(texts)) == 0
    assert bench.bag(("A", "B")) == "an A and a B" and bench.bag(("red A", "blue B", "tan C")).startswith("red A and")


def test_the_same_seed_draws_the_same_items_and_calibration_another_stream():
    one, two, three = (bench.benchmark(np.random.default_rng(seed), SMALL).groups for seed in (0, 0, 1))
    assert all((x.scenes == y.scenes).all() and x.words == y.words for x, y in zip(one, two, strict=True))
    assert any((x.scenes != y.scenes).any() for x, y in zip(one, three, strict=True))
    uses = runs._CALIBRATION, runs._ITEMS, runs._RETRIEVAL, runs._SWAPS
    draws = [runs.stream(0, use).random() for use in uses]
    assert len(set(draws)) == 4 and runs.stream(0, uses[1]).random() == draws[1] != runs.stream(1, uses[1]).random()


def test_who_sees_everything_is_right_and_who_ignores_operators_is_not(seeing):
    rows = list(runs.run(Toy(), VECTORS, bench.benchmark(np.random.default_rng(0), SMALL), SURE))
    value = {(r["method"], r["form"], r["concepts"]): r["right"].mean() for r in rows}
    assert {r["method"] for r in rows} == set(runs.METHODS)
    for kind in bench.KINDS:
        for form in bench.FORMS:
            assert value["without the plain score", form.name, kind] == 1
            assert value[runs.CALIBRATED, form.name, kind] == 1
        for method in (runs.PLAIN, "negations dropped"):
            assert value[method, "not", kind] == value[method, "neither", kind] == 0
        assert value[runs.PLAIN, "but not", kind] == 0.25  # ties, and wrong where both are shown
        assert value[runs.PLAIN, "and", kind] == value[runs.PLAIN, "or", kind] == 1
        assert value["negations dropped", "not", kind] == 0
        assert value[runs.NULL, "not", kind] < 0.5
    agree = np.concatenate([r["agree"] for r in rows if r["method"] == runs.CALIBRATED and "agree" in r])
    assert agree.mean() == 1 and len(agree) == 6 * 3 * SMALL["equivalence"]


def test_every_encoder_meets_the_same_scenes(seeing):
    found = runs.experiment([Toy(noise=0.25), Toy(noise=0.25)], (0, 1), SMALL)
    n_groups = len(bench.FORMS) * len(bench.KINDS)
    assert len(found.items) == 2 * 2 * n_groups * len(runs.METHODS) and len(found.detection) == 2 * 2 * 4
    for rows in (found.items, found.retrieval, found.swaps, found.detection):
        assert {(row["encoder"], row["seed"]) for row in rows} == {("toy", 0), ("toy", 1)}


def test_affirmed_drops_negations():
    assert runs.affirmed(and_(a, not_(or_(b, not_(c))))) == and_(a, or_(b, c))


def test_calibration_pairs_are_what_they_say(seeing):
    pairs = bench.evidence_pairs(Toy(), VECTORS, 30, np.random.default_rng(0))
    for scores, present in pairs.values():
        assert len(scores) == 120 and present.sum() == 60
        np.testing.assert_allclose(scores[present], 1 / sqrt(6), atol=1e-6)
        np.testing.assert_allclose(scores[~present], 0, atol=1e-6)


def test_fitted_setting_finds_where_a_noisy_toy_turns(seeing):
    setting, rows = runs.fitted_setting(Toy(noise=0.25), VECTORS, 0, 100)
    assert [row["concepts"] for row in rows] == [*bench.KINDS, "all"]
    everything = rows[-1]
    assert everything["absent"] < setting.mu < everything["present"]
    assert everything["loss"] < everything["loss_published"] and 0.5 < everything["auc"] < 1
    with pytest.raises(ValueError, match="no β is best"):
        runs.fitted_setting(Toy(), VECTORS, 0, 30)


def test_auc_is_the_chance_that_present_beats_absent():
    scores, present = np.array([0.3, 0.1, 0.2, 0.1]), np.array([True, True, False, False])
    pairs = [(1 if x > y else 0.5 if x == y else 0) for x in (0.3, 0.1) for y in (0.2, 0.1)]
    assert runs._auc(scores, present) == pytest.approx(np.mean(pairs))


def test_retrieval_of_a_toy_is_perfect_and_its_scenes_differ(seeing):
    rows = runs.retrieval(Toy(), VECTORS, 0, SURE, 60)
    hits = {row["method"]: row["hit"] for row in rows}
    assert len(hits) == 7 and all(len(hit) == 60 for hit in hits.values())
    assert hits[runs.PLAIN].mean() == hits["LCSE, atoms, calibrated"].mean() == 1
    assert runs.found_first(np.array([[3, 5], [2, 4]])).tolist() == [1, 0]
    doubled = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [0, 1, 3, 2], [0, 1, 2, 3]])
    assert runs._different(doubled).tolist() == [[0, 1, 2, 3], [0, 1, 3, 2]]


@pytest.mark.parametrize("name", ["toy", "shipped:1"])
def test_an_edit_by_words_knows_nothing_of_a_swap(name, monkeypatch):
    if name == "toy":
        monkeypatch.setattr(drawn, "pictures", lambda scenes, rng: list(scenes))
    encoder = Toy() if name == "toy" else load_encoder(name)
    vectors = bench.vocabulary(encoder)
    rows = {row["method"]: row for row in runs.swaps(encoder, vectors, 0, SURE, 40)}
    assert (rows["logic alone, words"]["captions"] == 0.5).all()
    words = rows["edit alone, words"]
    assert words["images"].mean() == 0.5 and (words["captions"] == 0.5).all()
    assert np.abs(words["edit"][:, :, 0] - words["edit"][:, :, 1]).max() < 1e-12
    assert (rows["LCSE, words"]["captions"] == rows[runs.PLAIN]["captions"]).all()
    if name == "toy":  # the toy reads atoms, so that its plain score binds, and so does an edit by atoms
        assert rows[runs.PLAIN]["images"].mean() == 1
        assert rows["LCSE, atoms"]["images"].mean() == rows["logic alone, atoms"]["images"].mean() == 1


def test_right_is_half_in_a_tie_up_to_rounding():
    assert runs.right(np.array([[1, 0], [0, 1], [1, 1], [1, 1 + 1e-14]])).tolist() == [1, 0, 0.5, 0.5]
    own = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.1, 0.9], [0.8, 0.2]]])
    assert runs._diagonal_right(own).tolist() == [1, 0]
    assert runs._diagonal_right(np.array([[[0.5, 0.4], [0.6, 0.7]]])).tolist() == [0.5]


def test_a_summary_has_the_items_of_all_seeds_and_the_range_over_seeds():
    rows = [{"m": "x", "seed": 0, "right": np.array([1.0, 0.0])}, {"m": "x", "seed": 0, "right": np.array([0.0, 0.0])},
            {"m": "x", "seed": 1, "right": np.ones(2)}, {"m": "y", "seed": 0}]  # fmt: skip
    (found,) = runs.summary(rows, ("m",), "right", share)
    assert found["n"] == 6 and found["value"] == 0.5 and found["seeds"] == 2
    assert (found["seed_low"], found["seed_high"]) == (0.25, 1)
    assert found["low"] < 0.5 < found["high"]


def test_paired_gains_are_differences_on_the_same_items():
    rows = [
        {"encoder": "x", "seed": seed, "form": form, "method": method, "right": np.array(right, float)}
        for seed, form, method, right in (
            (0, "not", "m", [1, 0, 1]), (1, "not", "m", [0, 0, 0]), (0, "and", "m", [1]),
            (0, "and", "n", [0.5]), (1, "not", "n", [1, 0, 0]), (0, "not", "n", [0, 0, 1]),
        )
    ]  # fmt: skip
    found = runs.paired(rows, [("m", "n"), ("n", "m")], "right")
    gains = [row["gain"].tolist() for row in found]
    assert gains == [[1, 0, 0], [-1, 0, 0], [0.5], [-0.5], [1, 0, 0], [-1, 0, 0]]
    assert found[0].keys() == {"encoder", "seed", "form", "method", "over", "gain"}
    with pytest.raises(KeyError):
        runs.paired(rows[:1], [("m", "n")], "right")


def test_what_the_abstract_reports():
    assert [found.number for found in fi.PUBLISHED.values()] == [85.5, 73.2, 90.7, 27.2, 65.2]
