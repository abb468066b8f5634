"""What is said before a training is true of its method."""

from __future__ import annotations

import pytest

from clusterns.api.beforehand import say_documents
from clusterns.training.recipe import load_recipe


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"method": "simcse"}, True),
        ({"method": "clusterns"}, True),
        ({"method": "simcse", "positives": "document"}, False),  # it is so already
        ({"method": "dclr"}, False),  # these refuse it
        ({"method": "sncse"}, False),
        ({"method": "whitening"}, False),
    ],
)
def test_neighbours_as_positives_are_named_to_methods_that_take_them(
    settings: dict[str, str], told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    say_documents(load_recipe("default", settings))
    assert ("positives=document" in capsys.readouterr().err) is told
