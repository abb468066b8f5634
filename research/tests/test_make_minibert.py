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
    monkeypatch.syspath_prepend(str(ROOT / "research"))
    import make_minibert

    monkeypatch.setattr(make_minibert.os, "nice", lambda increment: 0)
    monkeypatch.setattr(make_minibert, "LINE_EVERY", 2)
    monkeypatch.setattr(make_minibert, "SAVE_SECONDS", 0)
    threads = torch.get_num_threads()
    yield make_minibert
    torch.set_num_threads(threads)
    sys.modules.pop("make_minibert")


@pytest.mark.parametrize("words", [[], ["--words", "5", "--lengths", "16", "32"]])
def test_a_stopped_run_ends_as_one_that_was_not(script, tmp_path, monkeypatch, words):
    source = tmp_path / "sentences.txt"
    source.write_text("\n".join(SENTENCES), "utf-8")
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    options = ["--from", str(MINIBERT), "--steps", "6", "--decay", "3", "--batch", "256"]
    options += ["--threads", "1", "--held-out", str(source), *words]
    script.main([str(source), str(whole), *options])

    real, calls = script.losses, iter(range(100))

    def killed(model, batch, *words):
        # Sixteen measurements first; then in the fourth step, one past the last state.
        if model.training and torch.is_grad_enabled() and next(calls) == 3:
            raise KeyboardInterrupt
        return real(model, batch, *words)

    monkeypatch.setattr(script, "losses", killed)
    with pytest.raises(KeyboardInterrupt):
        script.main([str(source), str(stopped), *options])
    monkeypatch.setattr(script, "losses", real)
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


def test_the_summaries_of_a_window_are_held_to_the_vectors_of_its_words(script):
    model = script.first_model(MINIBERT).eval()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 1000, (3, 12), generator=generator)
    words = torch.randn(script.VOCABULARY, script.MEANING, generator=generator)
    chosen = torch.zeros(3, 12, dtype=torch.bool)
    for row, place in ((0, 2), (0, 7), (2, 4)):
        chosen[row, place] = True
    own = torch.tensor([11, 12, 13])
    with torch.no_grad():
        states = model.bert(ids)[0]
        places = [(0, 2), (0, 7), (2, 4)]
        wrong = [
            -model.cls(states[place]).log_softmax(-1)[token].item()
            for place, token in zip(places, own, strict=True)
        ]
        cosines = []
        for row in range(3):
            text = ids[row].clone()
            text[chosen[row]] = own[[place[0] == row for place in places]]
            meant = torch.zeros(256)
            for token in text:
                meant[: script.MEANING] += words[token]
            cosines += [torch.cosine_similarity(meant, states[row].mean(0), dim=0).item()]
            cosines += [torch.cosine_similarity(meant, states[row, 0], dim=0).item()]
        masked, apart = script.losses(model, (ids, chosen, own), words)
        assert masked.item() == pytest.approx(sum(wrong) / 3, rel=1e-5)
        assert apart.item() == pytest.approx(1 - sum(cosines) / 6, rel=1e-5)
        assert script.losses(model, (ids, chosen, own))[1] == 0


def test_with_word_vectors_the_mean_state_begins_as_their_sum(script):
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(script.VOCABULARY, script.MEANING, generator=generator)
    words = torch.nn.functional.normalize(words)
    words *= torch.rand(script.VOCABULARY, 1, generator=generator)
    model = script.first_model(None, words).eval()
    with torch.no_grad():
        ids = torch.randint(5, script.VOCABULARY, (4, 10), generator=generator)
        meant = torch.nn.functional.pad(words[ids].sum(1), (0, 256 - script.MEANING))
        assert torch.cosine_similarity(model.bert(ids)[0].mean(1), meant).min() > 0.95
        model.bert.encoder.layer[-1].output.LayerNorm.weight.fill_(1)  # nothing is hidden
        assert torch.cosine_similarity(model.bert(ids)[0].mean(1), meant).max() < 0.8


def test_word_vectors_equal_plain_loops(script, monkeypatch):
    import minibert_words

    monkeypatch.setattr(minibert_words, "WINDOW", 2)
    monkeypatch.setattr(minibert_words, "RARE", 0.1)
    random = np.random.default_rng(0)
    tokens = random.integers(5, 12, 300).astype(np.uint16)
    tokens[::4] = 7  # a frequent word
    counts = np.zeros((13, 13))
    for here, word in enumerate(tokens):
        for there in range(max(0, here - 2), min(300, here + 3)):
            counts[word, tokens[there]] += there != here
    np.testing.assert_array_equal(minibert_words.cooccurrences(tokens, 13).toarray(), counts)
    each = counts.sum(1)
    scores = np.zeros((13, 13))
    for row, column in zip(*counts.nonzero(), strict=True):
        context = each[column] ** 0.75 / (each**0.75).sum()
        scores[row, column] = max(0, np.log(counts[row, column] / (each[row] * context)))
    found = minibert_words.mutual_information(minibert_words.cooccurrences(tokens, 13))
    np.testing.assert_allclose(found.toarray(), scores)

    vectors = minibert_words.word_vectors(tokens, 13, 4)
    lengths = np.linalg.norm(vectors, axis=1)
    expected = [
        0.1 / (0.1 + (tokens == word).mean()) if word in tokens else 0 for word in range(13)
    ]
    np.testing.assert_allclose(lengths, expected, rtol=1e-5)
    left, values, _ = np.linalg.svd(scores)
    assert values[3] > values[4] + 1e-3, "no gap: the directions are not determined"
    directions = left[:, :4] / np.linalg.norm(left[:, :4], axis=1, keepdims=True).clip(1e-9)
    own = vectors[5:12] / lengths[5:12, None]
    np.testing.assert_allclose(own @ own.T, directions[5:12] @ directions[5:12].T, atol=1e-4)


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
