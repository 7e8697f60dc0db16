import json
import os
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.encoders.zoo import load_encoder
from bindlib.errors import BindlibError
from bindlib.measurements import diagnostic
from bindlib.measurements.datasets import built_in, built_in_quartets, load
from bindlib.measurements.items import Dataset, Pair, Triplet
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


QUARTETS = built_in(n=20)
WORDS = ["red", "blue", "car", "dog", "cat", "big", "and", "on"]
READER, BAG = position_weighted(16, 0), multiset_hash(16, 0)


def drawn(kind, n, seed=0, words=3):
    """``n`` items of random words, in subsets "x", "y" and none; half of them only move words."""
    rng, items = np.random.default_rng(seed), []
    for i in range(n):
        texts = [rng.choice(WORDS, words, replace=False).tolist() for _ in range(3 if kind is Triplet else 2)]
        texts[-1] = rng.permutation(texts[0]).tolist() if i % 2 else texts[-1]
        items.append(kind(*map(" ".join, texts), ("x", "y", "")[i % 3]))
    return Dataset("drawn", tuple(items))


def one_row(toy, data, seed=0):
    (row,) = diagnostic.measure_encoder(toy, data, seed)
    return row


@pytest.mark.parametrize("data", [QUARTETS, drawn(Pair, 30), drawn(Triplet, 30)], ids=lambda data: data.kind)
def test_rows_have_the_promised_fields_and_are_json(data):
    rows = diagnostic.measure_encoder(Toy(READER), data)
    assert [row["subset"] for row in rows] == (["all"] if data is QUARTETS else ["x", "y", "all"])
    assert [row["n"] for row in rows] == ([20] if data is QUARTETS else [10, 10, 30])
    head = ("encoder", "revision", "data", "data_revision", "subset", "n", "truncated", "permutations", "duplicates",
            "left_out")  # fmt: skip
    for row in rows:
        assert (*head, *row["intervals"], "intervals") == tuple(row)
        assert json.loads(json.dumps(row, allow_nan=False)) == row
        assert (row["encoder"], row["revision"]) == ("toy", "0")
        assert (row["data"], row["data_revision"]) == (data.name, data.revision)
        without = {name for name, interval in row["intervals"].items() if interval is None}
        assert all(name.startswith("decile_") for name in without), "so few items do not bound their outer deciles"
        for name in row["intervals"].keys() - without:
            assert row["intervals"][name][0] <= row[name] <= row["intervals"][name][1]


def test_a_subset_is_measured_as_if_it_stood_alone():
    for data in (drawn(Pair, 30), drawn(Triplet, 30)):
        rows = {row["subset"]: row for row in diagnostic.measure_encoder(Toy(READER), data, seed=3)}
        for name in ("x", "y"):
            alone = Dataset("drawn", tuple(item for item in data.items if item.subset == name))
            row = diagnostic.measure_encoder(Toy(READER), alone, seed=3)[0]
            assert row | {"data_revision": data.revision} == rows[name]


def test_against_a_plain_loop():
    """Independent oracle: the definitions, one quartet at a time, without arrays."""
    encode = READER
    row = one_row(Toy(encode), QUARTETS)
    d, delta, order, closer = [], [], [], []
    for q in QUARTETS.items:
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


def test_pairs_against_a_plain_loop():
    data = Dataset("x", drawn(Pair, 60).items + drawn(Pair, 20).items)
    row = diagnostic.measure_encoder(Toy(READER), data)[-1]
    d, moved = [], []
    for pair in data.items:
        a, b = (READER(text).astype(np.float32).astype(float) for text in (pair.caption, pair.negative))
        d.append(np.sqrt(((a - b) ** 2).sum()))
        words, others = pair.caption.split(), pair.negative.split()
        if words != others and sorted(words) == sorted(others):
            moved.append(d[-1])
    assert row["permutations"] == len(moved) > 10
    assert row["ceiling"] == pytest.approx(np.mean(d), abs=1e-6)
    assert row["permutation_ceiling"] == pytest.approx(np.mean(moved), abs=1e-6)
    assert row["zero_share"] == pytest.approx(np.mean(np.array(d) < 1e-6))
    assert row["n"] == len(d) and row["duplicates"] == len(d) - len(set(data.items)) >= 20


def test_a_bag_of_words_sees_no_pair_that_only_moves_words():
    row = diagnostic.measure_encoder(Toy(BAG), drawn(Pair, 60))[-1]
    assert row["permutation_ceiling"] == 0 and row["permutation_zero_share"] == 1
    assert row["ceiling"] > 0 and row["zero_share"] >= row["permutations"] / 60
    low, high = row["intervals"]["permutation_zero_share"]
    assert low < 1 == high, "a share of 1 among few items is not certain"
    row = one_row(Toy(BAG), Dataset("x", (Pair("a red car", "a blue car"),)))
    assert row["permutations"] == 0
    assert row["permutation_ceiling"] is row["intervals"]["permutation_zero_share"] is None


def test_triplets_against_a_plain_loop():
    data = drawn(Triplet, 60)
    for encode in (READER, BAG):
        row = diagnostic.measure_encoder(Toy(encode), data)[-1]
        score, ties, gaps = [], [], []
        for item in data.items:
            q, p, s = (encode(t).astype(np.float32).astype(float) for t in (item.query, item.positive, item.swapped))
            gaps.append(np.linalg.norm(q - s) - np.linalg.norm(q - p))
            ties.append(abs(gaps[-1]) < 1e-6)
            score.append(0.5 if ties[-1] else float(gaps[-1] > 0))
        assert row["accuracy"] == pytest.approx(np.mean(score))
        assert row["ties"] == pytest.approx(np.mean(ties))
        assert row["gap"] == pytest.approx(np.mean(gaps), abs=1e-6)
        assert row["gap"] == pytest.approx(row["swapped_distance"] - row["positive_distance"])


def test_a_triplet_with_one_bag_is_half_right_for_a_bag_of_words_and_a_reversed_one_is_its_complement():
    same = Dataset("x", tuple(Triplet(f"a {w} b", f"b a {w}", f"{w} a b") for w in WORDS))
    row = one_row(Toy(BAG), same)
    assert (row["accuracy"], row["ties"], row["gap"], row["permutations"]) == (0.5, 1, 0, len(WORDS))
    data = drawn(Triplet, 40)
    turned = Dataset("x", tuple(Triplet(t.query, t.swapped, t.positive) for t in data.items))
    row, other = (diagnostic.measure_encoder(Toy(READER), d)[-1] for d in (data, turned))
    assert row["accuracy"] + other["accuracy"] == pytest.approx(1) and row["ties"] == other["ties"]


def test_per_item_is_in_the_order_of_the_items_and_does_not_depend_on_the_chunk(monkeypatch):
    for data in (QUARTETS, drawn(Pair, 30), drawn(Triplet, 30)):
        whole = diagnostic.per_item(Toy(READER), data)
        alone = [diagnostic.per_item(Toy(READER), Dataset("x", (item,))) for item in data.items]
        monkeypatch.setattr(diagnostic, "CHUNK", 7)
        chunked = diagnostic.per_item(Toy(READER), data)
        monkeypatch.undo()
        for name, values in whole.items():
            assert values.shape == (len(data),)
            assert np.allclose(values, [single[name][0] for single in alone], rtol=0, atol=1e-12), name
            assert np.array_equal(values, chunked[name]), name


def test_a_bag_of_words_has_no_ceiling_and_no_ratio():
    row = one_row(Toy(BAG), QUARTETS)
    assert row["ceiling"] == row["usage"] == row["order_closer"] == 0
    assert row["binding_to_order"] is None and row["intervals"]["binding_to_order"] is None


def test_each_text_is_encoded_once():
    toy = Toy(READER)
    diagnostic.per_item(toy, Dataset("x", QUARTETS.items + QUARTETS.items))
    assert len(toy.asked) == len(set(toy.asked)) > 0


def test_truncated_captions_are_counted_and_warned_about(caplog):
    assert one_row(Toy(READER), QUARTETS)["truncated"] == 5 * len(QUARTETS)
    assert "100 of 100 captions" in caplog.text and "lose their end" in caplog.text
    long = Pair("a b c d e f g", "a b c d e f h", "long")
    rows = diagnostic.measure_encoder(Toy(READER), Dataset("x", (*drawn(Pair, 9).items, long, long)))
    assert {row["subset"]: row["truncated"] for row in rows} == {"x": 0, "y": 0, "long": 2, "all": 2}
    assert len(caplog.records) == 2


def test_what_was_left_out_is_counted_and_part_of_the_revision():
    items = drawn(Pair, 9).items
    data = [Dataset("x", items, left_out) for left_out in ((), ("x", "", ""))]
    clean, short = (diagnostic.measure_encoder(Toy(READER), one) for one in data)
    assert {row["subset"]: row["left_out"] for row in short} == {"x": 1, "y": 0, "all": 3}
    assert {row["left_out"] for row in clean} == {0} and data[0].revision != data[1].revision


@given(st.integers(0, 2**31))
def test_no_unit_vectors_break_the_caps(seed):
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal(8)
    vectors = unit(centre + 10 ** rng.uniform(-3, 1) * rng.standard_normal((50, 5, 8)))
    arrays = diagnostic.per_quartet(vectors)
    assert np.all(arrays["sharp_usage"] <= 1 + 1e-9)
    assert np.all(arrays["usage"] <= arrays["sharp_usage"] + 1e-12)


def test_one_quartet_has_no_interval():
    row = one_row(Toy(READER), built_in(n=1))
    assert set(row["intervals"].values()) == {None}


def test_an_undefined_resample_leaves_no_interval_and_no_warning(recwarn):
    arrays = diagnostic.per_item(Toy(READER), built_in(n=2))
    arrays["order_distance"][0] = 0
    summary = diagnostic.summarise_quartets(arrays, np.random.default_rng(0))
    assert summary["binding_to_order"].value and summary["binding_to_order"].interval is None and not recwarn.list


def test_rounding_noise_is_no_usage():
    noise = unit(np.ones((3, 5, 8)) + 1e-8 * np.random.default_rng(0).standard_normal((3, 5, 8)))
    assert diagnostic.per_quartet(noise)["usage"].max() == diagnostic.per_pair(noise)["ceiling"].max() == 0


def test_seed_fixes_the_intervals():
    rows = [one_row(Toy(READER), QUARTETS, seed) for seed in (0, 0, 1)]
    assert rows[0] == rows[1]
    assert rows[0]["intervals"] != rows[2]["intervals"]


def test_identical_captions_give_zeros_not_nan():
    quartet = Quartet(*["a red car"] * 5)
    row = one_row(Toy(READER), Dataset("x", (quartet, quartet)))
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
    toy = Toy(READER)
    by_wording = diagnostic.usage_by_wording(toy, 15)
    rows = [one_row(toy, built_in(wording, 15)) for wording in range(4)]
    assert by_wording == pytest.approx([row["usage"] for row in rows])


def test_a_vector_that_is_not_a_number_is_one_line():
    with pytest.raises(BindlibError, match="not finite"):
        diagnostic.embed_quartets(Toy(lambda text: np.full(4, np.nan)), built_in_quartets(n=3))


def test_agrees_with_the_independent_measurements(quartets_file, independent_quartets):
    names = {
        "minilm": "all-MiniLM-L6-v2",
        "paraphrase-l3": "paraphrase-MiniLM-L3-v2",
        "use-multilingual": "USE-multilingual-v3",
        "glove": "glove-6b-50d-mean",
        "minilm-no-positions": "all-MiniLM-L6-v2, position embeddings zeroed",
    }
    rows = [one_row(load_encoder(name, "cpu"), load(str(quartets_file))) for name in names]
    for row in rows:
        expected = independent_quartets["expected"][names[row["encoder"]]]
        for field, value in expected.items():
            assert row[field] == pytest.approx(value, abs=0.002), (row["encoder"], field)
        assert row["n"] == 60 and row["truncated"] == 0
    for row in rows[3:]:
        assert row["ceiling"] < 1e-6


@pytest.mark.skipif(
    not os.environ.get("BINDLIB_DATA"), reason="needs SugarCrepe: set BINDLIB_DATA to the folder that holds sugarcrepe/"
)
def test_sugarcrepe_agrees_with_independent_measurements():
    """GloVe's shares of d = 0, counted independently of this code; all-MiniLM-L6-v2 on the two small subsets."""
    data = load("sugarcrepe")
    rows = {row["subset"]: row for row in diagnostic.measure_encoder(load_encoder("glove", "cpu"), data)}
    assert rows["swap_obj"]["zero_share"] == pytest.approx(0.588, abs=0.0005)
    assert rows["swap_att"]["zero_share"] == pytest.approx(0.547, abs=0.0005)
    swaps = Dataset("swaps", tuple(pair for pair in data.items if pair.subset == "swap_obj"))
    row = diagnostic.measure_encoder(load_encoder("minilm", "cpu"), swaps)[-1]
    assert row["ceiling"] == pytest.approx(0.244, abs=0.003)
