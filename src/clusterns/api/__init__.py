"""The commands as functions: what ``clusterns train`` does, from Python."""
