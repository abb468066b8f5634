"""What was found: results on disk, tables, comparisons, plots."""
