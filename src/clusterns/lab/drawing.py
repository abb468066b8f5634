"""What can be drawn: declarations only, see :mod:`clusterns.lab.figures`."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from clusterns.settings import Settings


class Drawing(Settings):
    """A picture of an experiment."""

    kind: Literal["curves", "against", "geometry", "dots"]
    """curves over the steps, a value against a setting, alignment and uniformity, or a value as dots."""
    values: list[str] = []
    """What is drawn: of a curve, keys of metrics.jsonl; else one value, such as `sts/Avg.`."""
    rows: list[str] = []
    """Of which rows. Empty: all."""
    setting: str = ""
    """The setting of the grid that is on the horizontal axis (against)."""
    label: str = ""
    """Of the vertical axis."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Drawing:
        if self.kind != "geometry" and not self.values:
            raise ValueError(f"a figure of kind {self.kind} needs values.")
        if self.kind in ("against", "dots") and len(self.values) > 1:
            raise ValueError(f"a figure of kind {self.kind} has one value.")
        if self.kind == "against" and not self.setting:
            raise ValueError("a figure of kind against needs a setting.")
        return self
