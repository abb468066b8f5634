"""Views of a sentence. In: a sentence and the views that a method needs. Out: tokenized inputs of a training row."""
