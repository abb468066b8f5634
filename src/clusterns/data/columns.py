"""Find the requested columns of a table, by the same rules for every table format and every reader."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clusterns.errors import UserError

MAX_SHOWN = 30  # characters of a cell in a message
# What --document can be for plain text, which has no columns.
TEXT_DOCUMENTS = ("paragraph", "line", "file")
NO_DOCUMENTS_TO_PAIR = (
    "positives = document pairs sentences of the same document, but this text has no documents. Specify "
    "them with --document, or set positives=crop."
)


@dataclass(frozen=True)
class Column:
    """A column to read.

    Args:
        role: its content, in one word.
        given: the name that the user passed, or its number from 1 if the table has no header.
        aliases: names to look for if the user passed none, in order of preference.
        infer: whether to use the only remaining text column if no name matches.
        option: the command-line option for it.
    """

    role: str
    given: str | None = None
    aliases: tuple[str, ...] = ()
    infer: bool = False
    option: str = ""

    @property
    def number(self) -> int | None:
        """The number that the user passed."""
        # Not isdigit, which also accepts digits such as superscripts.
        return int(self.given) if self.given is not None and self.given.isdecimal() else None

    @property
    def name(self) -> str | None:
        """The name that the user passed."""
        return self.given if self.number is None else None


class Columns(NamedTuple):
    """The columns of a corpus. Without a name, the text column is inferred; ids and documents are not read.

    ``unwrap`` joins the lines of hard-wrapped text. The columns in ``keep`` are read unchanged.
    """

    text: str | None = None
    id: str | None = None
    document: str | None = None
    unwrap: bool = False
    keep: tuple[str, ...] = ()

    def wanted(self) -> list[Column]:
        """The columns to find in a table."""
        columns = [Column("text", self.text, ("text", "sentence"), infer=True, option="--column")]
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
    """Find the positions of ``columns`` in a table.

    A column is the one that the user passed; else the first of its aliases in the header, ignoring case; else, if it
    may be inferred, the only text column that no other column uses. If the table has no header, exactly as many
    columns as requested, and the user passed none, the columns are read in order.

    Args:
        where: the table, for messages.
        names: its column names, or the cells of its first line if it has no header.
        texts: positions of the text columns.
        columns: the columns to find.
        numbered: whether a number that the user passed is a position rather than a name.
        header: whether ``names`` is a header.
    """
    if not header and len(names) == len(columns) and not any(column.given for column in columns):
        return [*range(len(columns))]
    found: list[int | None] = []
    for column in columns:
        if numbered and column.number is not None:
            if not 1 <= column.number <= len(names):
                raise UserError(
                    f"{where} has no column {column.number}: it has {len(names)} columns, numbered from 1, and "
                    f"starts with {listed(names)}."
                )
            found.append(column.number - 1)
        else:
            found.append(_by_name(where, names, column, numbered) if header else None)
    for place, column in enumerate(columns):
        left = [text for text in texts if text not in found]
        if found[place] is None and column.infer and len(left) == 1:
            found[place] = left[0]
    missing = [column for column, place in zip(columns, found, strict=True) if place is None]
    if missing:
        roles = ", ".join(column.role for column in missing)
        which = "the column of the" if len(missing) == 1 else "the columns of"
        how = f" ({missing[0].option})" if missing[0].option else ""
        raise UserError(
            f"{where}: specify {which} {roles}{how}; its columns are {listed(names)}."
            if header
            else f"{where} has no header: specify by number {which} {roles}{how}; it starts with {listed(names)}."
        )
    return [place for place in found if place is not None]


def listed(names: Sequence[str]) -> str:
    """Column names or cells, for a message."""
    shown = (name if len(name) <= MAX_SHOWN else name[:MAX_SHOWN] + "…" for name in names)
    return ", ".join(map(repr, shown)) or "none"


def _by_name(where: object, names: Sequence[str], column: Column, numbered: bool) -> int | None:
    if column.given is not None:
        if column.given not in names:
            number = " (if this is not a header, pass a number, counted from 1)" if numbered else ""
            raise UserError(
                f"{where} has no column {column.given!r}; its columns are {listed(names)}{number}."
            )
        return names.index(column.given)
    alike = [name.strip().casefold() for name in names]
    return next((alike.index(alias) for alias in column.aliases if alias in alike), None)
