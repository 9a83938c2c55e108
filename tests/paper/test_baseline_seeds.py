"""Seeds of the baselines: those recorded as shipped count, of the rest the cost is told."""

from __future__ import annotations

from dataclasses import replace

from gclbench.paper import baseline_seeds
from gclbench.paper.costs import FirstEpochs


def row(records, probes, method: str) -> list[str]:
    lines = baseline_seeds.section(records, probes).splitlines()
    (found,) = (line for line in lines if line.startswith(f"| {method} |"))
    return [cell.strip() for cell in found.strip("| ").split(" | ")][1:]


def test_seeds_at_the_shipped_epochs_count_once(record) -> None:
    runs = [
        record("grape", "cora", task, seed=seed, negatives="grape", epochs=epochs)
        for task in ("clustering", "classification")
        for seed, epochs in ((0, 100), (1, 100), (2, 5))
    ]
    runs = [replace(run, seconds={"fit": 4.0}) for run in runs]
    assert row(runs, {}, "grape")[:2] == ["2 of 10, 4 s", "0 of 10, unknown"]
    ten = [record("grape", "cora", seed=seed, negatives="grape", epochs=100) for seed in range(10)]
    assert row(ten, {}, "grape")[0] == "10"


def test_a_seed_on_a_gpu_counts_and_its_seconds_do_not(record) -> None:
    there, here = (
        replace(
            record("grape", "cora", seed=seed, negatives="grape", epochs=100),
            seconds={"fit": fit},
            memory=memory,
        )
        for seed, fit, memory in ((0, 1.0, {"gpu_allocated": 5}), (1, 9.0, {}))
    )
    assert row([there, here], {}, "grape")[0] == "2 of 10, 9 s"
    assert row([there], {}, "grape")[0] == "1 of 10, unknown"


def test_what_is_missing_has_its_cost_or_says_unknown() -> None:
    probes = {
        ("grape", "pubmed"): FirstEpochs("ok", "", 20.0, 40.0, 2.0**30),
        ("grape", "coauthor_phy"): FirstEpochs("timeout", "too | long", None, None, 2.0**31),
        ("grape", "amazon_photo"): FirstEpochs("oom", "a | b", None, None, None),
        ("linear", "coauthor_phy"): FirstEpochs("oom", "", None, None, None),
    }
    cora, citeseer, pubmed, photo, computers, memory = row([], probes, "grape")
    assert cora == citeseer == "0 of 10, unknown"
    assert pubmed == "0 of 3, 17 min" and computers == "0 of 1, unknown"
    assert photo == r"0 of 3, oom: a \| b"
    assert memory == "2.0 (timeout)"
    assert row([], probes, "linear")[-1] == "oom"
    assert row([], probes, "mlp")[-1] == "not run"


def test_settings_of_a_method_are_a_baseline_of_their_own(record) -> None:
    words = "dgi method.propagation=diffusion"
    runs = [
        replace(
            record("dgi", "cora", seed=seed, epochs=10000, propagation=how), seconds={"fit": cost}
        )
        for how, cost, seeds in (("adjacency", 5.0, (0, 1, 2)), ("diffusion", 9.0, (3,)))
        for seed in seeds
    ]
    assert row(runs, {}, words)[:2] == ["1 of 10, 9 s", "0 of 10, unknown"]
    probes = {
        (words, "pubmed"): FirstEpochs("ok", "", 20.0, 40.0, 2.0**30),
        (words, "coauthor_phy"): FirstEpochs("ok", "", 20.0, 40.0, 2.0**32),
        ("dgi", "amazon_photo"): FirstEpochs("ok", "", 20.0, 40.0, 2.0**30),
    }
    _, _, pubmed, photo, _, memory = row(runs, probes, words)
    assert pubmed.startswith("0 of 3, ") and pubmed != "0 of 3, unknown"
    assert photo == "0 of 3, unknown" and memory == "4.0"
