"""The main job on an embedded default: nothing but the package registry is needed."""

from clusterns.quickstart.run import RECIPE, quickstart

__all__ = ["RECIPE", "quickstart"]
