"""Methods that do not train: an encoder as it is, word vectors, and maps fitted to frozen vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from clusterns.data.split import evenly_spaced, select_texts
from clusterns.encoder.settings import Average
from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import ContrastiveSettings, Recipe, TrainingSettings
from clusterns.methods.registry import method
from clusterns.settings import Settings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# The training settings that also apply without training.
USED = {"batch_size", "dev", "heldout", "max_sentences", "seed"}
OTHERS_UNUSED = {
    "positives", "crop_min", "repetition_rate", "positive_template", "denoising", "head", "dropout",
    "max_length", "train_layers",
}  # fmt: skip


class UntrainedSettings(Settings):
    """Settings of a method that does not train."""

    def unused_keys(self) -> set[str]:
        """Most training settings."""
        training = {*TrainingSettings.model_fields, *ContrastiveSettings.model_fields}
        return super().unused_keys() | (training - USED) | OTHERS_UNUSED


class Untrained(Method):
    """A method that creates its model without training."""

    trains = False
    settings: type[Settings] = UntrainedSettings

    def check(self, recipe: Recipe) -> None:
        """Refuse a template that would not be used."""
        if recipe.template:
            raise ValueError(f"template does not go with method {self.name}: choose method prompt.")

    def encoder(self, recipe: Recipe, base: str) -> SentenceTransformer:
        """The base with its pooling, to compare the run with."""
        from clusterns.encoder.load import load_base

        return load_base(base, recipe.pooling)


class AverageSettings(UntrainedSettings):
    """Settings of the average."""

    average: Average = "embedding-last-avg"
    """cls, mean (of the last layer), first-last-avg, embedding-last-avg (as in papers' tables), embedding-avg, ..."""


@method
class Averages(Untrained):
    """The encoder as it is: the mean of its token states, or the state of one token.

    The papers' "average of BERT" (56.70 on STS) averages the static embeddings and the last layer;
    the average of the first and the last layer scores higher.
    """

    name = "average"
    title = "Average of states"
    paper = "Reimers and Gurevych, EMNLP 2019"
    settings = AverageSettings

    def make(self, context: Context) -> SentenceTransformer:
        """The base with this average."""
        from clusterns.encoder.load import averaged_encoder

        assert isinstance(context.recipe, AverageSettings)
        return averaged_encoder(context.recipe.base, context.recipe.average)


@method
class UntunedPrompt(Untrained):
    """The sentence in a template; the state of the template's mask is its vector.

    Published: 67.85 on STS with BERT-base and this template, without training. The template with
    `of`, which is better in training, scores far lower.
    """

    name = "prompt"
    title = "Untuned prompt"
    paper = "Jiang et al., EMNLP 2022"
    needs = "a base with a mask token"
    defaults = {"template": 'This sentence : "{sentence}" means {mask}.'}

    def check(self, recipe: Recipe) -> None:
        """Require a template."""
        if not recipe.template:
            raise ValueError(
                "method prompt needs a template: leave the setting out to use the published one."
            )

    def make(self, context: Context) -> SentenceTransformer:
        """The base in the template."""
        from clusterns.encoder.prompt import prompt_encoder

        assert context.recipe.templates is not None
        return prompt_encoder(context.recipe.base, context.recipe.templates[0])


class GloVeSettings(UntrainedSettings):
    """Settings of averaged word vectors."""

    path_keys: ClassVar[tuple[str, ...]] = ("word_vectors",)

    word_vectors: str = ""
    """File of word vectors in GloVe's text format, plain or gzipped."""
    stop_words: bool = True
    """Leave out English stop words, as the tokenizer of the published number does."""


@method
class GloVe(Untrained):
    """A sentence is the mean of the vectors of its words, without stop words.

    Published: 61.32 on STS with 300 dimensions (Sentence-BERT's table).
    """

    name = "glove"
    title = "Averaged word vectors"
    paper = "Pennington et al., EMNLP 2014"
    needs = "a file of word vectors"
    settings = GloVeSettings

    def check(self, recipe: Recipe) -> None:
        """Require a file."""
        assert isinstance(recipe, GloVeSettings)
        if not recipe.word_vectors:
            raise ValueError("method glove needs word_vectors, a file such as glove.6B.300d.txt.")
        if not Path(recipe.word_vectors).is_file():
            raise ValueError(f"word_vectors = {recipe.word_vectors}: there is no such file.")

    def make(self, context: Context) -> SentenceTransformer:
        """The file of word vectors as a model."""
        from clusterns.encoder.word_vectors import load_word_vectors

        assert isinstance(context.recipe, GloVeSettings)
        path = Path(context.recipe.word_vectors)
        model = load_word_vectors(path, stop_words=context.recipe.stop_words, quiet=context.quiet)
        model.model_card_data.model_name = f"{path.name}, averaged"
        return model


class FittedSettings(UntrainedSettings):
    """Settings of a map that is fitted to the vectors of a frozen encoder."""

    average: Average = "first-last-avg"
    """Vectors to fit: mean (of the last layer), first-last-avg, ..."""
    fit_length: int = Field(64, ge=4)
    """Tokens per sentence that the fit reads; the saved model keeps the base's own limit."""
    fit_sentences: int | None = Field(None, ge=2)
    """Number of sentences to fit, evenly spaced over the corpus. Empty: all."""

    def sample(self, texts: Sequence[str]) -> Sequence[str]:
        """The sentences to fit."""
        if self.fit_sentences is None or self.fit_sentences >= len(texts):
            return texts
        return select_texts(texts, evenly_spaced(len(texts), self.fit_sentences))


class WhiteningSettings(FittedSettings):
    """Settings of BERT-whitening."""

    dimensions: int | None = Field(None, ge=1)
    """Number of directions to keep, those of the largest variance. Empty: all that vary."""
    variance_floor: float = Field(0.0, ge=0, lt=1)
    """Raise smaller variances to this share of the largest; 0 is the published method, 1e-4 suits small encoders."""


@method
class Whitening(Untrained):
    """A linear map makes the covariance of the corpus's vectors the identity; nothing is trained.

    Directions shared by all sentences no longer outweigh the others in the cosine. Published: 66.28
    on STS with BERT-base, fitted to NLI sentences, all 768 dimensions.
    """

    name = "whitening"
    title = "BERT-whitening"
    paper = "Su et al., arXiv:2103.15316, 2021"
    needs = "more sentences than dimensions"
    settings = WhiteningSettings

    def make(self, context: Context) -> SentenceTransformer:
        """The base followed by a linear layer."""
        from clusterns.encoder.load import averaged_encoder
        from clusterns.encoder.whitening import whiten

        recipe = context.recipe
        assert isinstance(recipe, WhiteningSettings)
        return whiten(
            averaged_encoder(recipe.base, recipe.average),
            recipe.sample(context.texts),
            recipe.dimensions,
            floor=recipe.variance_floor,
            max_length=recipe.fit_length,
            batch_size=recipe.batch_size,
            quiet=context.quiet,
        )


class FlowSettings(FittedSettings):
    """Settings of BERT-flow."""

    flow_learning_rate: float = Field(1e-3, gt=0)
    """Learning rate of Adam (constant)."""
    flow_epochs: float = Field(1.0, gt=0)
    """Passes over the sentences to fit."""


@method
class FlowMethod(Untrained):
    """A normalizing flow over the frozen encoder makes the corpus's vectors normally distributed.

    Three levels of three steps of activation norm, reversal and additive coupling are fitted by
    maximum likelihood. Published: 66.55 on STS with BERT-base, fitted to NLI sentences with an
    unpublished batch size. The saved map is a chain of linear and ReLU layers, 75 MB at 768
    dimensions.
    """

    name = "flow"
    title = "BERT-flow"
    paper = "Li et al., EMNLP 2020"
    needs = "a base whose width is divisible by 8"
    settings = FlowSettings

    def make(self, context: Context) -> SentenceTransformer:
        """The base followed by the layers of the fitted flow."""
        from clusterns.encoder.flow import fit_flow
        from clusterns.encoder.load import averaged_encoder

        recipe = context.recipe
        assert isinstance(recipe, FlowSettings)
        return fit_flow(
            averaged_encoder(recipe.base, recipe.average),
            recipe.sample(context.texts),
            learning_rate=recipe.flow_learning_rate,
            epochs=recipe.flow_epochs,
            seed=recipe.seed,
            max_length=recipe.fit_length,
            batch_size=recipe.batch_size,
            quiet=context.quiet,
        )
