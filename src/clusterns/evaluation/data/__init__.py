"""Where the sets of the evaluation come from: catalogue, readers, the Hub, one's own files."""
