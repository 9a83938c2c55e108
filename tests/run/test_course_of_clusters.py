"""Scores on the way of a clustering: how far the clusters stay the same, which reads no label."""

from __future__ import annotations

import numpy as np
import pytest

from gclbench.config.validation import experiment_of
from gclbench.launch.execution import execute
from gclbench.tasks.scores import Scores

SHORT = ["method=dmat_i", "dataset=sbm", "dataset.nodes=60", "method.epochs=6", "seeds=1"]


def course(task: str, *words: str) -> list[tuple[int, dict[str, float]]]:
    (record,) = execute(experiment_of([*SHORT, f"task={task}", "method.course=3", *words]))
    assert record.ok
    return [(iterations, scores) for iterations, scores in record.data["course"]]


def test_each_look_at_clusters_is_compared_with_the_one_before() -> None:
    found = course("clustering")
    assert [iterations for iterations, _ in found] == [0, 3, 6]
    assert "stability" not in found[0][1], "nothing is before the untrained state"
    assert all(-1 <= scores["stability"] <= 1 for _, scores in found[1:])
    assert {"acc", "inertia"} <= set(found[0][1])


def test_the_course_is_no_part_of_what_is_recorded_otherwise() -> None:
    words = [*SHORT, "task=clustering"]
    (with_course,) = execute(experiment_of([*words, "method.course=2"]))
    (without,) = execute(experiment_of([*words, "rerun=all"]))
    assert with_course.id == without.id
    assert with_course.metrics == without.metrics and "stability" not in without.metrics


def test_a_task_without_clusters_has_no_stability() -> None:
    for task in ("classification", "link_prediction"):
        found = course(task)
        assert [iterations for iterations, _ in found] == [0, 3, 6]
        assert all("stability" not in scores for _, scores in found)


def test_stability_is_the_adjusted_rand_index_of_two_looks() -> None:
    def look(*clusters: int) -> Scores:
        return Scores({}, clusters=np.array(clusters))

    first = look(0, 0, 1, 1, 2, 2)
    assert first.since(None) == {} and first.since(Scores({})) == {}
    assert Scores({}).since(first) == {}
    assert look(0, 0, 1).since(first) == {}, "others were clustered"
    assert look(2, 2, 0, 0, 1, 1).since(first) == {"stability": 1.0}, "names do not count"
    # Pairs: 2 together in both, 3 in the first, 4 in the second, of 15.
    expected = (2 - 3 * 4 / 15) / ((3 + 4) / 2 - 3 * 4 / 15)
    assert look(0, 0, 1, 1, 1, 2).since(first)["stability"] == pytest.approx(expected)
