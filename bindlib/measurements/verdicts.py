"""What a report card says in words: what was found, and what it does not show."""

from collections.abc import Iterator, Sequence

from bindlib.book.table import with_interval
from bindlib.encoders.base import SAME_POINT, TextEncoder
from bindlib.measurements.diagnostic import Row
from bindlib.measurements.items import Dataset, distinct

Interval = Sequence[float] | None


def found(row: Row, null: Sequence[Row]) -> Iterator[str]:
    """What the row of every item says; ``null`` are the rows of untrained towers on the same data."""
    if "usage" in row:
        yield from _quartets(row, null)
    elif "accuracy" in row:
        value = with_interval(row["accuracy"], row["intervals"]["accuracy"])
        yield f"The positive is nearer to the query than the swapped text for a share of {value} of the triplets (a tie"
        yield f" counts half), {_against(row['intervals']['accuracy'], 0.5, 'chance, one half')}"
    else:
        value = with_interval(row["ceiling"], row["intervals"]["ceiling"])
        yield f"A caption and its negative are {value} apart on average, where 2 is the most that unit vectors can be."
        yield f" {row['zero_share']:.1%} of the pairs are at the same point."


def _quartets(row: Row, null: Sequence[Row]) -> Iterator[str]:
    if row["ceiling"] < SAME_POINT:
        yield "It puts a caption and its swap at the same point, as a bag of words does: no image can tell them apart."
        return
    yield f"It uses {with_interval(row['usage'], row['intervals']['usage'])} of its cap."
    if null:
        used = [r["usage"] for r in null]
        yield f" Untrained towers use {min(used):.3f} to {max(used):.3f}: {_beside(row['usage'], used)}."
    if row["binding_to_order"] is not None:
        value = with_interval(row["binding_to_order"], row["intervals"]["binding_to_order"])
        yield f" A swap of the attributes moves its captions {value} times as far as another order of the same scene,"
        yield f" {_against(row['intervals']['binding_to_order'], 1, 'one')}"
        if ratios := [r["binding_to_order"] for r in null if r["binding_to_order"] is not None]:
            yield f" Untrained towers: {min(ratios):.3f} to {max(ratios):.3f}."


def _beside(value: float, others: Sequence[float]) -> str:
    if value < min(others):
        return "it lies below those that have learned nothing"
    return "it lies above them" if value > max(others) else "it lies among those that have learned nothing"


def _against(interval: Interval, mark: float, name: str) -> str:
    if interval is None:
        return f"with no interval to compare with {name}."
    if interval[0] > mark:
        return f"which is more than {name}."
    return f"which is less than {name}." if interval[1] < mark else f"which cannot be told from {name}."


def limits(encoder: TextEncoder, dataset: Dataset, row: Row, null: Sequence[Row], usages: Sequence[float]) -> list[str]:
    """What the numbers of ``row`` cannot say; ``usages`` are those under several anchors."""
    return [*_OF_KIND[dataset.kind](row, null, usages), *_of_every_kind(encoder, dataset, row)]


def _limits_of_quartets(row: Row, null: Sequence[Row], usages: Sequence[float]) -> Iterator[str]:
    used = [r["usage"] for r in null]
    towers = (
        f": untrained towers, which have learned nothing, use {min(used):.3f} to {max(used):.3f} here" if used else ""
    )
    yield f"Usage alone does not show binding{towers}."
    if row["usage"] > 0:
        spread = sorted([row["usage"], *usages])
        yield (
            f"The anchor is a choice. With other anchors, which the card lists, usage goes from {spread[0]:.3f} to "
            f"{spread[-1]:.3f}. A comparison of usages means something only if it survives that choice."
        )
    yield (
        "The ratio of swap to order speaks of these sentences. A model could have it from the distance between words, "
        "without reading which attribute belongs to which object."
    )


def _limits_of_pairs(row: Row, null: Sequence[Row], usages: Sequence[float]) -> Iterator[str]:
    yield "A pair has no anchor, so there is no cap: whether a distance is large depends on the encoder."
    if row["permutations"] < row["n"]:
        yield (
            f"Only {row['permutations']} of the {row['n']} pairs exchange words and nothing else. The others differ in "
            "their words, and a bag of words tells those apart too."
        )


def _limits_of_triplets(row: Row, null: Sequence[Row], usages: Sequence[float]) -> Iterator[str]:
    yield (
        "A swapped text that keeps the words of the query may be nearer for its words alone, and a positive in other "
        "words farther: the accuracy measures both."
    )


_OF_KIND = {"quartets": _limits_of_quartets, "pairs": _limits_of_pairs, "triplets": _limits_of_triplets}


def _of_every_kind(encoder: TextEncoder, dataset: Dataset, row: Row) -> Iterator[str]:
    yield (
        "Only the text tower was measured. Its distances bound what images can do: whether an image tower does it is a "
        "question for images."
    )
    if left_out := len(dataset.left_out):
        yield f"{left_out} of the {left_out + len(dataset)} items of the file cannot be used and were left out."
    texts = len(distinct(dataset.captions))
    if row["truncated"]:
        yield (
            f"{row['truncated']} of {texts} texts are longer than the {encoder.context_length} tokens that it reads "
            "and lose their end, where a swap is invisible."
        )
    else:
        yield f"None of the {texts} texts was cut."
    yield (
        "An interval of 95 % is over these items. It speaks for more items made in the same way, and not for other "
        "sentences."
    )
