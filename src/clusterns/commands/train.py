"""``clusterns train``: train a SentenceTransformer on text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clusterns.commands.options import (
    Changes,
    OptionalPath,
    ReadingOptions,
    Revision,
    Texts,
    as_list,
)
from clusterns.commands.plan import Plan, Trained, plan_run
from clusterns.commands.request import Cli, command_name, function, same_as
from clusterns.console import stdout
from clusterns.encoder.locate import MINIBERT, with_revision
from clusterns.errors import UserError
from clusterns.methods.registry import get_method
from clusterns.settings import Settings
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import Recipe


class RunRequest(ReadingOptions):
    """Options shared by the commands that turn text into a run folder with a model."""

    corpus: Texts = Field(default=(), kw_only=False)
    """Text to learn from: .txt, .md, .markdown, .rst, .html, .htm, .json, .jsonl, .ndjson, .csv, .tsv or .parquet
    files (also .gz, .xz, .bz2, .zst), folders of them, or Hub datasets as owner/name[:config[:split]]. A resumed run
    reads the text that it began with."""
    output: OptionalPath = Field(default=None, kw_only=False)
    """Run folder to write."""
    seed: int | None = same_as(Recipe, "seed")
    settings: Changes = {}
    """Override a setting, such as batch_size=32. May be repeated; `clusterns recipes --keys` explains all settings."""
    revision: Revision = None
    resume: bool = False
    """Resume the run in the output folder, with its text and settings. A finished run returns its result."""

    def estimate(self) -> str:
        """Estimate the cost of the run without writing anything."""
        raise NotImplementedError

    def changes(self, kind: type[Settings]) -> dict[str, Any]:
        """Overrides of the default settings: ``settings``, and the fields that are shortcuts."""
        named = self.model_dump(include=set(kind.model_fields), exclude_none=True)
        named = {key: str(v) if isinstance(v, Path) else v for key, v in named.items()}
        changes = {**self.settings, **named}
        if self.revision is not None:
            changes["base"] = with_revision(str(changes.get("base", MINIBERT)), self.revision)
        return changes


class TrainRequest(RunRequest):
    """Train sentence embeddings from plain text, without labels.

    ```python
    from sentence_transformers import SentenceTransformer

    from clusterns import train

    run = train("corpus.txt", "runs/mine", settings={"max_steps": 200})
    print(run.result.base_score, run.result.best_score)
    model = SentenceTransformer(str(run.model))
    ```

    Ctrl-C and SIGTERM save the run and raise ``clusterns.errors.Interrupted``; ``resume=True`` resumes it.
    """

    base: Annotated[str | Path | None, Cli(str)] = same_as(Recipe, "base")
    recipe: Annotated[str | Path | None, Cli(str)] = None
    """Published recipe (see `clusterns recipes`) or YAML file, whose settings replace the defaults. Default: minibert,
    or default if a base, method or template is chosen."""
    method: str | None = same_as(Recipe, "method")
    dev: Annotated[str | Path | None, Cli(str)] = same_as(Recipe, "dev")

    def plan(self) -> Plan:
        """Validate the request before heavy imports."""
        changes, corpus = self.changes(Recipe), as_list(self.corpus)
        plan = plan_run(corpus, self.output, self.recipe, changes, self.resume)
        method, unused = plan.recipe.method, changes.keys() & plan.recipe.unused_keys()
        if unused and not get_method(method).trains:
            names = ", ".join(sorted(unused))
            raise UserError(f"{names}: method {method} does not train. Remove this setting.")
        return plan

    def run(self) -> Trained:
        return self.plan().run()

    def estimate(self) -> str:
        return self.plan().estimate().summary()


class RunCommand(RunRequest):
    """Options that only the command line has."""

    dry_run: bool = False
    """Read the corpus and estimate the cost, without training or writing anything."""
    report: bool = True
    """Write a report (report.html in the run folder)."""

    def summary(self, run: Trained) -> str:
        """Summarize the result in one or two lines."""
        raise NotImplementedError

    def resume_hint(self) -> str:
        if self.dry_run or self.output is None or not RunFolder(Path(self.output)).is_run:
            return ""  # there is nothing to resume yet
        return f"Resume with: clusterns {command_name(type(self))} --output {self.output} --resume"

    def perform(self) -> None:
        """Run, print a summary, and write the report."""
        result = self.estimate() if self.dry_run else self.run()
        from clusterns.training.processes import processes

        if not processes().is_main_process:
            return
        if isinstance(result, str):
            stdout.print(result, soft_wrap=True)
            return
        # Not wrapped, for copying.
        loading = f'The model is in {result.model}:\n  SentenceTransformer("{result.model}")'
        stdout.print(f"{self.summary(result)}\n{loading}", soft_wrap=True)
        if self.report:
            from clusterns.reports.page import report_after

            if (written := report_after([result.path])) is not None:
                stdout.print(f"Report: {written.resolve().as_uri()}", soft_wrap=True)


class TrainCommand(RunCommand, TrainRequest):
    """Train sentence embeddings from plain text, without labels.

    A first run:  clusterns train corpus.txt --output runs/first

    Estimate the cost:  clusterns train corpus.txt --dry-run

    On a small CPU:  clusterns train corpus.txt --output runs/small --recipe cpu-small

    Resume after an interruption:  clusterns train --output runs/first --resume
    """

    def summary(self, run: Trained) -> str:
        found = run.result
        step = f" (step {found.best_step})" if found.steps else ""
        return f"{found.metric}: {found.base_score:.4f} before, {found.best_score:.4f} after{step}"


train = function(TrainRequest)
