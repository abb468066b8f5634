"""Fields shared by several requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from annotated_types import Ge, Le
from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from clusterns.commands.request import Cli, Request, same_as
from clusterns.data.settings import CorpusSettings, Unit
from clusterns.encoder.locate import with_revision
from clusterns.errors import UserError
from clusterns.settings import parse_value
from clusterns.vectors.settings import EncodeSettings, Loading, check_device_name

if TYPE_CHECKING:
    from clusterns.explorer.corpus import EmbeddedCorpus

MODEL_HELP = (
    "Run folder, SentenceTransformer (folder or Hub name), plain Transformers encoder (needs a pooling; minibert is "
    "inside this package), or text file of word vectors in GloVe's format."
)


def as_list(value: str | Path | Sequence[str | Path] | None) -> list[str]:
    """One or several names as a list."""
    if value is None:
        return []
    return [str(value)] if isinstance(value, str | Path) else [str(each) for each in value]


def as_paths(value: str | Path | Sequence[str | Path] | None) -> list[Path]:
    """One or several names as a list of paths."""
    return [Path(name) for name in as_list(value)]


def check_suffixes(
    option: str, files: str | Path | Sequence[str | Path] | None, *known: str
) -> None:
    """Refuse files with an unknown extension before any work."""
    for file in as_paths(files):
        if file.suffix.lower() not in known:
            raise UserError(f"{option} {file}: the extension must be {' or '.join(known)}.")


def parse_pairs(option: str, read: Callable[[str], Any] = parse_value) -> Callable[[Any], Any]:
    """Build a validator that parses ``KEY=VALUE`` strings of the command line; mappings pass."""

    def parse(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        pairs = {}
        for pair in value:
            key, equals, text = str(pair).partition("=")
            if not equals or not key.strip():
                raise UserError(f"{option} {pair}: write KEY=VALUE.")
            try:
                pairs[key.strip()] = read(text)
            except yaml.YAMLError:
                raise UserError(f"{option} {pair}: cannot read the value {text!r}.") from None
        return pairs

    return parse


# One or several files; validation turns them into a list of strings with as_list.
Files = Annotated[
    str | Path | Sequence[str | Path],
    BeforeValidator(as_list),
    PlainSerializer(as_list),
    Cli(list[str]),
]
Texts = Annotated[Files, Cli(list[str], argument=True)]
ModelName = Annotated[str | Path, Field(description=MODEL_HELP), Cli(str, argument=True)]
OutputFolder = Annotated[str | Path, Cli(Path)]
OptionalPath = Annotated[str | Path | None, Cli(Path)]
Changes = Annotated[
    Mapping[str, Any],
    BeforeValidator(parse_pairs("--set")),
    Cli(list[str], ("--set",), metavar="KEY=VALUE"),
]
Device = Annotated[str | None, AfterValidator(lambda name: name and check_device_name(name))]
Devices = Annotated[Files, AfterValidator(lambda names: [check_device_name(n) for n in names])]
TopicCount = Annotated[
    int | None,
    Ge(1),
    Le(1000),
    Field(description="Number of topics. Default: chosen from the text."),
]
Json = Annotated[bool, Field(description="Print the result as JSON."), Cli(names=("--json",))]


TEXT_HELP = (
    "Text: files, folders or Hub datasets, or a folder that `clusterns encode` wrote. "
    "Default: the corpus of the run."
)
OptionalTexts = Annotated[Texts, Field(description=TEXT_HELP)]


class TextOptions(Request):
    """How tables are read."""

    column: str | None = same_as(CorpusSettings, "column")


class ReadingOptions(TextOptions):
    """How text is read; None: as in the recipe."""

    document: str | None = same_as(CorpusSettings, "document")
    split_sentences: bool | None = same_as(CorpusSettings, "split_sentences")
    min_words: int | None = same_as(CorpusSettings, "min_words")


Revision = Annotated[
    str | None,
    Field(
        description="Revision of a Hub model: branch, tag or commit. Short for owner/name@revision."
    ),
]


class NamedModel(Request):
    """The model to load."""

    model: ModelName = Field(kw_only=False)
    revision: Revision = None

    @model_validator(mode="before")
    @classmethod
    def _name_has_its_revision(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("revision") is None:
            return values
        return {**values, "model": with_revision(str(values["model"]), values["revision"])}


class EncoderOptions(Loading, NamedModel):
    """The model to load, with its options."""

    @property
    def loading(self) -> Loading:
        """The options that embeddings depend on."""
        return Loading(**self.model_dump(include=set(Loading.model_fields)))


class ModelOptions(EncoderOptions):
    """The model to load, with its options and device."""

    device: Device = None
    """Device: cpu, cuda, cuda:1, mps, ... Default: the best one available."""


class CorpusOptions(ModelOptions, TextOptions):
    """How a corpus is read and encoded."""

    unit: Unit = same_as(EncodeSettings, "unit", "row")
    batch_size: Annotated[int, Ge(1)] = 32
    """Batch size."""

    def open(self, corpus: Sequence[str], **more: Any) -> EmbeddedCorpus:
        """Load the model and embed the corpus, unless its embeddings are stored."""
        from clusterns.explorer.corpus import open_corpus

        return open_corpus(
            str(self.model), corpus, self.loading, column=self.column,
            unit=self.unit, device=self.device, batch_size=self.batch_size, **more,
        )  # fmt: skip
