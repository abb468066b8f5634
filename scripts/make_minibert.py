"""Make minibert again: a WordPiece vocabulary and a masked language model from a file of sentences.

    python scripts/make_minibert.py sentences.txt minibert/

Two hours on two CPU cores for 6,500 steps. Muon trains the hidden matrices, AdamW the rest. The usual
start of masked-LM training is a long plateau on which the model learns to look at neighbours at all;
sinusoidal positions and first-layer heads that are turned to the neighbouring tokens spare it.
Resumable: run it again after a stop.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import BertWordPieceTokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

VOCABULARY = 12_288
WIDTH, HEADS, LAYERS, POSITIONS = 256, 4, 4, 128
CLS, SEP, MASK, FIRST_WORD = 2, 3, 4, 5
MASKED_SHARE = 0.2
WARMUP, MUON_RATE, ADAM_RATE = 200, 0.02, 2e-3


def tokenise(source: Path, output: Path) -> np.ndarray:
    """Train the vocabulary on ``source`` and keep its tokens as one long row."""
    tokens = output / "tokens.npy"
    if not tokens.exists():
        tokenizer = BertWordPieceTokenizer(lowercase=True)
        tokenizer.train([str(source)], vocab_size=VOCABULARY, min_frequency=2)
        tokenizer.save_model(str(output))
        parts, batch = [], []
        with source.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                batch.append(line.strip())
                if number % 20_000 == 0:
                    parts += _ids(tokenizer, batch)
                    batch = []
        parts += _ids(tokenizer, batch)
        np.save(tokens, np.concatenate(parts))
    return np.load(tokens, mmap_mode="r")


def _ids(tokenizer: BertWordPieceTokenizer, batch: list[str]) -> list[np.ndarray]:
    return [
        np.array(e.ids, np.uint16) for e in tokenizer.encode_batch(batch, add_special_tokens=False)
    ]


@torch.no_grad()
def look_at_neighbours(model: BertForMaskedLM) -> None:
    """Sinusoidal positions, and heads of the first layers that look one to three tokens away."""
    speeds = torch.exp(torch.linspace(0, -math.log(40.0), 32))
    angles = torch.arange(POSITIONS)[:, None] * speeds
    positions = model.bert.embeddings.position_embeddings.weight
    positions.normal_(0, 0.002)
    positions[:, 0:64:2] += 0.057 * angles.sin()
    positions[:, 1:64:2] += 0.057 * angles.cos()
    even = torch.arange(0, 64, 2)
    for layer, offsets in ((0, (-1, 1, -2, 2)), (1, (-1, 1, -3, 3))):
        attention = model.bert.encoder.layer[layer].attention.self
        query, key = attention.query.weight, attention.key.weight
        for head, offset in enumerate(offsets):
            # A query turned by the offset's angle matches the key that many positions away.
            cos, sin, row = torch.cos(speeds * offset), torch.sin(speeds * offset), head * 64
            key[row + even, even] += 0.6
            key[row + even + 1, even + 1] += 0.6
            query[row + even, even] += 0.6 * cos
            query[row + even, even + 1] += 0.6 * sin
            query[row + even + 1, even] -= 0.6 * sin
            query[row + even + 1, even + 1] += 0.6 * cos
    for layer in model.bert.encoder.layer:
        for matrix in (layer.attention.self.value.weight, layer.attention.output.dense.weight):
            nn.init.orthogonal_(matrix, gain=0.7)


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal by a Newton-Schulz iteration."""

    def __init__(self, parameters: list[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": 0.95, "decay": 0.01})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                buffer = self.state[p].setdefault("buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = _orthogonal(p.grad.lerp(buffer, group["momentum"]))
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(update, alpha=-group["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5)


def _orthogonal(matrix: Tensor) -> Tensor:
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


class Batches:
    """Masked windows of the token row: 64 x 64, and every eighth 32 x 128."""

    def __init__(self, tokens: np.ndarray) -> None:
        self.tokens = tokens
        self.orders = {
            length: np.random.default_rng(length).permutation((len(tokens) - 1) // (length - 2))
            for length in (64, 128)
        }

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        length, rows = (128, 32) if step % 8 == 7 else (64, 64)
        order = self.orders[length]
        starts = np.take(order, range(step * rows, step * rows + rows), mode="wrap") * (length - 2)
        windows = np.stack([self.tokens[s : s + length - 2] for s in starts]).astype(np.int64)
        ids = F.pad(torch.from_numpy(windows), (1, 1))
        ids[:, 0], ids[:, -1] = CLS, SEP
        chosen = torch.rand(ids.shape) < MASKED_SHARE
        chosen[:, 0] = chosen[:, -1] = False
        labels = ids[chosen]
        fate = torch.rand(ids.shape)
        ids[chosen & (fate < 0.8)] = MASK
        other = chosen & (fate >= 0.9)
        ids[other] = torch.randint(FIRST_WORD, VOCABULARY, (int(other.sum()),))
        return ids, chosen, labels


def pretrain(tokens: np.ndarray, output: Path, steps: int) -> BertForMaskedLM:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY, num_hidden_layers=LAYERS, hidden_size=WIDTH, num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH, max_position_embeddings=POSITIONS, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = BertForMaskedLM(config).train()
    look_at_neighbours(model)
    hidden = [p for n, p in model.named_parameters() if "encoder.layer" in n and p.ndim == 2]
    others = [p for p in model.parameters() if all(p is not h for h in hidden)]
    muon = Muon(hidden, MUON_RATE)
    adam = torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    state_file, first = output / "state.pt", 0
    if state_file.exists():
        state = torch.load(state_file, weights_only=True)
        model.load_state_dict(state["model"])
        muon.load_state_dict(state["muon"])
        adam.load_state_dict(state["adam"])
        torch.set_rng_state(state["random"])
        first = state["step"]
    batches = Batches(tokens)
    for step in range(first, steps):
        warm = (step + 1) / WARMUP if step < WARMUP else 1 - (step - WARMUP) / (steps - WARMUP)
        for optimizer, rate in ((muon, MUON_RATE), (adam, ADAM_RATE)):
            for group in optimizer.param_groups:
                group["lr"] = rate * max(0.0, warm)
        ids, chosen, labels = batches(step)
        # Only the masked positions go through the head.
        loss = F.cross_entropy(model.cls(model.bert(ids)[0][chosen]), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(others, 1.0)
        muon.step()
        adam.step()
        model.zero_grad(set_to_none=True)
        if (step + 1) % 50 == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
        if (step + 1) % 500 == 0:
            state = {"model": model.state_dict(), "muon": muon.state_dict(), "adam": adam.state_dict(),
                     "random": torch.get_rng_state(), "step": step + 1}  # fmt: skip
            torch.save(state, state_file.with_suffix(".partial"))
            state_file.with_suffix(".partial").replace(state_file)
    # Trained without dropout; whoever fine-tunes it contrastively needs it.
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.1
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path, help="one sentence a line, UTF-8")
    parser.add_argument("output", type=Path)
    parser.add_argument("--steps", type=int, default=6500)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    tokens = tokenise(arguments.source, arguments.output)
    model = pretrain(tokens, arguments.output, arguments.steps)
    model.half().save_pretrained(arguments.output)
    BertTokenizer(
        str(arguments.output / "vocab.txt"), do_lower_case=True, model_max_length=POSITIONS
    ).save_pretrained(arguments.output)


if __name__ == "__main__":
    main()
