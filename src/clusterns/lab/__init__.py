"""Experiments: small files come in, their trials run on this machine, on Ray or on Slurm.

Tables, comparisons over seeds, figures, records and a page of results go out.
"""
