"""Results that say little are told at the end of a command, in the record and in tables."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from own_graphs import recorded, save

from gclbench.cli import main
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import make_graph
from gclbench.tasks.classification import Classification
from gclbench.training.streams import Streams

Printed = pytest.CaptureFixture[str]

KMEANS = ("method=kmeans", "filter=none", "dataset=custom", "dataset.path=x.npz")


def collapsed(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("degenerate")]


def test_equal_rows_are_told(capsys: Printed) -> None:
    save("x.npz", x=np.ones((40, 5)))
    for _ in range(2):
        assert main([*KMEANS, "task=[clustering,classification]", "seeds=2"]) == 0
        out = capsys.readouterr().out
        assert collapsed(out) == [
            "degenerate ×2 ⊘: kmeans · x · clustering · seeds 0, 1: all rows of the embedding are"
            " alike",
            "degenerate ×2 ⊘: kmeans · x · clustering · seeds 0, 1: one cluster holds every node",
            "degenerate ×2 ⊘: kmeans · x · classification · seeds 0, 1: all rows of the embedding"
            " are alike",
            *[line for line in collapsed(out) if "every test node is predicted" in line],
        ]
        assert "every test node is predicted to be of class" in out
        assert "(2) ⊘" in out
    for record in recorded():
        assert record.ok and "all rows of the embedding are alike" in record.degenerate


def test_a_result_that_tells_items_apart_is_not_degenerate(capsys: Printed) -> None:
    save("x.npz")
    assert main([*KMEANS, "task=[clustering,classification]"]) == 0
    assert all(record.degenerate == [] for record in recorded())
    assert "⊘" not in capsys.readouterr().out


def test_the_majority_class_and_chance_stand_beside_an_unprinted_dataset(capsys: Printed) -> None:
    labels = np.arange(40) % 4 == 0
    noise = np.random.default_rng(1).normal(size=(40, 5))
    save("x.npz", x=noise, y=labels.astype(int))
    assert main([*KMEANS, "task=[clustering,classification]", "seeds=2"]) == 0
    out = capsys.readouterr().out
    records = {record.name("task"): record for record in recorded()}
    assert records["classification"].floor["accuracy"] > 0.6, "three in four are of one class"
    assert 0.4 < records["clustering"].floor["acc"] < 0.7
    rows = [line.split() for line in out.splitlines() if "majority class" in line]
    assert [row[4] for row in rows[:3]] == ["accuracy", "micro_f1", "macro_f1"]
    assert "x        chance" in out
    assert "x · classification: not above the majority class (accuracy " in out


def test_the_floors_of_two_graphs_of_a_name_are_told_apart(capsys: Printed) -> None:
    words = ("method=kmeans", "filter=none", "dataset=sbm", "dataset.nodes=60,80")
    assert main(["-m", *words, "task=clustering", "seeds=2"]) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if "chance" in line]
    for nodes in (60, 80):
        assert sum(f"chance [dataset.nodes={nodes}, dataset_hash=" in row for row in rows) > 0
    assert not any(line.startswith("sbm      chance  ") for line in rows)


def test_a_floor_reads_test_labels_for_nothing_but_its_own_score(capsys: Printed) -> None:
    """The majority class is that of the training nodes."""
    labels = np.array([0, 0, 1, 1, 0, 1, 1, 1, 1, 1])
    graph = make_graph(np.eye(10), np.empty((2, 0), dtype=int), labels, "x")
    parts = {
        "train": np.array([0, 1, 2]),
        "val": np.array([3, 4]),
        "test": np.array([5, 6, 7, 8, 9]),
    }
    scores = Classification().evaluate(
        Embedding(torch.eye(10)), graph, Split("own", parts), Streams(0)
    )
    assert scores.floor["accuracy"] == 0.0, "class 0 leads among training nodes only"
