"""The main job on an embedded default: nothing but the package registry is needed."""
