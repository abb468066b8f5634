"""Tables as people have them, read by the rules that corpus and evaluation share."""

from __future__ import annotations

import io
from itertools import islice
from pathlib import Path

import pytest

from clusterns.data import delimited
from clusterns.data.columns import Column, Columns
from clusterns.data.delimited import Delimited
from clusterns.errors import UserError

TEXT = Columns().wanted()
LABELED = [
    Column("label", aliases=("label", "class")),
    Column("text", aliases=("text",), infer=True),
]


def table(
    text: str, columns: list[Column], name: str = "a.csv", assume_header: bool = True
) -> Delimited:
    return Delimited(Path(name), io.BytesIO(text.encode()), columns, assume_header=assume_header)


def rows(found: Delimited) -> list[list[str]]:
    return [cells for _, cells in found if cells is not None]


def numbered(*numbers: int) -> list[Column]:
    return [Column(f"c{number}", str(number)) for number in numbers]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        # A aliases name, small or capital.
        ("no,Text\nx,hello you\n", [["hello you"]]),
        ("sentence\nhello\nhello\n", [["hello"], ["hello"]]),
        # A column of numbers below what could be a name.
        ("rating,comment\n3,hello\n4,you\n", [["hello"], ["you"]]),
        (",rating,comment\n0,3,hello\n1,4,you\n", [["hello"], ["you"]]),
        # Numbers, sentences and what comes again are no names.
        ("3,hello\n4,you\n", [["hello"], ["you"]]),
        ("It was good.\nIt was bad.\n", [["It was good."], ["It was bad."]]),
        ("one two three four five\nsix\n", [["one two three four five"], ["six"]]),
        (f"{'x' * 41}\ny\n", [["x" * 41], ["y"]]),
        ("7,ok\n8,ok\n", [["ok"], ["ok"]]),
        ("ok\nfine\nok\n", [["ok"], ["fine"], ["ok"]]),
        # What may be either costs a corpus one line at most.
        ("hello\nyou\n", [["you"]]),
    ],
)
def test_whether_the_first_line_is_a_header(text: str, kept: list[list[str]]) -> None:
    assert rows(table(text, TEXT)) == kept


def test_an_unknown_header_is_never_a_row() -> None:
    text = "kind,remark\npos,good\nneg,bad\npos,fine\n"
    with pytest.raises(UserError, match="is its first line, 'kind', 'remark', a header or a row"):
        table(text, LABELED, assume_header=False)
    named = [Column("label", "kind"), Column("text", "remark")]
    expected = [["pos", "good"], ["neg", "bad"], ["pos", "fine"]]
    assert rows(table(text, named, assume_header=False)) == expected
    # A label that comes again shows that there is no header.
    assert rows(table(text.partition("\n")[2], LABELED, assume_header=False)) == expected


def test_names_that_are_half_known_are_refused() -> None:
    with pytest.raises(UserError, match=r"specify the column of the label; its columns are 'kind'"):
        table("kind,text\npos,good\n", LABELED, assume_header=False)
    found = table("class,remark\npos,good\n", LABELED, assume_header=False)
    assert rows(found) == [["pos", "good"]]
    assert found.description == (
        "the first line is the header; label is column 1 'class', text is column 2 'remark'"
    )


def test_columns_by_number() -> None:
    text = "3,,Long text\n4,title,More text\n"
    assert rows(table(text, numbered(3, 1))) == [["Long text", "3"], ["More text", "4"]]
    assert table(text, numbered(3)).description == "no header; c3 is column 3"
    # A number is a place even where a cell of the first line is that number.
    assert rows(table("2,hello\n3,you\n", numbered(2))) == [["hello"], ["you"]]
    # And the header is still none of the rows, where it can be told.
    assert rows(table("stars,remark\n2,hello\n", numbered(2))) == [["hello"]]
    assert rows(table("kind,remark\npos,hello\n", numbered(2))) == [["remark"], ["hello"]]
    for number in (0, 4):
        with pytest.raises(
            UserError, match=rf"no column {number}: it has 3 columns, numbered from 1"
        ):
            table(text, numbered(number))


def test_without_header_the_columns_must_be_told() -> None:
    text = "3,,Long text\n4,title,More text\n"
    with pytest.raises(
        UserError, match="has no header: specify by number the columns of label, text"
    ):
        table(text, LABELED)
    with pytest.raises(UserError, match=r"specify by number the column of the text \(--column\)"):
        table(text, TEXT)
    assert rows(table("3,Some text\n4,More text\n", LABELED)) == [
        ["3", "Some text"],
        ["4", "More text"],
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'label,text\n1,"x; y, z"\n'),
        ("a.csv", "label;text\n1;x; y, z\n".replace("x; y, z", '"x; y, z"')),
        ("a.csv", "label\ttext\n1\tx; y, z\n"),
        ("a.tsv", "label\ttext\n1\tx; y, z\n"),
        ("a", "1\tx; y, z\n"),
    ],
)
def test_the_separator(name: str, text: str) -> None:
    assert rows(table(text, LABELED, name)) == [["1", "x; y, z"]]
    assert rows(table("text\nx, y; z\n", TEXT, "a.tsv")) == [["x, y; z"]]


def test_trailing_separators_do_not_count() -> None:
    text = "18\thow to\t\r\n2\twhat\t\r\n18\twhy"
    found = table(text, numbered(2), "a")
    assert (rows(found), found.ragged) == ([["how to"], ["what"], ["why"]], 0)
    found = table("label\ttext\n" + text, LABELED, "a.tsv")
    assert (rows(found), found.ragged) == ([["18", "how to"], ["2", "what"], ["18", "why"]], 0)


def test_a_ragged_line_now_and_then_is_left_out_and_counted() -> None:
    found = table("label,text\n1,a\n2,b, c\n\n3\n4,d\n5,e\n6,\n", LABELED)
    kept = {2: ["1", "a"], 6: ["4", "d"], 7: ["5", "e"], 8: ["6", ""]}
    assert dict(found) == {line: kept.get(line) for line in range(2, 9)}
    assert found.ragged == 2


def test_mostly_ragged_lines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    header = "text,label\n"
    bad, good = "b, c,1\n", "a,1\n"
    assert rows(table(header + (bad + good) * 20, LABELED)) == [["1", "a"]] * 20
    with pytest.raises(UserError, match=r"line 2 has 3 cells, but the header has 2 columns"):
        rows(table(header + (bad + good) * 20 + bad, LABELED))
    # Before the end, where there are many.
    monkeypatch.setattr(delimited, "MAX_RAGGED", 10)
    found = islice(table(header + bad * 11 + good * 1000, LABELED), 12)
    with pytest.raises(UserError, match="more than half"):
        list(found)


def test_many_rows_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SAMPLE", 3)
    text = "\n\nlabel,text\n" + "".join(f"{number},row {number}\n" for number in range(50))
    found = table(text, LABELED)
    assert rows(found) == [[str(number), f"row {number}"] for number in range(50)]


@pytest.mark.parametrize("text", ["", "\n", "\n\n,\n"])
def test_nothing_in_it(text: str) -> None:
    found = table(text, [Column("text", "body")])
    assert (rows(found), found.description) == ([], "empty")
