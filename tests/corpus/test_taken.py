from __future__ import annotations

from datasets import Dataset

from clusterns.corpus.taken import taken

TEXTS = ["a", "b", "c", "d"]


class Counted:
    """A column on disk that counts how often it is opened."""

    def __init__(self) -> None:
        self.column = Dataset.from_dict({"text": TEXTS})["text"]
        self.calls = 0

    def __getitem__(self, rows: list[int]) -> list[str]:
        self.calls += 1
        return self.column[rows]


def test_rows_of_a_list_and_of_a_column_in_one_call() -> None:
    column = Counted()
    assert taken(TEXTS, [3, 0, 3]) == taken(column, [3, 0, 3]) == ["d", "a", "d"]
    assert column.calls == 1
