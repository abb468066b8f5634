"""Make minibert: a masked language model from a file of sentences, from nothing or from weights.

    python research/make_minibert.py sentences.txt work/ --steps 6500
    python research/make_minibert.py sentences.txt work/ --from minibert/ --steps 4000 --decay 1500

Meant to run for hours behind other work: it lowers its own priority, waits passively and can be killed
at any moment; the same command goes on exactly from the last state. The learning rate warms up, stays,
and falls to nothing over the last ``--decay`` steps, so a stopped run may go on with another end.
Muon trains the hidden matrices, AdamW the rest. The usual start of masked-LM training is a long plateau
on which the model learns to look at neighbours at all; from nothing, sinusoidal positions and first-layer
heads that are turned to the neighbouring tokens spare it. With ``--words``, it begins with word vectors
from the same text as its embeddings, and its mean state goes on to say what a text is about.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM

from minibert_muon import Muon
from minibert_text import POSITIONS, VOCABULARY, Batches, keep, tokenise, vocabulary
from minibert_words import word_vectors

WIDTH, HEADS, LAYERS = 256, 4, 4
# A state is what a word means, where it stands, and which word it is.
MEANING, PLACE = 160, 48
NAME = WIDTH - MEANING - PLACE
WARMUP, MUON_RATE, ADAM_RATE, WORD_RATE = 200, 0.01, 2e-3, 3e-4
# Of a word's vector, next to positions of about 0.3; and what the last LayerNorm leaves of all but the meaning.
WORD_LENGTH, HIDDEN = 0.45, 0.03
LINE_EVERY, HELD_OUT_EVERY, SAVE_SECONDS = 50, 500, 120


@torch.no_grad()
def look_at_neighbours(model: BertForMaskedLM) -> None:
    """Sinusoidal positions, and heads of the first layers that look one to three tokens away."""
    speeds = torch.exp(torch.linspace(0, -math.log(40.0), PLACE // 2))
    angles = torch.arange(POSITIONS)[:, None] * speeds
    positions = model.bert.embeddings.position_embeddings.weight
    positions.normal_(0, 0.002)
    even = torch.arange(0, PLACE, 2)
    place = MEANING + even
    positions[:, place] += 0.057 * angles.sin()
    positions[:, place + 1] += 0.057 * angles.cos()
    # LayerNorm would take the mean from all numbers, those of the meaning too.
    positions[:, MEANING : MEANING + PLACE] -= positions.sum(1, keepdim=True) / PLACE
    for layer, offsets in ((0, (-1, 1, -2, 2)), (1, (-1, 1, -3, 3))):
        attention = model.bert.encoder.layer[layer].attention.self
        query, key = attention.query.weight, attention.key.weight
        for head, offset in enumerate(offsets):
            # A query turned by the offset's angle matches the key that many positions away.
            cos, sin = torch.cos(speeds * offset), torch.sin(speeds * offset)
            row = head * (WIDTH // HEADS) + even
            key[row, place] += 0.6
            key[row + 1, place + 1] += 0.6
            query[row, place] += 0.6 * cos
            query[row, place + 1] += 0.6 * sin
            query[row + 1, place] -= 0.6 * sin
            query[row + 1, place + 1] += 0.6 * cos
    for layer in model.bert.encoder.layer:
        for matrix in (layer.attention.self.value.weight, layer.attention.output.dense.weight):
            nn.init.orthogonal_(matrix, gain=0.7)


@torch.no_grad()
def put_words(model: BertForMaskedLM, words: Tensor) -> None:
    """Word vectors as embeddings, so that the mean state says what a text is about from the first step on.

    LayerNorm makes all words equally long. So what a word's weight leaves of length 1 goes into its name, a random
    direction: frequent words mean little and must be told apart all the same. The last LayerNorm hides names and
    places, and the layers add to these alone at first.
    """
    rest = (1 - words.square().sum(1, keepdim=True)).clamp(min=0).sqrt()
    names = torch.randn(len(words), NAME)
    # LayerNorm would take the mean from all numbers.
    names = F.normalize(names - names.mean(1, keepdim=True))
    embeddings = torch.cat([F.pad(words, (0, PLACE)), rest * names], 1)
    model.bert.embeddings.word_embeddings.weight.copy_(WORD_LENGTH * embeddings)
    model.bert.embeddings.token_type_embeddings.weight.zero_()
    model.bert.encoder.layer[-1].output.LayerNorm.weight[MEANING:] = HIDDEN
    for layer in model.bert.encoder.layer:
        for part in (layer.attention.output.dense, layer.output.dense):
            part.weight[:MEANING] = 0


Batch = tuple[Tensor, Tensor, Tensor]


def losses(
    model: BertForMaskedLM, batch: Batch, words: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy at the chosen places, only they go through the head; and how far the mean state of a
    window and its first one are from the sum of the vectors of its words, masked ones too: the mean of
    1 - cosine over both."""
    ids, chosen, own = batch
    states = model.bert(ids)[0]
    masked = F.cross_entropy(model.cls(states[chosen]), own)
    if words is None:
        return masked, masked.new_zeros(())
    meant = F.pad(words[ids.masked_scatter(chosen, own)].sum(1), (0, WIDTH - MEANING))
    summaries = torch.stack([states.mean(1), states[:, 0]])
    return masked, 1 - F.cosine_similarity(summaries, meant, dim=-1).mean()


def meanings(tokens: np.ndarray, kept: Path) -> Tensor:
    """The vectors of the words of the text; ``kept`` on disk."""
    if not kept.exists():
        keep(word_vectors(tokens, VOCABULARY, MEANING), kept)
    return torch.from_numpy(np.load(kept))


def first_model(start: Path | None, words: Tensor | None = None) -> BertForMaskedLM:
    """In single precision and without dropout."""
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if start:
        return BertForMaskedLM.from_pretrained(start, dtype=torch.float32, **quiet)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY, num_hidden_layers=LAYERS, hidden_size=WIDTH, num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH, max_position_embeddings=POSITIONS, **quiet,
    )  # fmt: skip
    model = BertForMaskedLM(config)
    look_at_neighbours(model)
    if words is not None:
        put_words(model, words)
    return model


class Metrics:
    """``metrics.jsonl``: a line every few steps; lines past the state that is resumed are dropped."""

    def __init__(self, file: Path, step: int, batch: int) -> None:
        self.file, self.batch, self.losses, self.since = file, batch, [], time.monotonic()
        lines = file.read_text().splitlines() if file.exists() else []
        kept = [line for line in lines if json.loads(line)["step"] <= step]
        file.write_text("".join(line + "\n" for line in kept))

    def line(self, step: int, rate: float, **more: float) -> None:
        now, steps = time.monotonic(), len(self.losses)
        entry = {"step": step, "tokens": step * self.batch, "rate": rate, **more}
        if steps:
            entry["loss"] = round(sum(self.losses) / steps, 4)
            entry["tokens_per_second"] = round(steps * self.batch / (now - self.since))
        with self.file.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(entry, flush=True)
        self.losses, self.since = [], now

    def curve(self) -> None:
        from matplotlib.figure import Figure

        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        figure = Figure(figsize=(6, 4.5), layout="constrained")
        # Apart: with --words, what is trained is more than what is held out.
        above, below = figure.subplots(2, sharex=True)
        for axes, name, title in (
            (above, "loss", "loss in training"),
            (below, "held_out", "masked-LM loss, held out"),
        ):
            points = [(e["tokens"] / 1e6, e[name]) for e in lines if name in e]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", markersize=3)
            axes.set_ylabel(title)
        below.set_xlabel("million tokens")
        figure.savefig(self.file.with_name("curve.png"), dpi=120)


def pretrain(
    batches: Batches, held_out: Batches | None, arguments: argparse.Namespace
) -> BertForMaskedLM:
    words = meanings(batches.tokens, arguments.output / "words.npy") if arguments.words else None
    model = first_model(arguments.start, words).train()
    hidden = [p for n, p in model.named_parameters() if "encoder.layer" in n and p.ndim == 2]
    others = [p for p in model.parameters() if all(p is not h for h in hidden)]
    muon = Muon(hidden, MUON_RATE)
    # Embeddings that mean something from the beginning need not go far.
    table = model.bert.embeddings.word_embeddings.weight
    groups = [
        {"params": [p for p in others if p is not table], "full": ADAM_RATE},
        {"params": [table], "full": WORD_RATE if arguments.words else ADAM_RATE},
    ]
    adam = torch.optim.AdamW(groups, lr=ADAM_RATE, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    parts = {"model": model, "muon": muon, "adam": adam}
    state_file, first = arguments.output / "state.pt", 0
    if state_file.exists():
        state = torch.load(state_file, weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        first = state["step"]
    metrics = Metrics(arguments.output / "metrics.jsonl", first, batches.size)
    saved = time.monotonic()

    def measure(step: int, rate: float) -> None:
        more = {}
        if held_out and (step % HELD_OUT_EVERY == 0 or step == arguments.steps):
            with torch.no_grad():
                found = [losses(model, held_out(n), words) for n in range(16)]
            more["held_out"] = round(sum(masked.item() for masked, _ in found) / len(found), 4)
            if words is not None:
                more["cosine"] = round(1 - sum(apart.item() for _, apart in found) / len(found), 4)
        metrics.line(step, rate, **more)

    if first == 0:
        measure(0, 0.0)
    for step in range(first, arguments.steps):
        rate = arguments.rate * min(
            1, (step + 1) / WARMUP, (arguments.steps - step) / arguments.decay
        )
        muon.param_groups[0]["lr"] = MUON_RATE * rate
        for group in adam.param_groups:
            group["lr"] = group["full"] * rate
        masked, apart = losses(model, batches(step), words)
        loss = masked + arguments.words * apart
        loss.backward()
        nn.utils.clip_grad_norm_(others, 1.0)
        muon.step()
        adam.step()
        model.zero_grad(set_to_none=True)
        metrics.losses.append(loss.item())
        done = step + 1
        if done % LINE_EVERY == 0 or done == arguments.steps:
            measure(done, round(rate, 5))
            # At a line's end only: the mean of the next line is then whole after a resume.
            if time.monotonic() - saved > SAVE_SECONDS or done == arguments.steps:
                partial = state_file.with_suffix(".partial")
                torch.save({**{n: p.state_dict() for n, p in parts.items()}, "step": done}, partial)
                partial.replace(state_file)
                saved = time.monotonic()
    metrics.curve()
    return model


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path, help="one sentence a line, UTF-8")
    parser.add_argument("output", type=Path, help="folder for the state, the metrics and the model")
    parser.add_argument(
        "--from", dest="start", type=Path, metavar="FOLDER", help="weights to go on from"
    )
    parser.add_argument("--steps", type=int, default=6500)
    parser.add_argument(
        "--decay", type=int, default=3000, help="last steps, over which the rate falls"
    )
    parser.add_argument("--rate", type=float, default=1.0, help="share of the full learning rates")
    parser.add_argument(
        "--words", type=float, default=0.0, metavar="WEIGHT",
        help="begin with word vectors, made from the co-occurrences in the same text, as embeddings, and hold the "
        "mean and the first state of a window to the vectors of its words with this weight",
    )  # fmt: skip
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[64, 128], help="tokens of the windows, in turn"
    )
    parser.add_argument("--held-out", type=Path, help="sentences that only measure")
    parser.add_argument("--seed", type=int, default=0, help="order of the windows, and masks")
    parser.add_argument("--batch", type=int, default=4096, help="tokens of a step")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args(given)
    os.nice(19)
    torch.set_num_threads(arguments.threads)
    output = arguments.output
    output.mkdir(parents=True, exist_ok=True)
    vocabulary(arguments.source, arguments.start, output)
    tokenizer = Tokenizer.from_file(str(output / "tokenizer.json"))

    def masked(source: Path, name: str, seed: int) -> Batches:
        tokens = tokenise(source, tokenizer, output / name)
        return Batches(tokens, tokenizer, seed, arguments.batch, arguments.lengths)

    batches = masked(arguments.source, "tokens.npy", arguments.seed)
    held_out = masked(arguments.held_out, "held_out.npy", 0) if arguments.held_out else None
    model = pretrain(batches, held_out, arguments)
    # Trained without dropout; whoever fine-tunes it contrastively needs it.
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.1
    model.half().save_pretrained(output)


if __name__ == "__main__":
    main()
