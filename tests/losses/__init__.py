import pytest

# by_hand is not a test file: without this, its failed assertions would show no values.
pytest.register_assert_rewrite("tests.losses.by_hand")
