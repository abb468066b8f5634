from __future__ import annotations

import pytest
from datasets import Dataset

from clusterns.data.in_memory import InMemorySource
from clusterns.errors import UserError


def test_any_sequence_in_batches_of_bounded_size() -> None:
    long = ["x" * 400_000] * 10
    column = Dataset.from_dict({"text": [*long, "é"]})["text"]
    given = InMemorySource.of(column, [str(number) for number in range(11)])
    sizes: list[int] = []
    batches = list(given.rows(given.columns, sizes.append))
    assert [batch.num_rows for batch in batches] == [2, 3, 2, 4]  # one array holds 2 GB at most
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["id"] for row in rows] == [str(number) for number in range(11)]
    assert [row["text"] for row in rows] == [*long, "é"]
    assert sum(sizes) == given.size == 4_000_001


def test_no_two_lists_are_alike() -> None:
    lists = [(["ab", "c"], None), (["a", "bc"], None), (["ab", "c"], ["x", "y"]), ([], None)]
    assert len({InMemorySource.of(texts, names).identity() for texts, names in lists}) == 4


@pytest.mark.parametrize(
    ("texts", "names", "message"),
    [
        (["a", "b"], ["x"], "2 texts have 1 names: pass a name for each text, or none"),
        (["a", None], None, "text 1 is NoneType, not a string"),
        (["a"], [3], "name 0 is int, not a string"),
        (["a \ud83d"], None, "text 0 is not valid Unicode"),
    ],
)
def test_what_is_no_text_is_refused(texts: list, names: list | None, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(UserError, match=message):
        InMemorySource.of(texts, names)
