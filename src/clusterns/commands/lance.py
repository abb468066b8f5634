"""``clusterns lance``: write shards of embeddings to a LanceDB table, for data beyond one machine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import Field

from clusterns.commands.request import Cli, Request, function
from clusterns.console import log, stdout
from clusterns.errors import UserError
from clusterns.vectors.store import Store


class LanceRequest(Request):
    """Write the shards of `clusterns encode` to a LanceDB table, with a full-text and a vector index.

    The table has the columns id, text, vector, source and line, and the kept columns. Words are split by ICU, so
    that scripts without spaces are found as well. Needs `pip install "clusterns[lance]"`.

    clusterns lance vectors lancedb
    """

    vectors: Annotated[str | Path, Cli(Path, argument=True)] = Field(kw_only=False)
    """Folder that `clusterns encode` wrote."""
    database: Annotated[str, Cli(argument=True)] = Field(kw_only=False)
    """Database to write to: a folder, or an address such as s3://bucket/path."""
    table: str = "texts"
    """Name of the table."""
    overwrite: bool = False
    """Replace the table if it exists."""
    language: str | None = None
    """Language for stemming and stop words, such as german; none uses neither. Default: detected from the text."""

    def run(self) -> int:
        """Write the table and return its number of rows."""
        store = Store.open(Path(self.vectors))
        if find_spec("lancedb") is None:
            raise UserError("LanceDB is not installed. Run `pip install 'clusterns[lance]'`.")
        from clusterns.vectors.lance import write_table

        rows = write_table(store, self.database, self.table, self.language, self.overwrite)
        log(f"Wrote {rows:,} rows to the table {self.table} in {self.database}.")
        return rows

    def show(self, result: int) -> None:
        """Print how to search the table."""
        stdout.print(
            f"import lancedb\ntable = lancedb.connect({self.database!r}).open_table({self.table!r})\n"
            'hits = table.search(query_type="hybrid").vector(model.encode_query(query)).text(query)'
            ".to_list()",
            soft_wrap=True,
        )


lance = function(LanceRequest)
