"""Making minibert: masked windows, and a run that was stopped ends as one that was not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

import clusterns.encoder

ROOT = Path(__file__).parents[2]
MINIBERT = Path(clusterns.encoder.__file__).parent / "minibert"
SENTENCES = [
    f"the {i}th extraordinary watercourse meets the river near bridge {i}." for i in range(400)
]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import make_minibert

    monkeypatch.setattr(make_minibert.os, "nice", lambda increment: 0)
    monkeypatch.setattr(make_minibert, "LINE_EVERY", 2)
    monkeypatch.setattr(make_minibert, "SAVE_SECONDS", 0)
    threads = torch.get_num_threads()
    yield make_minibert
    torch.set_num_threads(threads)
    sys.modules.pop("make_minibert")


def test_a_stopped_run_ends_as_one_that_was_not(script, tmp_path, monkeypatch):
    source = tmp_path / "sentences.txt"
    source.write_text("\n".join(SENTENCES), "utf-8")
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    options = ["--from", str(MINIBERT), "--steps", "6", "--decay", "3", "--batch", "256"]
    options += ["--threads", "1", "--held-out", str(source)]
    script.main([str(source), str(whole), *options])

    real, calls = script.masked_loss, iter(range(100))

    def killed(model, batch, *whole):
        # Sixteen measurements first; then in the fourth step, one past the last state.
        if model.training and torch.is_grad_enabled() and next(calls) == 3:
            raise KeyboardInterrupt
        return real(model, batch, *whole)

    monkeypatch.setattr(script, "masked_loss", killed)
    with pytest.raises(KeyboardInterrupt):
        script.main([str(source), str(stopped), *options])
    monkeypatch.setattr(script, "masked_loss", real)
    script.main([str(source), str(stopped), *options])

    expected, found = (load_file(folder / "model.safetensors") for folder in (whole, stopped))
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    start = load_file(MINIBERT / "model.safetensors")
    name = "bert.encoder.layer.0.output.dense.weight"
    assert found[name].dtype == torch.float16
    assert not torch.equal(found[name], start[name])
    lines = [
        [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for folder in (whole, stopped)
    ]
    for line in lines[0] + lines[1]:
        line.pop("tokens_per_second", None)
    assert lines[0] == lines[1]
    assert [line["step"] for line in lines[0]] == [0, 2, 4, 6]
    assert "held_out" in lines[0][0]
    assert "held_out" in lines[0][-1]
    assert (stopped / "curve.png").exists()


def test_masked_words_are_predicted_from_the_whole_window_too(script):
    model = script.first_model(MINIBERT).eval()
    ids = torch.randint(5, 1000, (3, 12), generator=torch.Generator().manual_seed(0))
    chosen = torch.zeros(3, 12, dtype=torch.bool)
    for row, place in ((0, 2), (0, 7), (2, 4)):
        chosen[row, place] = True
    own = torch.tensor([11, 12, 13])
    with torch.no_grad():
        states = model.bert(ids)[0]

        def wrong(state, token):
            return -model.cls(state).log_softmax(-1)[token].item()

        rows = [0, 0, 2]
        at_place = [wrong(states[r, p], t) for r, p, t in zip(rows, (2, 7, 4), own, strict=True)]
        of_mean = [wrong(states[r].mean(0), t) for r, t in zip(rows, own, strict=True)]
        of_first = [wrong(states[r, 0], t) for r, t in zip(rows, own, strict=True)]
        expected = (sum(at_place) + 0.5 * sum(of_mean) + 0.5 * sum(of_first)) / 3
        found = script.masked_loss(model, (ids, chosen, own), 0.5).item()
        assert found == pytest.approx(expected, rel=1e-5)
        assert script.masked_loss(model, (ids, chosen, own)).item() == pytest.approx(
            sum(at_place) / 3, rel=1e-5
        )


def test_words_are_masked_whole_and_special_tokens_never(script):
    import minibert_text

    tokenizer = Tokenizer.from_file(str(MINIBERT / "tokenizer.json"))
    tokens = minibert_text._ids(tokenizer, SENTENCES)
    batches = minibert_text.Batches(tokens, tokenizer, seed=0, size=1024)
    goes_on = {n for piece, n in tokenizer.get_vocab().items() if piece.startswith("##")}
    for step in (0, 1):
        ids, chosen, own = batches(step)
        assert ids.shape == (1024 // ids.size(1), (64, 128)[step])
        original = ids.clone()
        original[chosen] = own
        assert not chosen[:, [0, -1]].any()
        assert original[:, 0].eq(minibert_text.CLS).all()
        assert original[:, -1].eq(minibert_text.SEP).all()
        assert 0.1 < chosen.float().mean() < 0.3
        pieces = 0
        for row in range(ids.size(0)):
            for place in range(2, ids.size(1) - 1):
                if int(original[row, place]) in goes_on:
                    pieces += 1
                    assert chosen[row, place] == chosen[row, place - 1]
        assert pieces
        again = batches(step)
        assert torch.equal(ids, again[0])
        rows = {tuple(row[1:-1].tolist()) for row in original}
        windows = np.lib.stride_tricks.sliding_window_view(tokens, ids.size(1) - 2)
        assert rows <= {tuple(window.tolist()) for window in windows}
