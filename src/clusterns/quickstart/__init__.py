"""A demonstration that needs only the package: the docstrings of the installed packages come in; a run folder with two
models, their scores and a search index goes out."""
