"""What several test modules share: texts, tiny models, processes. Tests import from here, never from tests."""
