"""Train and prove the gain with nothing but the package: the docstrings of the installed packages come in, a run
folder with two models, their scores and an index for search goes out."""
