"""Queries: their truth, their normal form, their words, and what is refused."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.errors import BindlibError
from bindlib.remedies.queries import (
    And,
    Concept,
    Not,
    Or,
    and_,
    concept,
    concepts,
    holds,
    normal,
    not_,
    or_,
    parse,
    require_contingent,
)

a, b, c, d = map(concept, "abcd")
QUERIES = st.recursive(
    st.sampled_from([a, b, c, d]),
    lambda part: st.one_of(
        part.map(not_),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: and_(*parts)),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: or_(*parts)),
    ),
    max_leaves=8,
)
WORLDS = [{x for x, there in zip("abcd", row, strict=True) if there} for row in product((0, 1), repeat=4)]


def python(query) -> str:
    """The query as a Python expression over a set: an independent reading of it."""
    match query:
        case Concept(name):
            return f"({name!r} in world)"
        case Not(part):
            return f"(not {python(part)})"
        case And(parts) | Or(parts):
            word = " and " if isinstance(query, And) else " or "
            return f"({word.join(map(python, parts))})"


@given(QUERIES)
def test_truth_is_that_of_python(query):
    assert [holds(query, world) for world in WORLDS] == [eval(python(query), {"world": world}) for world in WORLDS]


@given(QUERIES)
def test_the_normal_form_is_true_of_the_same_and_negates_concepts_only(query):
    found, denied = normal(query), normal(query, negated=True)
    for world in WORLDS:
        assert holds(found, world) == holds(query, world) == (not holds(denied, world))
    assert set(concepts(found)) == set(concepts(query))
    assert negated_parts_are_concepts(found)


def negated_parts_are_concepts(query) -> bool:
    match query:
        case Not(part):
            return isinstance(part, Concept)
        case And(parts) | Or(parts):
            return all(map(negated_parts_are_concepts, parts))
    return True


@given(QUERIES)
def test_a_query_that_ranks_nothing_is_refused_and_no_other(query):
    truths = {holds(query, world) for world in WORLDS}
    if len(truths) == 2:
        assert require_contingent(query) is query
    else:
        with pytest.raises(BindlibError, match="every image" if truths == {True} else "no image"):
            require_contingent(query)


def test_grouping_repetition_and_double_negation_change_nothing():
    assert and_(a, and_(b, c)) == and_(and_(a, b), c) == and_(a, b, c, b)
    assert or_(a, or_(b, a)) == or_(a, b)
    assert not_(not_(a)) is a and not_(not_(not_(a))) == not_(a)
    assert and_(a) is a and or_(a, a) == a
    assert and_(a, or_(b, c)).parts == (a, or_(b, c))
    assert concept("  a red\n car ") == concept("a red car")


FIVE = {
    "not a red car": not_(concept("a red car")),
    "a cat and a dog": and_(concept("a cat"), concept("a dog")),
    "a cat or a dog": or_(concept("a cat"), concept("a dog")),
    "an umbrella but not a person": and_(concept("an umbrella"), not_(concept("a person"))),
    "neither a cat nor a dog": and_(not_(concept("a cat")), not_(concept("a dog"))),
}


@pytest.mark.parametrize("text", FIVE)
def test_the_five_templates_are_read_and_written(text):
    assert parse(text) == FIVE[text] and str(FIVE[text]) == text


def test_parsing_is_lenient_about_case_and_space_and_no():
    assert parse("  NOT   a  cat ") == parse("no a cat") == not_(concept("a cat"))
    assert parse("Neither A nor B") == and_(not_(concept("A")), not_(concept("B")))
    assert parse("umbrella BUT NO person") == parse("umbrella but not person")
    assert parse("north and order") == and_(concept("north"), concept("order"))  # words that begin like operators


@pytest.mark.parametrize("text", ["", "   ", "\n", None])
def test_an_empty_text_is_refused(text):
    with pytest.raises(BindlibError, match="empty query"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["a cat", "a and b and c", "a without b", "not", "and b", "a or", "neither a", "a but b", "not a and b", "a nor b",
     "not not a", "(a or b) and not c"],
)  # fmt: skip
def test_another_form_is_refused_with_the_five(text):
    with pytest.raises(
        BindlibError, match="'not X', 'X and Y', 'X or Y', 'X but not Y' or 'neither X nor Y'"
    ) as raised:
        parse(text)
    assert "\n" not in str(raised.value)


def test_nested_queries_say_how_they_are_grouped():
    assert str(and_(or_(a, b), not_(c))) == "(a or b) but not c"
    assert str(and_(a, not_(and_(b, c)))) == "a but not (b and c)"
    assert str(not_(or_(a, b))) == "not (a or b)"
    assert str(and_(a, b, not_(c))) == "a and b and not c"


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: concept(""), "needs words"),
        (lambda: concept("  "), "needs words"),
        (lambda: concept(None), "needs words"),
        (and_, "empty query"),
        (or_, "empty query"),
        (lambda: and_("a", b), r"'a' is no query: write concept\('a'\)"),
        (lambda: not_(None), "is no query"),
        (lambda: require_contingent(and_(a, not_(a))), "'a but not a' is true of no image"),
        (lambda: require_contingent(or_(a, not_(a))), "true of every image"),
        (lambda: require_contingent("a"), "is no query"),
        (lambda: require_contingent(and_(*map(concept, "abcdefghijklm"))), "12 concepts, got 13"),
    ],
)
def test_bad_queries(make, said):
    with pytest.raises(BindlibError, match=said) as raised:
        make()
    assert "\n" not in str(raised.value)
