"""MixCSE: hard negatives mixed from a sentence's own positive and somebody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method, part

if TYPE_CHECKING:
    from clusterns.losses.mixcse import MixedNegatives


@part("mixing")
class MixingSettings(Recipe):
    """A little of one's own positive in somebody else's, as hard negatives (MixCSE)."""

    mixed_share: float = Field(0.2, gt=0, lt=1)
    """Share of a sentence's own positive in its mixed negative (lambda)."""
    mixed_both_sides: bool = False
    """Mix the anchors as well, against all positives: the second block of the released code."""

    def make_part(self, context: Context) -> MixedNegatives:
        """The mixed negatives of a batch."""
        from clusterns.losses.mixcse import MixedNegatives

        return MixedNegatives(self.mixed_share, both_sides=self.mixed_both_sides)


@method
class MixCSE(Method):
    """Negatives are mixed from two sentences' positives, so that some of them are always hard.

    A fifth of one's own positive and four fifths of the next one's: near enough to matter when all
    other negatives have become easy.
    """

    name = "mixcse"
    title = "MixCSE"
    paper = "Zhang et al., AAAI 2022"
    parts = ("mixing",)
