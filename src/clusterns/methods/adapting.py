"""What methods that adapt a good model share: how far from its start it may end.

What lies between the two is compared on text that was not learned from. A share of the way is allowed
where enough of what the start knew is kept; of those that are, the best for the purpose is taken. The start
itself is always allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from clusterns.methods.fitted import Untrained
from clusterns.methods.method import Ending
from clusterns.methods.recipe import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# Names of what the judge of an adaptation measures.
KEPT, KEPT_GENERAL = "kept", "kept_general"
# What decides among the models that are allowed, whatever its name in the log.
PURPOSE = "purpose"
GAINS = {"topics": "common neighbours", "search": "MRR of search"}


class AdaptingSettings(Recipe):
    """How far an adapted model may go from its start."""

    places: ClassVar[tuple[str, ...]] = ("general",)

    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (0.25, 0.5, 0.75, 1.0)
    """How far of the way from the start to what was learned the final model may lie."""
    keep: float = Field(0.99, ge=0, le=1)
    """On general text, similarities must agree with the start's at least so far (Spearman)."""
    keep_own: float = Field(0.9, ge=0, le=1)
    """The same on held-out text of the domain, where they are meant to change."""
    general: str = ""
    """A file of general text that is to stay as it is. Empty: random words of the base's vocabulary."""


class Adapting(Untrained):
    """A method that starts from a good sentence encoder and must not harm it."""

    settings: type[Recipe] = AdaptingSettings
    purpose: str
    """What the result is for: topics or search."""

    def finish(self, ending: Ending) -> tuple[SentenceTransformer, dict[str, Any]]:
        """The best allowed model on the way from the start to what was learned."""
        from clusterns.console import log

        recipe = ending.recipe
        assert isinstance(recipe, AdaptingSettings)
        decides = str(ending.evaluator.primary_metric)
        judged = self.judged(ending, [0.0, *sorted(set(recipe.shares))])
        measured = {
            share: {PURPOSE: found[decides], **{key: found[key] for key in (KEPT, KEPT_GENERAL)}}
            for share, found in judged.items()
        }
        refused = {
            share: why for share, found in measured.items() if (why := refusal(recipe, found))
        }
        chosen = choose(measured, refused)
        log(told(self.purpose, measured, refused, chosen))
        facts = {
            "purpose": self.purpose,
            "share": chosen,
            "measured": {str(share): found for share, found in measured.items()},
            "refused": {str(share): why for share, why in refused.items()},
        }
        return self.on_the_way(ending.start, ending.model, chosen), facts

    def judged(self, ending: Ending, shares: Sequence[float]) -> dict[float, Mapping[str, float]]:
        """What the judge says of the models on the way, by their share of it."""
        raise NotImplementedError

    def on_the_way(
        self, start: SentenceTransformer, made: SentenceTransformer, share: float
    ) -> SentenceTransformer:
        """The model that lies ``share`` of the way from the start to what was made of it; 0 is the start."""
        raise NotImplementedError


def refusal(recipe: AdaptingSettings, found: Mapping[str, float]) -> str:
    """Why a model on the way is not allowed; empty where it is."""
    # Written so that what is not a number is refused.
    if not found[KEPT_GENERAL] >= recipe.keep:
        return f"general text: {found[KEPT_GENERAL]:.3f} kept, keep = {recipe.keep:g}"
    if not found[KEPT] >= recipe.keep_own:
        return f"own text: {found[KEPT]:.3f} kept, keep_own = {recipe.keep_own:g}"
    return ""


def choose(measured: Mapping[float, Mapping[str, float]], refused: Mapping[float, str]) -> float:
    """The share with the highest score for the purpose of those that are allowed; of equal ones, and
    where none gains, the smallest: 0 is the start."""
    allowed = [share for share in sorted(measured) if share == 0 or share not in refused]
    return max(allowed, key=lambda share: (measured[share][PURPOSE], -share))


def told(
    purpose: str,
    measured: Mapping[float, Mapping[str, float]],
    refused: Mapping[float, str],
    chosen: float,
) -> str:
    """What was gained, given up and refused, a line for each share."""
    lines = [f"share of the way   {GAINS[purpose]:>17}   kept of own text   kept of general text"]
    for share, found in sorted(measured.items()):
        verdict = "  <- taken" if share == chosen else ""
        if share and share in refused:
            verdict = f"  refused, {refused[share]}"
        lines.append(
            f"{share:>16.2f}   {found[PURPOSE]:>17.3f}   {found[KEPT]:>16.3f}   "
            f"{found[KEPT_GENERAL]:>20.3f}{verdict}"
        )
    return "\n".join(lines)


def in_words(facts: Mapping[str, Any]) -> str:
    """What became of an adaptation, in a sentence or two."""
    share, found = facts["share"], facts["measured"][str(facts["share"])]
    if share == 0:
        return "The model is left as it was: nothing on the way was both a gain and harmless."
    words = (
        f"Adapted for {facts['purpose']}: the model lies {share:.0%} of the way from the start to what was "
        f"learned. Similarities agree with the start's to {found[KEPT]:.3f} on your text and to "
        f"{found[KEPT_GENERAL]:.3f} on general text."
    )
    before = facts["measured"]["0.0"][PURPOSE]
    if facts["purpose"] == "search":
        words += " A held-out sentence finds its document, MRR:"
    else:
        words += " Neighbours that both halves of a held-out sentence have in common:"
    return f"{words} {before:.3f} before, {found[PURPOSE]:.3f} after."
