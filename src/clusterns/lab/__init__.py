"""Run experiments from small files: their trials run on this machine, on Ray or on Slurm.

The output is tables, comparisons over seeds, figures, records and a page of results.
"""
