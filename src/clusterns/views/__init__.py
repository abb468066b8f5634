"""Views. In: a sentence, and what a method wants to see of it. Out: the tokenized inputs of one training row."""
