"""The published lists of triplets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gclbench.data.tu import CoilDel
from gclbench.tasks.similarity import Similarity
from gclbench.training.streams import Streams

FOLDER = Path(__file__).parents[2] / "results" / "similarity_lists"


def test_the_lists_are_those_of_five_seeds() -> None:
    names = sorted(path.name for path in FOLDER.glob("*.npz"))
    assert names == [f"coil_del_seed_{seed}.npz" for seed in range(5)]
    for name in names:
        with np.load(FOLDER / name) as parts:
            for size in (10, 15, 20, 50):
                assert parts[f"n{size}_nodes"].shape == (1000, size)
                assert parts[f"n{size}_far"].shape == (1000, 2, 2, 2)


@pytest.mark.slow
def test_a_run_draws_the_published_list(mirror: Path) -> None:
    drawn = Similarity().split(CoilDel().load(), Streams(1)).parts
    with np.load(FOLDER / "coil_del_seed_1.npz") as published:
        assert {*published.files} == {*drawn}
        assert all(np.array_equal(published[name], drawn[name]) for name in drawn)
