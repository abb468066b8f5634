"""ESimCSE: repeated sub-words against the length bias, a queue of earlier batches as negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import PartSettings
from clusterns.methods.registry import method, part

if TYPE_CHECKING:
    from clusterns.losses.esimcse import MomentumQueue


@part("queue")
class QueueSettings(PartSettings):
    """Sentences of earlier batches as negatives, embedded by a momentum encoder (ESimCSE)."""

    revision: ClassVar[int] = 2  # the momentum encoder is updated before it embeds

    queue_batches: float = Field(2.5, gt=0)
    """Length of the queue in batches."""
    queue_momentum: float = Field(0.995, ge=0, lt=1)
    """Share of its own weights that the momentum encoder keeps in a step."""

    def make_part(self, context: Context) -> MomentumQueue:
        """Make the queue and its encoder, which starts as a copy of the model."""
        from clusterns.losses.esimcse import MomentumQueue

        size = max(1, round(self.queue_batches * context.recipe.batch_size))
        return MomentumQueue(self, context.model, size)


@method
class ESimCSE(Method):
    """The positive repeats some sub-words, and sentences of earlier batches are negatives too.

    The two views of a sentence are equally long in SimCSE, which then mistakes length for meaning;
    repetition prevents that. The queue adds negatives without a larger batch.
    """

    name = "esimcse"
    title = "ESimCSE"
    paper = "Wu et al., COLING 2022"
    parts = ("queue",)
    defaults = {"positives": "repetition"}
