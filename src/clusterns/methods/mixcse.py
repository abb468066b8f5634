"""MixCSE: hard negatives mixed from a sentence's own positive and another sentence's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import PartSettings
from clusterns.methods.registry import method, part

if TYPE_CHECKING:
    from clusterns.losses.mixcse import MixedNegatives


@part("mixing")
class MixingSettings(PartSettings):
    """Hard negatives that mix a little of a sentence's own positive into another one (MixCSE)."""

    mixed_share: float = Field(0.2, gt=0, lt=1)
    """Share of a sentence's own positive in its mixed negative (lambda)."""
    mixed_both_sides: bool = False
    """Also mix the anchors, against all positives: the second block of the released code."""

    def make_part(self, context: Context) -> MixedNegatives:
        """Make the mixed negatives."""
        from clusterns.losses.mixcse import MixedNegatives

        return MixedNegatives(self)


@method
class MixCSE(Method):
    """Negatives are mixed from two sentences' positives, so that some of them are always hard.

    They are one fifth of a sentence's own positive and four fifths of the next one's: similar enough
    to have an effect when all other negatives have become easy.
    """

    name = "mixcse"
    title = "MixCSE"
    paper = "Zhang et al., AAAI 2022"
    parts = ("mixing",)
