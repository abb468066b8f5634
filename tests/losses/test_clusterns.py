from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from clusterns.losses import part as part_module
from clusterns.losses.clusterns import Clustering, ClusterNSLoss, make_clustering
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.functional import global_centroids
from clusterns.losses.part import Batch
from clusterns.methods.clusterns import ClusteringSettings
from tests.helpers.vectors import SETTINGS, D, N, Vectors, batches, features
from tests.losses.oracle import Oracle, cosine


@pytest.mark.parametrize("elements", [2**18, 5 * N], ids=["whole", "5, 5 and 2 anchors at a time"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_every_setting_equals_the_slow_oracle_through_several_steps(
    settings: dict, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_module, "MAX_ELEMENTS", elements)
    settings = {"sigma": 0.9, "momentum": 0.05, "clusters": 4, "margin_weight": 0.1, **settings}
    if settings.get("start_step"):
        settings.pop("sigma")
    seed = 7
    loss = ClusterNSLoss(Vectors(), seed=seed, **settings).double()
    first = int(torch.randint(N, (1,), generator=torch.Generator().manual_seed(seed)))
    drawn = settings.get("random_clusters") or settings.get("hard_negatives") == "random"
    random = {"random_seed": seed} if drawn else {}
    oracle = Oracle(first=first, **settings, **random)
    members_seen = 0
    for anchors, positives in batches():
        ours = loss([features(anchors), features(positives)])
        our_gradients = torch.autograd.grad(ours, [anchors, positives])
        theirs = oracle(anchors, positives)
        their_gradients = torch.autograd.grad(theirs, [anchors, positives])
        assert ours.item() == pytest.approx(theirs.item(), abs=1e-9)
        for a, b in zip(our_gradients, their_gradients, strict=True):
            torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-9)
        if oracle.centroids is not None:
            torch.testing.assert_close(
                loss.centroids, torch.stack(oracle.centroids), atol=1e-9, rtol=1e-9
            )
            members_seen += sum(
                oracle.ranking(a)[0] == oracle.ranking(b)[0]
                for a in anchors.detach() for b in anchors.detach()
            ) - N  # fmt: skip
    assert loss.clustering.started_at == oracle.started_at is not None
    assert members_seen > 0, "no cluster ever had two members: the test shows nothing"


def started(centroids: Tensor, **settings: Any) -> Clustering:
    chosen = ClusteringSettings(clusters=len(centroids), **settings)
    part = make_clustering(chosen, centroids.shape[1])
    part.start(centroids)
    return part


def test_update_moves_only_the_clusters_that_have_members() -> None:
    part = started(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), momentum=0.25)
    part.update(torch.tensor([[2.0, 0.0], [4.0, 0.4]]))
    # Members of the first: mean (3, 0.2); a quarter of the way from (1, 0).
    expected = torch.tensor([[1.5, 0.05], [0.0, 1.0], [-1.0, -1.0]])
    torch.testing.assert_close(part.centroids, expected)


def test_the_released_code_adds_the_sum() -> None:
    start = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    part = started(start, momentum=0.25, variant="released")
    part.update(torch.tensor([[2.0, 0.0], [4.0, 0.4]]))
    torch.testing.assert_close(part.centroids[0], torch.tensor([0.75 + 0.25 * 6, 0.25 * 0.4]))


def test_nearest_and_second_with_ties_are_two_different_centroids() -> None:
    similarities, nearest, second = started(torch.ones(3, 2)).neighbors(torch.ones(4, 2))
    assert (nearest != second).all()
    torch.testing.assert_close(similarities, torch.ones(4, 3))


@pytest.mark.parametrize("started_at", [None, 0, 1])
def test_counters_survive_whenever_clustering_started(started_at: int | None) -> None:
    part, other = Clustering(ClusteringSettings(clusters=2), 2), started(torch.eye(2))
    part.step, part.started_at = 4, started_at
    other.load_state_dict(part.state_dict())
    assert (other.step, other.started_at) == (4, started_at)
    assert torch.equal(other.centroids, torch.zeros(2, 2))


def cooling(seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Batches whose rows are nearly alike at first, and less so from step to step."""
    direction = torch.ones(D, dtype=torch.float64)
    return [
        (
            (a.detach() + (5 - i) * direction).requires_grad_(),
            (p.detach() + (5 - i) * direction).requires_grad_(),
        )
        for i, (a, p) in enumerate(batches(seed))
    ]


def similarities(pairs: list[tuple[Tensor, Tensor]], diagonal: bool) -> list[float]:
    found = []
    for a, p in pairs:
        unit = (torch.nn.functional.normalize(each.detach(), dim=1) for each in (a, p))
        cells = (lambda x, y: x @ y.T)(*unit)
        kept = torch.ones(N, N, dtype=torch.bool) if diagonal else ~torch.eye(N, dtype=torch.bool)
        found.append(cells[kept].mean().item())
    return found


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_clustering_starts_at_the_step_that_crosses_sigma(variant: str) -> None:
    """Off the diagonal in the paper's reading, over all cells in the released code's."""
    pairs = cooling()
    off, whole = similarities(pairs, diagonal=False), similarities(pairs, diagonal=True)
    assert off == sorted(off, reverse=True)
    # A threshold that the mean without the diagonal reaches at the fourth step, and the one with it
    # later.
    sigma = off[3] + 1e-9
    later = next(step for step, value in enumerate(whole, 1) if value <= sigma)
    assert off[2] > sigma
    assert later > 4
    settings = {"clusters": 4, "sigma": sigma, "momentum": 0.05, "variant": variant}
    loss = ClusterNSLoss(Vectors(), seed=7, **settings).double()
    first = int(torch.randint(N, (1,), generator=torch.Generator().manual_seed(7)))
    oracle = Oracle(first=first, **settings)
    for anchors, positives in pairs:
        value = loss([features(anchors), features(positives)])
        assert value.item() == pytest.approx(oracle(anchors, positives).item(), abs=1e-9)
    assert loss.clustering.started_at == (4 if variant == "paper" else later) == oracle.started_at
    assert loss.pop_events() == ["clustering starts, 4 centroids"]


def test_what_a_margin_of_the_released_code_leaves_out_is_the_diagonal() -> None:
    """All rows in one cluster, each its own positive: the diagonal alone would give relu(alpha)."""
    settings = {"clusters": 2, "hard_negatives": "none", "temperature": 1.0, "alpha": 0.0}
    loss = ClusterNSLoss(Vectors(2), **settings, beta=0.5, margin_weight=1.0, variant="released")
    loss.clustering.start(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    anchors = torch.tensor([[1.0, 0.0], [0.8, 0.6]], requires_grad=True)
    positives = torch.tensor([[0.6, 0.8], [0.0, 1.0]])
    loss.compare(Batch.of(anchors, positives))
    # Cosines with the positives: [[0.6, 0.0], [0.96, 0.6]]. Off the diagonal, delta = -0.6 is 0.1
    # below -beta, and 0.36 is 0.36 above -alpha; over four cells.
    assert loss.components["margin_loss"].item() == pytest.approx((0.1 + 0.36) / 4, abs=1e-6)


def test_single_precision_agrees_to_a_millionth() -> None:
    settings = {"sigma": 0.9, "momentum": 0.05, "clusters": 4, "temperature": 0.5}
    loss = ClusterNSLoss(Vectors(), seed=7, **settings)
    first = int(torch.randint(N, (1,), generator=torch.Generator().manual_seed(7)))
    oracle = Oracle(first=first, **settings)
    for anchors, positives in batches():
        ours = loss([features(anchors.float()), features(positives.float())])
        assert ours.item() == pytest.approx(oracle(anchors, positives).item(), abs=1e-6)


def test_simcse_is_the_same_frame_without_clusters() -> None:
    oracle = Oracle(first=0, sigma=-1.0)
    loss = ContrastiveLoss(Vectors())
    for anchors, positives in batches():
        ours = loss([features(anchors), features(positives)])
        assert ours.item() == pytest.approx(oracle(anchors, positives).item(), abs=1e-9)


def hand_case() -> tuple[ClusterNSLoss, Batch]:
    """Two samples at right angles, their positives equal to them, centroids set by hand."""
    loss = ClusterNSLoss(Vectors(2), temperature=1.0, clusters=2, margin_weight=1.0, momentum=0.5)
    loss.clustering.start(torch.tensor([[2.0, 0.0], [0.0, 2.0]]))
    anchors = torch.eye(2, requires_grad=True)
    return loss, Batch.of(anchors, anchors.detach())


def test_hand_computed_step() -> None:
    loss, batch = hand_case()
    value = loss.compare(batch)
    # Each sample's hard negative is the other's centroid. Row: positives e^1 + e^0; hard negatives
    # of both samples, cosines 0 (own second nearest) and 1 (the other's): e^0 + e^1.
    e = torch.e
    assert value.item() == pytest.approx(
        torch.log(torch.tensor((e + 1 + 1 + e) / e)).item(), abs=1e-6
    )
    # Centroids move half of the way to their one member.
    torch.testing.assert_close(loss.centroids, torch.tensor([[1.5, 0.0], [0.0, 1.5]]))
    assert loss.components["margin_loss"].item() == 0.0


def test_hand_computed_margin() -> None:
    loss = ClusterNSLoss(
        Vectors(2), temperature=1.0, clusters=2, hard_negatives="none", margin_weight=10.0,
        alpha=0.1, beta=0.3,
    )  # fmt: skip
    loss.clustering.start(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    # Both samples lie in the first cluster; cosine of the two is 0.6, each equals its positive:
    # delta = -0.4 is 0.1 below -beta for both pairs.
    anchors = torch.tensor([[1.0, 0.0], [0.6, 0.8]], requires_grad=True)
    value = loss.compare(Batch.of(anchors, anchors.detach()))
    plain = -torch.log(torch.e / (torch.e + torch.exp(torch.tensor(0.6))))
    assert loss.components["margin_loss"].item() == pytest.approx(0.1, abs=1e-6)
    assert value.item() == pytest.approx(plain.item() + 1.0, abs=1e-5)
    assert loss.diagnostics() == {}  # nothing went through forward


def test_a_batch_of_equal_rows_gives_a_finite_loss_and_gradient() -> None:
    loss = ClusterNSLoss(Vectors(), clusters=4, start_step=1, margin_weight=1.0)
    vectors = torch.ones(6, D, requires_grad=True)
    for _ in range(3):
        value = loss([features(vectors), features(vectors)])
        (gradient,) = torch.autograd.grad(value, vectors)
        assert value.isfinite()
        assert gradient.isfinite().all()
    # Denominator: six positives and six hard negatives, all as near as the own positive.
    expected = torch.log(torch.tensor(12.0)) + loss.components["margin_loss"]
    assert value.item() == pytest.approx(expected.item(), abs=1e-4)


def test_a_zero_vector_does_not_break_the_loss() -> None:
    loss = ClusterNSLoss(Vectors(), clusters=3, start_step=1)
    vectors = torch.randn(6, D)
    vectors[2] = 0
    vectors.requires_grad_()
    for _ in range(3):
        value = loss([features(vectors), features(vectors)])
        assert torch.autograd.grad(value, vectors)[0].isfinite().all()


def test_evaluating_changes_no_state() -> None:
    loss = ClusterNSLoss(Vectors(), clusters=4, start_step=2)
    pairs = [(a.float(), p.float()) for a, p in batches()]
    for anchors, positives in pairs[:3]:
        loss([features(anchors), features(positives)])
    before = {k: v.clone() for k, v in loss.state_dict().items()}
    with torch.no_grad():
        loss([features(pairs[3][0]), features(pairs[3][1])])
    for key, value in loss.state_dict().items():
        assert torch.equal(value, before[key])


def test_diagnostics_are_the_papers_curves() -> None:
    loss = ClusterNSLoss(Vectors(), clusters=4, start_step=1)
    for anchors, positives in batches():
        loss([features(anchors.float()), features(positives.float())])
    found = loss.diagnostics()
    a = torch.nn.functional.normalize(anchors.detach().float(), dim=1)
    p = torch.nn.functional.normalize(positives.detach().float(), dim=1)
    c = torch.nn.functional.normalize(loss.centroids, dim=1)
    to_centroids = (a @ c.T).sort(descending=True).values
    cluster = (a @ c.T).argmax(1)
    pairs = [(i, j) for i in range(N) for j in range(N) if i != j]
    alike = [(i, j) for i, j in pairs if cluster[i] == cluster[j]]
    expected = {
        "positive_similarity": (a * p).sum(1).mean(),
        "negative_similarity": sum(a[i] @ p[j] for i, j in pairs) / len(pairs),
        "nearest_centroid_similarity": to_centroids[:, 0].mean(),
        "hard_negative_similarity": to_centroids[:, 1].mean(),
        "between_centroids_similarity": sum(
            c[i] @ c[j] for i in range(4) for j in range(4) if i != j
        ) / 12,
        "same_cluster_similarity": sum(a[i] @ a[j] for i, j in alike) / len(alike),
        "false_negative_rate": len({i for i, _ in alike}) / N,
    }  # fmt: skip
    for name, value in expected.items():
        assert found[name] == pytest.approx(float(value), abs=1e-5), name


def test_diagnostics_of_small_and_empty_clusters() -> None:
    part = Clustering(ClusteringSettings(clusters=4), 2)
    part.start(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
    three = torch.tensor([[3.0, 0.3], [2.0, -0.2], [0.1, 1.0]])
    found = part.diagnostics(Batch.of(three, three))
    assert found["clusters_with_members"] == 2
    assert found["false_negative_rate"] == pytest.approx(2 / 3)
    # Nobody shares a cluster: there is no similarity to speak of.
    alone = part.diagnostics(Batch.of(three[1:], three[1:]))
    assert "same_cluster_similarity" not in alone
    assert alone["clusters_with_members"] == 2


def test_what_clustering_says_of_itself() -> None:
    part = Clustering(ClusteringSettings(clusters=3, momentum=0.5, sigma=0.7), 2)
    assert part.summary() == {"clustering_started_at": None}
    assert "stayed above sigma = 0.7" in str(part.warning())
    by_step = Clustering(ClusteringSettings(clusters=3, start_step=9), 2)
    assert "before start_step = 9" in str(by_step.warning())
    assert part.settings.model_dump().items() >= {
        "clusters": 3, "momentum": 0.5, "initialization": "batch", "sigma": 0.7, "beta": 0.3,
    }.items()  # fmt: skip
    corpus = ClusterNSLoss(Vectors(2), clusters=3, corpus_vectors=lambda: torch.eye(2))
    assert corpus.get_config_dict()["initialization"] == "corpus"
    with pytest.raises(ValueError, match="go together"):
        ClusterNSLoss(Vectors(2), clusters=3, initialization="corpus")
    part.step = 5
    part.start(torch.zeros(3, 2))
    assert part.summary() == {"clustering_started_at": 5}
    assert part.warning() is None


def test_a_loss_started_from_the_corpus_uses_its_vectors() -> None:
    vectors = torch.randn(40, D)
    loss = ClusterNSLoss(
        Vectors(), clusters=4, start_step=1, corpus_vectors=lambda: vectors, seed=3
    )
    anchors, positives = batches()[0]
    loss([features(anchors.float()), features(positives.float())])
    torch.testing.assert_close(loss.centroids, global_centroids(vectors, 4, seed=3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clusters": 1}, "clusters\n.*greater than or equal to 2"),
        ({"alpha": 0.5, "beta": 0.3}, "alpha"),
        ({"variant": "other"}, "variant"),
        ({"sigma": 0.1, "start_step": 3}, "set one of them"),
        ({"temperature": 0.0}, "temperature"),
        ({"clustres": 3}, "clustres"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ClusterNSLoss(Vectors(), **settings)


def test_more_clusters_than_rows_is_refused() -> None:
    loss = ClusterNSLoss(Vectors(), clusters=N + 1, start_step=1)
    anchors, positives = batches()[0]
    with pytest.raises(ValueError, match="13 centroids from a batch of 12 rows"):
        loss([features(anchors.float()), features(positives.float())])


def test_the_share_of_hard_negatives_in_the_denominator_by_hand() -> None:
    loss = ClusterNSLoss(Vectors(), 0.5, clusters=4, start_step=1, seed=1).double()
    pairs = batches()[:2]
    for anchors, positives in pairs:
        loss([features(anchors), features(positives)])
    anchors, positives = (view.detach() for view in pairs[-1])
    _, _, second = loss.clustering.neighbors(anchors)
    shares = []
    for i in range(N):
        own = sum(math.exp(cosine(anchors[i], positives[j]) / 0.5) for j in range(N))
        hard = [loss.centroids[k] for k in second.tolist()]
        extra = sum(math.exp(cosine(anchors[i], negative) / 0.5) for negative in hard)
        shares.append(extra / (own + extra))
    assert loss.diagnostics()["hard_negative_share"] == pytest.approx(sum(shares) / N, abs=1e-6)
    assert "hard_negative_share" not in ContrastiveLoss(Vectors()).diagnostics()
