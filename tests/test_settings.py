"""A wrong setting is refused in one sentence that names the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from clusterns.errors import UserError
from clusterns.settings import Settings, validated


class Row(Settings):
    seeds: int = 1


class Plan(Settings):
    rows: dict[str, Row] = {}
    figures: tuple[Row, ...] | None = None
    budget: str


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"budgte": "s"}, "there is no setting 'budgte'. Did you mean budget?"),
        ({"budget": "s", "rows": {"A": {"seds": 3}}}, "'rows.A.seds'. Did you mean seeds?"),
        ({"budget": "s", "figures": [{"sed": 3}]}, "'figures.0.sed'. Did you mean seeds?"),
        ({"budget": "s", "rows": {"A": {"seeds": "x"}}}, "rows.A.seeds = 'x': input should be"),
        ({}, "budget is missing"),
    ],
)
def test_a_wrong_key_or_value_is_named_wherever_it_is(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        validated(Plan, values, "plan")
    assert message in str(error.value)
