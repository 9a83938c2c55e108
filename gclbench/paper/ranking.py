"""Our own columns against each other: paired t-tests over equal seeds, and who is best and second
in a row."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace

from gclbench.paper.filled_table import Entry
from gclbench.paper.significance import LEVEL, holm, paired_p_values

CROWDED = 10
"""With more settings of one column in a row, the column is a sweep: its pairs would drown those of
the others."""


def ranked(entries: Sequence[Entry]) -> tuple[list[Entry], int]:
    """The entries with their ranks, and the number of pairs that were tested.

    All pairs of columns of all rows are one family for Holm's correction. In a row:

    - Rank 1: the leader, which has the best mean, and the cells not significantly worse than it but
      significantly better than the next leader. The next leader is the best of the cells that are
      significantly worse than the first. Without one there is no rank 1.
    - Rank 2: that next leader and its ties, by the same rule among the cells that are significantly
      worse than the first leader.
    - No rank: a cell that differs significantly from neither leader. A cell that one of no better
      rank beats: few common seeds separate less, so a tie of the leader may be worse than a third
      cell. A row whose best mean cannot be tested against any other.

    Four things take no part: cells that are not at the paper's settings, cells with a run that has
    no value, columns with a whole sweep of settings on the dataset, and metrics without a better
    direction. Cells of another graph of the same name, or of another version of the task's
    protocol, are a row of their own.
    """
    settings = Counter(
        (entry.dataset, entry.metric, entry.heading) for entry in entries if entry.ours.values
    )
    crowded = {key for key, count in settings.items() if count > CROWDED}
    rows: dict[tuple[object, ...], list[int]] = {}
    for place, entry in enumerate(entries):
        key = (entry.dataset, entry.metric, entry.heading)
        directed = entry.shown.better != "neither"
        complete = entry.ours.values and not entry.ours.absent
        if complete and entry.faithful and directed and key not in crowded:
            rows.setdefault((entry.dataset, entry.metric, *_basis(entry)), []).append(place)
    pairs = [pair for places in rows.values() for pair in itertools.combinations(places, 2)]
    tested = holm(
        paired_p_values(
            [(entries[one].ours.values, entries[other].ours.values) for one, other in pairs]
        )
    )
    p_values = {pair: value for pair, value in zip(pairs, tested, strict=True) if value is not None}
    beats = {_in_order(entries, pair) for pair, value in p_values.items() if value < LEVEL}
    ranks: dict[int, int] = {}
    for places in rows.values():
        ordered = sorted(places, key=lambda place: (_loss(entries[place]), place))
        ranks.update(_ranks(ordered, p_values, beats))
    return [replace(entry, rank=ranks.get(place)) for place, entry in enumerate(entries)], len(
        p_values
    )


def _basis(entry: Entry) -> tuple[object, ...]:
    """What cells that are compared have in common: the graph and the protocol's version."""
    spec = entry.records[0].spec if entry.records else {}
    return spec.get("dataset_hash"), spec.get("versions", {}).get("protocol")


def _loss(entry: Entry) -> float:
    mean = entry.ours.mean or 0.0
    return mean if entry.shown.lower_is_better else -mean


def _in_order(entries: Sequence[Entry], pair: tuple[int, int]) -> tuple[int, int]:
    """A pair that was told apart, the better one first: over the seeds of the test, which may not
    be all that the means are over."""
    one, other = (entries[place].ours.values for place in pair)
    gap = math.fsum(one[seed] - other[seed] for seed in set(one) & set(other))
    return pair if (gap > 0) != entries[pair[0]].shown.lower_is_better else pair[::-1]


def _ranks(
    ordered: list[int], tested: Container[tuple[int, int]], beats: Container[tuple[int, int]]
) -> dict[int, int]:
    """Ranks of a row's places, which are in order of their means, the best first."""
    found: dict[int, int] = {}
    left = ordered
    for rank in (1, 2):
        if len(left) < 2:
            break
        leader = left[0]
        worse = [place for place in left[1:] if (leader, place) in beats]
        beaten = {
            place
            for place in left
            if any((other, place) in beats for other in ordered if other not in found)
        }
        if not worse or leader in beaten:
            break
        tied = [
            place
            for place in left[1 : left.index(worse[0])]
            if _key(leader, place) in tested and place not in beaten and (place, worse[0]) in beats
        ]
        found.update(dict.fromkeys((leader, *tied), rank))
        left = worse
    return found


def _key(one: int, other: int) -> tuple[int, int]:
    return (min(one, other), max(one, other))
