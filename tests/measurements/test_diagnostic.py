import json
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.errors import BindlibError
from bindlib.measurements import diagnostic
from bindlib.measurements.datasets import built_in_quartets
from bindlib.scenes import Quartet
from bindlib.theory.bag_of_words import multiset_hash, position_weighted, unit


class Toy:
    """An encoder from a map of one caption."""

    name, revision, context_length = "toy", "0", 6

    def __init__(self, text_map):
        self.text_map, self.asked = text_map, []

    def encode_text(self, captions):
        self.asked += captions
        return np.stack([self.text_map(text) for text in captions]).astype(np.float32)

    def count_truncated(self, captions):
        return sum(len(text.split()) > self.context_length for text in captions)


QUARTETS = built_in_quartets(n=20)


def test_rows_have_the_promised_fields_and_are_json():
    row = diagnostic.measure_encoder(Toy(position_weighted(16, 0)), QUARTETS, "quartets")
    assert tuple(row) == diagnostic.FIELDS
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    for name, interval in row["intervals"].items():
        assert interval[0] <= row[name] <= interval[1]


def test_against_a_plain_loop():
    """Independent oracle: the definitions, one quartet at a time, without arrays."""
    encode = position_weighted(16, 0)
    row = diagnostic.measure_encoder(Toy(encode), QUARTETS, "quartets")
    d, delta, order, closer = [], [], [], []
    for q in QUARTETS:
        c, s, c2, s2, a = (encode(text).astype(np.float32).astype(float) for text in astuple(q))
        d.append(np.sqrt(((c - s) ** 2).sum()))
        delta.append(max(1 - c @ a, 1 - s @ a))
        order.append((np.linalg.norm(c - c2) + np.linalg.norm(s - s2)) / 2)
        closer += [np.linalg.norm(c - c2) < d[-1], np.linalg.norm(s - s2) < d[-1]]
    cap, sharp = (np.sqrt(8 * np.array(delta)), np.sqrt(4 * np.array(delta) * (2 - np.array(delta))))
    expected = {
        "ceiling": np.mean(d), "delta": np.mean(delta), "cap": cap.mean(), "usage": (d / cap).mean(),
        "sharp_cap": sharp.mean(), "sharp_usage": (d / sharp).mean(), "order_distance": np.mean(order),
        "binding_to_order": np.mean(d) / np.mean(order), "order_closer": np.mean(closer),
    }  # fmt: skip
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, abs=1e-6), name


def test_a_bag_of_words_has_no_ceiling_and_no_ratio():
    row = diagnostic.measure_encoder(Toy(multiset_hash(16, 0)), QUARTETS, "quartets")
    assert row["ceiling"] == row["usage"] == row["order_closer"] == 0
    assert row["binding_to_order"] is None and row["intervals"]["binding_to_order"] is None


def test_each_text_is_encoded_once():
    toy = Toy(position_weighted(16, 0))
    diagnostic.embed_quartets(toy, QUARTETS + QUARTETS)
    assert len(toy.asked) == len(set(toy.asked))


def test_truncated_captions_are_counted_and_warned_about(caplog):
    row = diagnostic.measure_encoder(Toy(position_weighted(16, 0)), QUARTETS, "quartets")
    assert row["truncated"] == 5 * len(QUARTETS)
    assert "lose their end" in caplog.text


@given(st.integers(0, 2**31))
def test_no_unit_vectors_break_the_caps(seed):
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal(8)
    vectors = unit(centre + 10 ** rng.uniform(-3, 1) * rng.standard_normal((50, 5, 8)))
    arrays = diagnostic.per_quartet(vectors)
    assert np.all(arrays["sharp_usage"] <= 1 + 1e-9)
    assert np.all(arrays["usage"] <= arrays["sharp_usage"] + 1e-12)


def test_intervals_cover_the_true_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        low, high = diagnostic._interval(np.mean, (rng.exponential(size=60),), rng)
        covered += low <= 1 <= high
    assert 0.87 <= covered / 200 <= 0.99


def test_one_quartet_has_no_interval():
    row = diagnostic.measure_encoder(Toy(position_weighted(16, 0)), QUARTETS[:1], "quartets")
    assert set(row["intervals"].values()) == {None}


def test_an_undefined_resample_leaves_no_interval_and_no_warning(recwarn):
    arrays = diagnostic.per_quartet(diagnostic.embed_quartets(Toy(position_weighted(16, 0)), QUARTETS[:2]))
    arrays["order_distance"][0] = 0
    summary = diagnostic.summarise(arrays, np.random.default_rng(0))
    assert summary["intervals"]["binding_to_order"] is None and not recwarn.list


def test_rounding_noise_is_no_usage():
    noise = unit(np.ones((3, 5, 8)) + 1e-8 * np.random.default_rng(0).standard_normal((3, 5, 8)))
    assert diagnostic.per_quartet(noise)["usage"].max() == 0


def test_seed_fixes_the_intervals():
    rows = [diagnostic.measure_encoder(Toy(position_weighted(16, 0)), QUARTETS, "q", seed) for seed in (0, 0, 1)]
    assert rows[0] == rows[1]
    assert rows[0]["intervals"] != rows[2]["intervals"]


def test_identical_captions_give_zeros_not_nan():
    quartet = Quartet(*["a red car"] * 5)
    row = diagnostic.measure_encoder(Toy(position_weighted(16, 0)), [quartet, quartet], "q")
    assert row["usage"] == 0
    json.dumps(row, allow_nan=False)


def test_centroid_anchor_is_unit_and_leaves_captions_alone():
    vectors = unit(np.random.default_rng(0).standard_normal((7, 5, 9)))
    centred = diagnostic.centroid_anchor(vectors)
    assert np.array_equal(centred[:, :4], vectors[:, :4])
    assert np.allclose(np.linalg.norm(centred[:, 4], axis=1), 1)


def test_midpoint_anchor_gives_sharp_usage_one():
    vectors = unit(np.random.default_rng(0).standard_normal((7, 5, 9)))
    assert np.allclose(diagnostic.per_quartet(diagnostic.midpoint_anchor(vectors))["sharp_usage"], 1)


def test_usage_by_wording_is_that_of_each_wording():
    toy = Toy(position_weighted(16, 0))
    by_wording = diagnostic.usage_by_wording(toy, 15)
    rows = [diagnostic.measure_encoder(toy, built_in_quartets(wording, 15), "q") for wording in range(4)]
    assert by_wording == pytest.approx([row["usage"] for row in rows])


def test_a_vector_that_is_not_a_number_is_one_line():
    with pytest.raises(BindlibError, match="not finite"):
        diagnostic.embed_quartets(Toy(lambda text: np.full(4, np.nan)), QUARTETS)


def test_an_unknown_encoder_is_found_before_anything_is_measured():
    told = []
    with pytest.raises(BindlibError, match="unknown encoder"):
        diagnostic.measure(["glove", "glov"], tell=told.append)
    assert told == []


def test_agrees_with_the_independent_measurements(quartets_file, independent_quartets):
    names = {
        "minilm": "all-MiniLM-L6-v2",
        "paraphrase-l3": "paraphrase-MiniLM-L3-v2",
        "use-multilingual": "USE-multilingual-v3",
        "glove": "glove-6b-50d-mean",
        "minilm-no-positions": "all-MiniLM-L6-v2, position embeddings zeroed",
    }
    rows = diagnostic.measure(list(names), str(quartets_file))
    for row in rows:
        expected = independent_quartets["expected"][names[row["encoder"]]]
        for field, value in expected.items():
            assert row[field] == pytest.approx(value, abs=0.002), (row["encoder"], field)
        assert row["n"] == 60 and row["truncated"] == 0
    for row in rows[3:]:
        assert row["ceiling"] < 1e-6
