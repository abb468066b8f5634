"""One self-contained html page about a run, or about several side by side."""
