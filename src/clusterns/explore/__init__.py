"""What people open: near-duplicates, topics, the explorer in the browser, the report of a run."""
