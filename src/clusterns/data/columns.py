"""Which columns of a table are meant: the same rules for every kind of table and every reader."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clusterns.errors import UserError

SHOWN = 30  # characters of a cell in a message
# What can be a document in plain text, which has no columns.
TEXT_DOCUMENTS = ("paragraph", "line", "file")
NO_DOCUMENTS_TO_PAIR = (
    "positives = document pairs sentences of one document, and the text has none: say what belongs "
    "together with --document, or set positives=crop."
)


@dataclass(frozen=True)
class Column:
    """A column that is wanted.

    Args:
        role: what it holds, in a word.
        asked: the name or, where a table has none, the number (from 1) that the user gave.
        usual: names that it is known by where the user gave none, the best first.
        only: whether it may be the only column of text that is left.
        option: where the user can say which one it is.
    """

    role: str
    asked: str | None = None
    usual: tuple[str, ...] = ()
    only: bool = False
    option: str = ""

    @property
    def number(self) -> int | None:
        """The number that was asked for."""
        # Not isdigit: there are digits that are no numbers, such as a superscript.
        return int(self.asked) if self.asked is not None and self.asked.isdecimal() else None

    @property
    def name(self) -> str | None:
        """The name that was asked for."""
        return self.asked if self.number is None else None


class Columns(NamedTuple):
    """The columns of a corpus: text None is found out, id or document None is not read.

    With ``unwrap``, the lines of hard-wrapped plain text are joined. The columns ``keep`` are read as they are.
    """

    text: str | None = None
    id: str | None = None
    document: str | None = None
    unwrap: bool = False
    keep: tuple[str, ...] = ()

    def wanted(self) -> list[Column]:
        """What to look for in a table: the text, and what else was asked for."""
        columns = [Column("text", self.text, ("text", "sentence"), only=True, option="--column")]
        if self.id is not None:
            columns.append(Column("id", self.id, option="--id-column"))
        if self.document is not None:
            columns.append(Column("document", self.document, option="--document"))
        return [*columns, *(Column("value", name, option="--keep") for name in self.keep)]


def find_columns(
    where: object,
    names: Sequence[str],
    texts: Collection[int],
    columns: Sequence[Column],
    *,
    numbered: bool = False,
    header: bool = True,
) -> list[int]:
    """Find the places of ``columns`` in a table.

    A column is the one asked for; else the first of its usual names that is there, small or capital;
    else, where it may be so, the only one of the places ``texts`` that no other column takes. In a
    table without a header, of which as many columns as there are were wanted and none asked for,
    they stand in the order in which they are wanted.

    Args:
        where: the table, for messages.
        names: of its columns; without a header, the cells of its first line.
        texts: places of the columns that hold text.
        columns: what is wanted.
        numbered: whether a number asked for is a place; else it is a name like others.
        header: whether ``names`` are names.
    """
    if not header and len(names) == len(columns) and not any(column.asked for column in columns):
        return [*range(len(columns))]
    found: list[int | None] = []
    for column in columns:
        if numbered and column.number is not None:
            if not 1 <= column.number <= len(names):
                raise UserError(
                    f"{where} has no column {column.number}: it has {len(names)}, counted from 1, and "
                    f"begins with {listed(names)}."
                )
            found.append(column.number - 1)
        else:
            found.append(_by_name(where, names, column, numbered) if header else None)
    for place, column in enumerate(columns):
        left = [text for text in texts if text not in found]
        if found[place] is None and column.only and len(left) == 1:
            found[place] = left[0]
    missing = [column for column, place in zip(columns, found, strict=True) if place is None]
    if missing:
        roles = ", ".join(column.role for column in missing)
        which = "which column holds the" if len(missing) == 1 else "which columns hold"
        how = f" ({missing[0].option})" if missing[0].option else ""
        raise UserError(
            f"{where}: say {which} {roles}{how}; its columns are {listed(names)}."
            if header
            else f"{where} has no header: say by number {which} {roles}{how}; it begins with {listed(names)}."
        )
    return [place for place in found if place is not None]


def listed(names: Sequence[str]) -> str:
    """Names or cells for a message."""
    shown = (name if len(name) <= SHOWN else name[:SHOWN] + "…" for name in names)
    return ", ".join(map(repr, shown)) or "none"


def _by_name(where: object, names: Sequence[str], column: Column, numbered: bool) -> int | None:
    if column.asked is not None:
        if column.asked not in names:
            number = " (or a number from 1 on, where that is no header)" if numbered else ""
            raise UserError(
                f"{where} has no column {column.asked!r}; its columns are {listed(names)}{number}."
            )
        return names.index(column.asked)
    alike = [name.strip().casefold() for name in names]
    return next((alike.index(usual) for usual in column.usual if usual in alike), None)
