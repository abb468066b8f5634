from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.commands.inspect import InspectRequest
from clusterns.commands.train import TrainRequest
from clusterns.encoder.prompt import prompt_encoder
from clusterns.errors import UserError
from clusterns.training.recipe import Recipe
from tests.helpers.commands import run_cli


def test_inspect_shows_tokens_template_cut_and_pooled_position(
    tiny_bert: Path, tmp_path: Path
) -> None:
    prompt_encoder(str(tiny_bert), "bert").save_pretrained(str(tmp_path / "model"))
    code, out, err = run_cli("inspect", tmp_path / "model", "a [bold] town " * 30)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == 'template: [CLS] this sentence of " {sentence} " means [MASK] . [SEP]'
    assert lines[1] == "pooling:  lasttoken, position 61"
    assert lines[2].startswith("length:   64 tokens of at most 64; ")
    assert "tokens are truncated: " in lines[2]
    assert lines[4 + 61].split() == ["61", "[MASK]", "template", "pooled"]
    assert any(line.split()[1:3] == ["bold", "sentence"] for line in lines)


def test_a_plain_encoder_needs_its_pooling(tiny_bert: Path) -> None:
    code, _, err = run_cli("inspect", tiny_bert, "one")
    assert code == 2
    assert "--pooling" in err
    code, out, _ = run_cli("inspect", tiny_bert, "one", "--pooling", "mean")
    assert code == 0
    assert "mean, 3 positions" in out


def test_a_revision_becomes_part_of_the_name() -> None:
    request = InspectRequest(model="owner/name", text="a", revision="v1")
    assert request.model == "owner/name@v1"
    assert InspectRequest.model_validate_json(request.model_dump_json()) == request
    changes = TrainRequest(base="owner/name", revision="v1").changes(Recipe)
    assert changes == {"base": "owner/name@v1"}
    for refused in (
        lambda: InspectRequest(model="minibert", text="a", revision="v1"),
        lambda: TrainRequest(revision="v1").changes(Recipe),
    ):
        with pytest.raises(UserError, match="--revision v1 requires the name of a Hub model"):
            refused()
