"""``python -m clusterns`` is the command ``clusterns``."""

from clusterns.cli import main

if __name__ == "__main__":
    main()
