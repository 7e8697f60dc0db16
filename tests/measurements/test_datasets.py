import os
import pickle

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bindlib.encoders import packaged, shipped, static
from bindlib.encoders.zoo import load_encoder
from bindlib.errors import BindlibError
from bindlib.measurements import sugarcrepe
from bindlib.measurements.datasets import N_BUILT_IN, built_in, built_in_quartets, load
from bindlib.measurements.diagnostic import per_item
from bindlib.measurements.items import Dataset, Pair, Triplet, is_permutation
from bindlib.scenes import ANCHOR_WORDINGS

needs_sugarcrepe = pytest.mark.skipif(
    not os.environ.get("BINDLIB_DATA"), reason="needs SugarCrepe: set BINDLIB_DATA to the folder that holds sugarcrepe/"
)
PAIRS = (Pair("a red car", "a car red", "swap"), Pair("a dog", "a cat"), Pair("one two", "two one", "other"))


def test_built_in_quartets_are_distinct_and_always_the_same():
    first = built_in_quartets()
    assert len(set(first)) == len(first) == N_BUILT_IN["ci"]
    assert not {q.caption for q in first} & {q.swap for q in first}, "a scene and its swap are one pair, not two"
    assert first == built_in_quartets() == list(load("quartets").items)
    for wording in range(len(ANCHOR_WORDINGS)):
        assert [q.caption for q in built_in_quartets(wording)] == [q.caption for q in first]


def test_no_more_pairs_than_there_are():
    with pytest.raises(ValueError, match="fewer than"):
        built_in_quartets(n=10_000)


def test_a_wording_is_part_of_the_name_and_of_the_revision():
    wordings = [load(f"quartets:{wording}") for wording in range(len(ANCHOR_WORDINGS))]
    assert [len({q.anchor for q in data.items} & {q.anchor for q in wordings[0].items}) for data in wordings] == [
        len(wordings[0]), 0, 0, 0,
    ]  # fmt: skip
    assert wordings[0] == load("quartets") and wordings[1].name == "quartets:1"
    assert len({data.revision for data in wordings}) == len(wordings)


@pytest.mark.parametrize(
    "data", ["quartets:4", "quartets:", "quartets:-1", "quartets:01", "quartets:²", "quartets:1:1"]
)
def test_an_unknown_wording_is_an_error_that_names_the_known(data):
    with pytest.raises(BindlibError, match="quartets:0 to quartets:3"):
        load(data)


@pytest.mark.parametrize("data", ["quartet", "", "sugarcrepe2", "Quartets", "a\0b", "x" * 5000])
def test_an_unknown_name_is_an_error(data):
    with pytest.raises(BindlibError, match="no data named"):
        load(data)


def test_loading_by_name_passes_on_what_was_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(sugarcrepe, "load", lambda: Dataset("sugarcrepe", PAIRS))
    assert load("sugarcrepe").items == PAIRS
    path = tmp_path / "own.csv"
    path.write_text("caption,negative\na dog,a cat\n")
    data = load(str(path))
    assert (data.name, data.kind, data.items) == (str(path), "pairs", (Pair("a dog", "a cat"),))


def test_the_kind_is_that_of_the_items():
    assert Dataset("x", PAIRS).kind == "pairs"
    assert Dataset("x", (Triplet("a", "b", "c"),)).kind == "triplets"
    assert built_in(n=2).kind == "quartets"


@pytest.mark.parametrize("items", [(), (PAIRS[0], Triplet("a", "b", "c"))])
def test_data_are_of_one_kind_and_not_empty(items):
    with pytest.raises(ValueError, match="one kind"):
        Dataset("x", items)


def test_no_subset_may_be_called_all():
    with pytest.raises(ValueError, match="'all'"):
        Dataset("x", (Pair("a", "b", "all"),))


def test_subsets_keep_their_order_and_all_has_what_has_no_subset():
    subsets = Dataset("x", (*PAIRS, PAIRS[0])).subsets()
    assert {name: index.tolist() for name, index in subsets.items()} == {
        "swap": [0, 3], "other": [2], "all": [0, 1, 2, 3],
    }  # fmt: skip
    assert list(subsets) == ["swap", "other", "all"]


def test_the_revision_is_of_the_items_their_order_and_their_kind_not_of_the_name():
    data = Dataset("x", PAIRS)
    assert data.revision == Dataset("y", list(PAIRS)).revision
    others = [PAIRS[::-1], PAIRS[:2], (*PAIRS, PAIRS[0]), (Pair("a red car", "a car red"), *PAIRS[1:])]
    assert len({data.revision} | {Dataset("x", other).revision for other in others}) == 5


def test_data_travel_to_another_process():
    data = Dataset("x", PAIRS)
    assert data.revision and pickle.loads(pickle.dumps(data)) == data


@pytest.mark.parametrize(
    ("caption", "other", "moved"),
    [
        ("A cat sits, and a dog.", "a dog, sits and A cat.", True),
        ("A cat sits, and a dog.", "a dog sits and A cat", False),  # a mark is a word
        ("a red car and a blue dog", "a blue car and a red dog", True),
        ("a red car", "a red car!", False),  # nothing moved
        ("a red car", "a red red car", False),  # counts matter
        ("the woman's hat on a man", "the man's hat on a woman", False),  # a word has its apostrophe
        ("the woman’s red hat", "the red woman’s hat", True),
        ("a crescent-shaped and a circular stud", "a circular shaped and a crescent stud", False),
        ("a crescent-shaped red stud", "a red crescent-shaped stud", True),  # a word has its hyphen
        ("board.Cabbage", "cabbage.board", True),
        ("a 'red' car, a 'blue' dog", "a 'blue' car, a 'red' dog", True),  # quotes are not apostrophes
        ("Äpfel und Öl", "öl und äpfel", True),
        ("a dog👍 and a cat", "a cat👍 and a dog", False),  # some tokenizers take a sign and its word for one
        ("a red car and 5€", "5€ and a red car", True),
        ("", "", False),
    ],
)
def test_what_counts_as_moving_words(caption, other, moved):
    assert is_permutation(caption, other) is is_permutation(other, caption) is moved


@given(st.lists(st.text("abcäö12", min_size=1, max_size=4), min_size=2, max_size=6), st.randoms())
def test_any_shuffle_of_words_is_a_permutation(words, random):
    shuffled = random.sample(words, len(words))
    caption, other = " ".join(words), "  ".join(shuffled).upper()
    assert is_permutation(caption, other) is (words != shuffled)
    assert not is_permutation(caption, f"{other} more")


SOME = [
    "a",
    "Red",
    "crescent-shaped",
    "circular",
    "woman's",
    "man’s",
    "s",
    "-",
    "'",
    ".",
    "“",
    "…",
    "a_b",
    "Ä",
    "cafe\u0301",
]
SIGNS = ["20", "5", "€", "°", "👍", "™", "\u200d", "\u0301"]
BETWEEN = [" ", " ", " ", "", ", ", "-", "'", "\u00a0", "\x0b", "\u2028"]


@pytest.fixture(scope="module")
def bags():
    """How the bags of words of the zoo split a caption: ``glove``, and ``minilm-no-positions``."""
    from tokenizers import Tokenizer

    wordpiece = Tokenizer.from_file(str(packaged.MINILM[1].locate()))
    return [static.words, lambda caption: wordpiece.encode(caption).tokens]


@settings(max_examples=500, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.lists(st.tuples(st.sampled_from(SOME + SIGNS), st.sampled_from(BETWEEN)), min_size=2, max_size=7), st.data())
@example([("dog", ""), ("👍", " "), ("cat", " ")], None)
@example([("5", " "), ("€", " "), ("red", " ")], None)
@example([("a", "\x0b"), ("b", " "), ("red", " ")], None)
def test_a_bag_of_words_sees_no_permutation(bags, parts, data):
    """Whatever stands between the words: words and what follows them are shuffled apart from each other."""
    words, between = zip(*parts, strict=True)
    draw = (lambda found: list(reversed(found))) if data is None else (lambda found: data.draw(st.permutations(found)))
    caption = "".join(map("".join, parts))
    for other in (
        "".join(map("".join, zip(draw(words), between, strict=True))),
        "".join(map("".join, zip(draw(words), draw(between), strict=True))),
    ):
        if is_permutation(caption, other):
            assert all(sorted(split(caption)) == sorted(split(other)) for split in bags)


@given(st.lists(st.sampled_from([*SOME, "5€", "dog👍"]), min_size=2, max_size=7), st.data())
def test_words_in_another_order_are_a_permutation_whatever_signs_they_hold(words, data):
    other = data.draw(st.permutations(words))
    assert is_permutation(" ".join(words), " ".join(other)) is (
        [w.lower() for w in words] != [w.lower() for w in other]
    )


@needs_sugarcrepe
def test_no_bag_of_words_sees_a_permutation_of_sugarcrepe(bags):
    data = load("sugarcrepe")
    pairs = tuple(pair for pair, moved in zip(data.items, data.permuted(), strict=True) if moved)
    assert len(pairs) > 400
    assert all(sorted(split(pair.caption)) == sorted(split(pair.negative)) for pair in pairs for split in bags)
    assert not per_item(load_encoder("glove"), Dataset("permutations", pairs))["ceiling"].any()


def test_captions_of_drawn_scenes_are_the_ones_that_the_shipped_encoders_know():
    data = load("drawn")
    assert data.kind == "quartets" and load("drawn").revision == data.revision
    shipped.tokenizer()([text for captions in data.captions for text in captions])  # raises on an unknown word
