"""Retrieval collections: documents, queries and judgments in BEIR's layout or as classic files."""

from __future__ import annotations

import json
import re
from pathlib import Path

from clusterns.console import log
from clusterns.data.lines import text_lines
from clusterns.data.sources import readable
from clusterns.errors import UserError
from clusterns.evaluation.custom import read_lines
from clusterns.evaluation.datasets import Retrieval

SECTION = re.compile(r"\.(?:I\s+(?P<number>\d+)|(?P<section>[A-Z]))\s*")  # of the classic files
# Documents, queries, and pairs of a query and a relevant document, by their ids.
Collection = tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]


def read_collection(folder: Path) -> Retrieval:
    """Read documents, queries and judgments: BEIR's layout, or the classic files of .I, .T and .W.

    Queries without a relevant document are left out, as in BEIR.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder.")
    read = _read_beir if (folder / "corpus.jsonl").is_file() else _read_classic
    with readable(folder):
        texts, queries, judgments = read(folder)
    numbers = {key: number for number, key in enumerate(texts)}
    relevant: dict[str, set[int]] = {}
    for query, text in judgments:
        if query in queries and text in numbers:
            relevant.setdefault(query, set()).add(numbers[text])
    if not relevant or len(texts) < 2:
        raise UserError(f"{folder}: no query has a relevant document.")
    log(
        f"{folder}: {len(texts):,} documents, {len(relevant):,} of {len(queries):,} queries judged."
    )
    judged = [key for key in queries if key in relevant]
    return Retrieval(
        [queries[key] for key in judged],
        [*texts.values()],
        [frozenset(relevant[key]) for key in judged],
        folder.resolve().name,
        str(folder),
    )


def _read_beir(folder: Path) -> Collection:
    texts, queries = (_read_jsonl(folder / name) for name in ("corpus.jsonl", "queries.jsonl"))
    path = folder / "qrels" / "test.tsv"
    judgments = []
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.split("\t")
        try:
            query, text, score = cells[0], cells[1], float(cells[2])
        except (IndexError, ValueError):
            if number > 1:  # else it is the header
                raise UserError(
                    f"{path}, line {number}: expected query, document and score, found {line[:60]!r}."
                ) from None
        else:
            if score > 0:
                judgments.append((query, text))
    return texts, queries, judgments


def _read_jsonl(path: Path) -> dict[str, str]:
    found = {}
    with path.open("rb") as raw:
        for number, line in enumerate(text_lines(path, raw), start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                    found[str(row["_id"])] = f"{row.get('title') or ''} {row['text']}".strip()
                except (ValueError, KeyError, TypeError, AttributeError):
                    raise UserError(
                        f"{path}, line {number}: expected JSON with _id and text, found {line[:60]!r}."
                    ) from None
    return found


def _read_classic(folder: Path) -> Collection:
    """Cranfield, CISI, CACM and the like: .I number, .T title, .W text; judgments in columns."""
    texts, queries = (
        _read_sections(_find(folder, ".all")),
        _read_sections(_find(folder, "qry", "query")),
    )
    path = _find(folder, "rel")
    rows = [(number, line.split()) for number, line in enumerate(read_lines(path), start=1)]
    is_trec = all(len(row) == 4 and row[1] == "0" for _, row in rows if row)
    judgments = []
    for number, row in rows:
        if not row:
            continue
        try:
            query, text = (str(int(row[place])) for place in ((0, 2) if is_trec else (0, 1)))
            grade = float(row[-1]) if is_trec or len(row) == 3 else 1.0
        except (IndexError, ValueError):
            raise UserError(
                f"{path}, line {number}: expected numbers of a query and a document."
            ) from None
        if grade > 0:
            judgments.append((query, text))
    if not {query for query, _ in judgments} <= queries.keys():
        # Cranfield's judgments count the queries, whose own numbers have gaps.
        queries = {str(place): text for place, text in enumerate(queries.values(), start=1)}
    return texts, queries, judgments


def _find(folder: Path, *words: str) -> Path:
    """The only file whose name contains one of the words."""
    found = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and any(word in path.name.lower() for word in words)
    ]
    if len(found) != 1:
        raise UserError(
            f"{folder} is not a retrieval collection: expected corpus.jsonl, queries.jsonl and qrels/test.tsv, or "
            f"one file each with .all, qry (or query) and rel in its name; {len(found)} have {' or '.join(words)}."
        )
    return found[0]


def _read_sections(path: Path) -> dict[str, str]:
    """Title and text by number."""
    found: dict[str, list[str]] = {}
    section, lines = "", []
    for line in read_lines(path, western=True):
        match = SECTION.fullmatch(line)
        if match is None:
            if section in ("T", "W"):
                lines.append(line.strip())
        elif match["number"]:
            section, lines = "I", found.setdefault(str(int(match["number"])), [])
        else:
            section = match["section"]
    return {number: " ".join(filter(None, lines)) for number, lines in found.items()}
