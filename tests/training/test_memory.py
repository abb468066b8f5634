from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import Tensor, nn

from clusterns.errors import UserError
from clusterns.training import memory
from clusterns.training.build import build, build_model, build_views
from clusterns.training.folder import RunFolder
from clusterns.training.memory import Memory, check_memory, estimate_memory
from clusterns.training.recipe import Recipe, load_recipe
from clusterns.training.run import train
from tests.helpers.models import Scripted
from tests.helpers.texts import sentences

CPU, GPU = torch.device("cpu"), torch.device("cuda")
GIB = 2**30


def dataset(count: int) -> Dataset:
    return Dataset.from_dict({"text": sentences(count, words=(3, 20))})


def recipe(base: Path, **changes: Any) -> Recipe:
    values = {"base": str(base), "batch_size": 64, "clusters": 4, "pooling": "cls"}
    return load_recipe("default", {**values, **changes})


def estimated(chosen: Recipe) -> Memory:
    return estimate_memory(build(chosen, dataset(512)))


def activations(found: Memory, chosen: Recipe) -> float:
    """The part of the estimate that was measured; the tiny encoder's vectors have 32 numbers."""
    n, views = chosen.batch_size, len(build_views(chosen))
    compared = 4 * (memory.VECTORS * views * n * 32 + memory.MATRICES * n**2)
    trained = sum(p.numel() for p in build_model(chosen).parameters() if p.requires_grad)
    always = memory.FIRST_STEP + memory.BYTES_PER_PARAMETER * trained + compared
    return (found.step - always) / memory.OVERHEAD


def test_kept_bytes_are_what_the_backward_pass_needs() -> None:
    class Tanh(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 16))

        def forward(self, rows: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"out": (rows["input_ids"] @ self.weight).tanh().reshape(-1).tanh()}

    # Of each row the input and both results of tanh; not the weight, and no view of a result.
    assert memory._kept_bytes(Tanh(), {"input_ids": torch.randn(3, 8)}) == 4 * (8 + 2 * 16)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"masked_lm_weight": 0.1},
        {"positives": "crop", "pooling": "mean"},
        {"mini_batch_size": 16},
        {"method": "esimcse", "parts": ["clustering"]},
        {"method": "sncse", "parts": ["clustering"], "pooling": "auto"},
        {"method": "conpvp", "parts": ["clustering"], "pooling": "auto"},
        {"precision": "bf16"},
    ],
)
def test_the_estimate_is_near_what_a_whole_batch_keeps(changes: dict, tiny_bert: Path) -> None:
    chosen = recipe(tiny_bert, **changes)
    setup = build(chosen, dataset(400))
    parameters = setup.model.train().parameters()
    weights = {parameter.untyped_storage().data_ptr() for parameter in parameters}
    saved: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    batch = [{"text": text} for text in setup.texts[: chosen.batch_size]]
    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        memory.precision(chosen, CPU),
    ):
        value = setup.loss(setup.columns(batch))
    assert value.requires_grad
    found = estimate_memory(setup)
    assert activations(found, chosen) == pytest.approx(sum(saved.values()), rel=0.25)


def test_rows_sorted_by_length_are_padded_less() -> None:
    mask = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    assert memory._padded(mask, 1) == 1
    assert memory._padded(mask, 2) == (2 * 2 + 2 * 4) / 16
    assert memory._padded(mask, 4) == memory._padded(mask, 9) == (1 + 2 + 3 + 4) / 16


def test_memory_grows_with_the_batch_and_not_with_the_cache(tiny_bert: Path) -> None:
    of_64, of_512 = (recipe(tiny_bert, batch_size=size) for size in (64, 512))
    small, large = estimated(of_64), estimated(of_512)
    # More mini-batches are padded less.
    assert 6 < activations(large, of_512) / activations(small, of_64) < 8
    of_vectors = 4 * (512 - 64) * 2 * 32 * memory.VECTORS
    of_matrices = 4 * (512**2 - 64**2) * memory.MATRICES
    grown = large.cached - small.cached  # and the longest of more rows is longer
    assert grown == pytest.approx(of_vectors + of_matrices, rel=0.15)
    assert large.cached < large.step
    with_cache = estimated(recipe(tiny_bert, batch_size=512, gradient_cache=True))
    assert with_cache.step == with_cache.cached == large.cached


def test_estimating_changes_nothing(tiny_bert: Path) -> None:
    chosen = recipe(tiny_bert, start_step=1, masked_lm_weight=0.1)
    setup = build(chosen, dataset(99))
    model, loss = setup.model.eval(), setup.loss
    before = {key: value.clone() for key, value in model.state_dict().items()}
    state = torch.get_rng_state()
    estimate_memory(setup)
    assert torch.equal(torch.get_rng_state(), state)
    (part,) = loss.parts.values()
    assert (part.step, part.started_at, loss.components) == (0, None, {})
    assert not model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])


NEEDS = Memory(held=GIB, step=10 * GIB, cached=2 * GIB, free=4 * GIB)


CACHE = "set gradient_cache=true (about 2.0 GiB), or lower batch_size."
LOWER = "lower mini_batch_size, max_length or batch_size."


@pytest.mark.parametrize(
    ("changes", "free", "device", "remedy", "refused"),
    [
        ({}, 10 * GIB, CPU, "", False),
        ({}, None, CPU, "", False),
        ({}, 4 * GIB, CPU, CACHE, True),
        ({"gradient_cache": False}, 4 * GIB, CPU, CACHE, True),
        ({"gradient_cache": True}, 4 * GIB, CPU, LOWER, True),
        ({}, GIB, CPU, LOWER, True),  # the cache would not fit either
        ({"check_memory": False}, 4 * GIB, CPU, CACHE, False),
        ({}, 4 * GIB, GPU, CACHE, False),
    ],
)
def test_a_step_that_does_not_fit_is_refused_on_a_cpu_with_the_remedy_and_else_a_warning(
    changes: dict, free: int | None, device: torch.device, remedy: str, refused: bool,
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    chosen, needs = recipe(tiny_bert, **changes), dataclasses.replace(NEEDS, free=free)
    (tmp_path / "recipe.yaml").write_text(chosen.to_yaml())
    text = "a step of batch_size = 64 needs about 10.0 GiB of memory, and {} GiB are free: {}"
    expected = text.format(f"{(free or 0) / GIB:.1f}", remedy) if remedy else ""
    for each in (chosen, load_recipe(str(tmp_path / "recipe.yaml"))):  # however it came to be
        if refused:
            with pytest.raises(UserError) as error:
                check_memory(each, needs, device)
            assert str(error.value) == f"{expected} To try anyway, set check_memory=false."
        else:
            check_memory(each, needs, device)
            said = capsys.readouterr().err
            assert " ".join(said.split()) == (f"Warning: {expected}" if expected else "")


def test_a_run_that_does_not_fit_writes_nothing(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1000)
    with pytest.raises(UserError, match="GiB of memory, and 0.0 GiB are free"):
        train(recipe(tiny_bert), dataset(100), Scripted([0.5]), RunFolder(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory"),
     RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")],
    ids=["GPU", "CPU"],
)  # fmt: skip
def test_memory_that_runs_out_is_one_clear_sentence(error: RuntimeError, tiny_bert: Path) -> None:
    for changes, remedy in (
        ({}, "set gradient_cache=true, or lower batch_size"),
        ({"gradient_cache": True}, "lower mini_batch_size"),
    ):
        with (
            pytest.raises(UserError, match=f"does not fit into memory: {remedy}"),
            memory.memory_errors(recipe(tiny_bert, **changes)),
        ):
            raise error
    with pytest.raises(RuntimeError, match="shapes"), memory.memory_errors(recipe(tiny_bert)):
        raise RuntimeError("shapes do not match")  # other errors stay what they are


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands where the system says which limits hold this process."""
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "LIMITS", tmp_path)
    return tmp_path


V1, V2 = ("memory.limit_in_bytes", "memory.usage_in_bytes"), ("memory.max", "memory.current")


@pytest.mark.parametrize(
    ("lines", "limits", "free"),
    [
        ("0::/job/step\n", {
            "job/step": (V2, "max", 500, "inactive_file 0"),
            "job": (V2, "9000", 6000, "anon 5000\ninactive_file 700\nactive_file 300"),
        }, 4000),
        ("5:devices:/x\n4:memory:/x\n0::/\n", {
            "memory/x": (V1, "9000", 6000, "inactive_file 1\ntotal_inactive_file 50"),
        }, 3050),
    ],
    ids=["today", "the older layout"],
)  # fmt: skip
def test_free_memory_minds_the_limit_of_a_container(
    lines: str, limits: dict[str, Any], free: int, groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (groups / "cgroup").write_text(lines)
    for group, (names, most, used, stat) in limits.items():
        (groups / group).mkdir(parents=True, exist_ok=True)
        for name, text in zip((*names, "memory.stat"), (most, used, stat), strict=True):
            (groups / group / name).write_text(f"{text}\n")
    assert memory.free_bytes(CPU) == free
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert memory.free_bytes(CPU) == free // 2


def test_without_a_limit_the_machines_memory_counts(groups: Path) -> None:
    free = memory.free_bytes(CPU)
    assert free is not None
    assert 2**20 < free < 2**50
    assert memory.held_bytes(CPU) > 2**20
    assert memory.free_bytes(torch.device("meta")) is None
