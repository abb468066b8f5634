"""Training: the input is a recipe, rows of text and a validation, the output a run folder with a trained model."""
