"""ESimCSE: repeated sub-words against the bias of length, a queue of earlier batches as negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method, part

if TYPE_CHECKING:
    from clusterns.losses.esimcse import MomentumQueue


@part("queue")
class QueueSettings(Recipe):
    """Sentences of earlier batches as negatives, embedded by a momentum encoder (ESimCSE)."""

    revision: ClassVar[int] = 2  # the momentum encoder follows before it embeds

    queue_batches: float = Field(2.5, gt=0)
    """Length of the queue, in batches."""
    queue_momentum: float = Field(0.995, ge=0, lt=1)
    """Share of its own weights that the momentum encoder keeps in a step."""

    def make_part(self, context: Context) -> MomentumQueue:
        """The queue and its encoder, which starts as a copy of the model."""
        from clusterns.losses.esimcse import MomentumQueue

        size = max(1, round(self.queue_batches * self.batch_size))
        return MomentumQueue(context.model, size, self.queue_momentum)


@method
class ESimCSE(Method):
    """The positive has some sub-words twice, and sentences of earlier batches are negatives too.

    Two views of one sentence are equally long in SimCSE, which then takes length for meaning:
    repetition breaks that. The queue adds negatives without a larger batch.
    """

    name = "esimcse"
    title = "ESimCSE"
    paper = "Wu et al., COLING 2022"
    parts = ("queue",)
    defaults = {"positives": "repetition"}
