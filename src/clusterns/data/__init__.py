"""Text to rows: read, clean and deduplicate a corpus of any size."""
