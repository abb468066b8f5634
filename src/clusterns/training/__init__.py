"""Training: a recipe to a run folder."""
