"""``clusterns push``: upload a model to the Hugging Face Hub, with its card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from clusterns.commands.options import ModelName
from clusterns.commands.request import Cli, Request, function
from clusterns.console import stdout
from clusterns.encoder.locate import resolve_model
from clusterns.errors import UserError


class PushRequest(Request):
    """Upload the model of a run to the Hugging Face Hub, with its model card.

    clusterns push runs/mine owner/name

    Log in with `hf auth login` first, or set HF_TOKEN.
    """

    model: ModelName = Field(kw_only=False, description="Run folder, or the folder of a model.")
    name: Annotated[str, Cli(argument=True)] = Field(kw_only=False)
    """Name on the Hub: owner/name."""
    private: bool = False
    """Make a new repository private."""
    overwrite: bool = False
    """Upload to an existing repository. Files of the same names are replaced, including the card."""
    branch: str | None = None
    """Branch to upload to. Default: main."""

    def run(self) -> str:
        """Upload the model; returns the address of the commit."""
        folder = Path(resolve_model(str(self.model)))
        if not folder.is_dir():
            raise UserError(f"{self.model} is not a run folder or the folder of a model.")
        owner, _, name = self.name.partition("/")
        if not owner or not name or "/" in name:
            raise UserError(f"{self.name} is not a name on the Hub. Write owner/name.")
        from clusterns.training.card import push_to_hub

        return push_to_hub(
            folder, self.name, private=self.private, overwrite=self.overwrite, branch=self.branch
        )

    def show(self, result: str) -> None:
        """Print the location of the model."""
        stdout.print(result, soft_wrap=True)
        stdout.print(f'Open it with SentenceTransformer("{self.name}").', soft_wrap=True)


push = function(PushRequest)
