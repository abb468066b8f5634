"""What a setting of a loss may say; without torch, since settings are checked before it is loaded."""

from typing import Literal

HardNegatives = Literal["second", "nearest", "random", "none"]
FalseNegatives = Literal["margin", "mask", "positives", "none"]
Variant = Literal["paper", "released"]
