"""Export shards to a LanceDB table: vectors, texts, kept columns, a full-text index and a vector index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from clusterns.errors import UserError
from clusterns.vectors.language import Language, detect_language, words_of
from clusterns.vectors.store import Store

MIN_ROWS = 5_000  # for a vector index; fewer are searched exactly
SAMPLE = 10_000  # texts to detect the language from


def write_table(
    store: Store, database: str, name: str, language: str | None = None, overwrite: bool = False
) -> int:
    """Write a table and its indexes; return its number of rows."""
    import lancedb

    if language is not None:
        Language(language)
    found = lancedb.connect(database)
    if not overwrite and name in found.list_tables().tables:
        raise UserError(f"--table {name}: {database} has this table already. Use --overwrite.")
    vector = pa.field("vector", pa.list_(pa.float32(), store.dimension))
    schema = store.schema.append(vector)

    def batches() -> Iterator[pa.RecordBatch]:
        for rows, vectors in store.blocks():
            values = pa.FixedSizeListArray.from_arrays(
                pa.array(vectors.reshape(-1)), store.dimension
            )
            yield from rows.append_column(vector, values).to_batches()

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    table = found.create_table(name, reader, mode="overwrite" if overwrite else "create")
    if "text" in schema.names:
        detected = language or _language_of(store)
        stems = {} if detected == "none" else {"language": detected.capitalize()}
        table.create_fts_index(
            "text", base_tokenizer="icu", stem=bool(stems), remove_stop_words=bool(stems), **stems
        )
    if store.texts >= MIN_ROWS:
        table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_SQ")
    return table.count_rows()


def _language_of(store: Store) -> str:
    rows, _ = store.read(0)
    totals: Counter[str] = Counter()
    for text in rows["text"].slice(0, SAMPLE).to_pylist():
        totals.update(words_of(text))
    return detect_language(totals)
