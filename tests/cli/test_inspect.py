from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.cli import main
from clusterns.encoder.prompt import prompt_encoder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("sys.argv", ["clusterns", "inspect", *arguments])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_inspect_shows_tokens_template_cut_and_pooled_position(
    tiny_bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prompt_encoder(str(tiny_bert), "bert").save_pretrained(str(tmp_path / "model"))
    assert run(monkeypatch, str(tmp_path / "model"), "a [bold] town " * 30) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'template: [CLS] this sentence of " {sentence} " means [MASK] . [SEP]'
    assert lines[1] == "pooling:  lasttoken, position 61"
    assert lines[2].startswith("length:   64 tokens of at most 64; ")
    assert "tokens are cut off: " in lines[2]
    assert lines[4 + 61].split() == ["61", "[MASK]", "template", "pooled"]
    assert any(line.split()[1:3] == ["bold", "sentence"] for line in lines)


def test_a_plain_encoder_needs_its_pooling(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, str(tiny_bert), "one") == 2
    assert "--pooling" in capsys.readouterr().err
    assert run(monkeypatch, str(tiny_bert), "one", "--pooling", "mean") == 0
    assert "mean, 3 positions" in capsys.readouterr().out
