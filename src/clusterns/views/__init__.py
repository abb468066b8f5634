"""Views: how a sentence becomes the inputs of one training row."""
