"""Training. In: a recipe, rows of text, a validation. Out: a run folder with a trained model."""
