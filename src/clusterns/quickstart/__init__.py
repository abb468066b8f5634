"""The main job on an embedded default: nothing but the package registry is needed."""

from clusterns.quickstart.run import quickstart

__all__ = ["quickstart"]
