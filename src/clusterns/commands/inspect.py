"""``clusterns inspect``: show a text as a model sees it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterns.commands.options import Json, NamedModel
from clusterns.commands.request import Cli, function, same_as
from clusterns.console import print_json, stdout
from clusterns.encoder.locate import check_model
from clusterns.vectors.settings import Loading

if TYPE_CHECKING:
    from clusterns.encoder.inspect import Inspection


class InspectRequest(NamedModel):
    """Show the tokens of a text, which of them are pooled and how, and what is truncated."""

    text: Annotated[str, Cli(argument=True)] = Field(kw_only=False)
    """Text to inspect."""
    pooling: str | None = same_as(Loading, "pooling")
    max_length: int | None = same_as(Loading, "max_length")
    prompt_name: str | None = same_as(Loading, "prompt_name")

    def run(self) -> Inspection:
        """Open the model and tokenize the text."""
        check_model(str(self.model), self.pooling)
        from clusterns.encoder.inspect import inspect_text
        from clusterns.encoder.load import load_model

        model = load_model(
            str(self.model), self.pooling, self.max_length, "cpu", prompt_name=self.prompt_name
        )
        return inspect_text(model, self.text)


class InspectCommand(InspectRequest):
    """Show the tokens of a text, which of them are pooled and how, and what is truncated.

    clusterns inspect runs/first "A text as the model sees it"
    """

    as_json: Json = False

    def show(self, result: Inspection) -> None:
        """Print a summary and a row per token."""
        if self.as_json:
            print_json({**asdict(result), "template": result.template})
            return
        from rich.table import Table

        pooled = [str(i) for i, piece in enumerate(result.pieces) if piece.pooled]
        positions = f"position {pooled[0]}" if len(pooled) == 1 else f"{len(pooled)} positions"
        limit = "" if result.limit is None else f" of at most {result.limit:,}"
        cut = "not truncated"
        if result.cut_tokens:
            cut = f"{result.cut_tokens} tokens are truncated: {result.cut}"
        for line in (
            f"template: {result.template}",
            f"pooling:  {result.pooling}, {positions}",
            f"length:   {len(result.pieces)} tokens{limit}; {cut}",
        ):
            stdout.print(line, soft_wrap=True)
        table = Table("position", "token", "part", "pooled", box=None, pad_edge=False)
        for position, piece in enumerate(result.pieces):
            table.add_row(str(position), piece.token, piece.part, "pooled" if piece.pooled else "")
        stdout.print(table)


inspect = function(InspectRequest)
