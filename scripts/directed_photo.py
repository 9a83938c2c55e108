"""Does dmat/1 come from the directed entries of Amazon Photo's file?

Table 7 of the paper prints as many edges as half of the file's entries, and GBP's code, which the
paper's filter builds on, reads pairs as they come: it makes nothing undirected. So here are four
graphs side by side, each without self-loops:

    simple      the distinct undirected edges, as other papers have them
    as_stored   A + Aᵀ of the file's A, as our rows of dmat/1 have it
    directed    A: (u, v) is a pair from u to v
    reversed    Aᵀ

and on each of them clusters of the raw features (whose clusters are the same on all four), of the
filtered ones, with and without unit rows, and of DMAT-i, with Table 8's settings.

    python scripts/directed_photo.py [--seeds 3] [--graphs simple directed]
        [--output results/bench/directed_photo.json]

The filter is that of GBP's code. There `G[to]` lists the `from` of each pair and `Degree[from]`
counts them, and a push moves what is at `to` to each `from`, divided by the degree of `from`. So
P = D⁻¹A with D the out-degrees: a node averages over those it points to, and the filtered features
are X = α Dʳ (I − (1−α)P)⁻¹ D⁻ʳ X₀. `reversed` is the mirror image, with in-degrees: a node averages
over those that point to it. Each node has a self-loop (`filter.self_loops`) as in the paper's text;
`--no_self_loops` leaves them out, as GBP's files do. A node without a degree counts as of degree 1.

Quality of clusters on m pairs: of a cluster c, m_c pairs start and end in it, out_c start in it
(the sum of its out-degrees), in_c end in it.

    modularity_out    Σ_c [m_c/m − (out_c/m)²]
    modularity_in     Σ_c [m_c/m − (in_c/m)²]
    modularity_both   Σ_c [m_c/m − out_c in_c/m²] (Leicht and Newman 2008)
    conductance_out   mean over c of (out_c − m_c)/out_c: of the pairs that start in c, those that
                      leave it
    conductance_in    mean over c of (in_c − m_c)/in_c: of the pairs that end in c, those that come
                      from outside
    conductance_pooled  Σ_c (out_c − m_c)/m: of all pairs those between clusters; no volume is in it

On a symmetric graph, which has both directions of each edge as pairs, all are the library's.
`label_free` numbers read no class but their number; `reads_labels` ones do. `from_record` is the
difference to the run in results/records that has the shipped filter: where training and k-means
amplify no rounding, it is 0.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import bench_facts
import numpy as np
import scipy.sparse
import torch

import gclbench
from gclbench.config.validation import Experiment, experiment_of
from gclbench.data import catalog, mirror
from gclbench.data.npz import csr_of
from gclbench.embedding import Embedding
from gclbench.graph import Graph, with_features
from gclbench.launch.specification import specification
from gclbench.machine.threads import computing_with
from gclbench.paper.reference import printed
from gclbench.paper.sources import collect
from gclbench.records import Record
from gclbench.tasks.clustering import Clustering
from gclbench.training.streams import Streams

DATASET = "amazon_photo"
GRAPHS = ("simple", "as_stored", "directed", "reversed")
SYMMETRIC = ("simple", "as_stored")
"""Those that the library has, by `dataset.edges`."""

RECORDS = Path(__file__).parent.parent / "results" / "records"
TOLERANCE = 1e-6
COLUMNS = 64
"""Filtered at a time: they stay in the processor's cache."""

RUNS = {
    "kmeans_raw": ("method=kmeans", "filter=none"),
    "kmeans_filtered": ("method=kmeans", "filter=gnnbp"),
    "kmeans_filtered_unit": ("method=kmeans", "filter=gnnbp", "task.clustering.normalize=l2"),
    "dmat_i": ("method=dmat_i",),
}
"""What is clustered, and the library's run that it is on a symmetric graph."""

PRINTED = {"kmeans_raw": "kmeans", "dmat_i": "dmat_i"}
"""The rows of dmat/1 that print what is clustered here."""

AGREEMENT = ("acc", "nmi", "macro_f1")
QUALITY = ("modularity", "conductance")
SHIPPED = {
    "modularity": "modularity_both",
    "conductance": "conductance_out",
    "conductance_pooled": "conductance_pooled",
}
"""A metric of the library, and one here that is the same on a symmetric graph."""


@dataclass(frozen=True)
class Series:
    """How a power series ended.

    Attributes:
        sweeps: products. error: bound on the error of any entry of D⁻ʳX, by X's largest entry of
            that.
    """

    sweeps: int
    error: float


def smoothed(
    pairs: np.ndarray,
    x: np.ndarray,
    alpha: float,
    r: float,
    self_loops: bool = True,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, Series]:
    """X = α Dʳ (I − (1−α)P)⁻¹ D⁻ʳ X₀ in float64, P = D⁻¹A with the out-degrees D of directed pairs.

    Args:
        pairs: 2×E, from and to; repeated ones add up. x: X₀, N×F.
        tolerance: what `Series.error` is at most.
    """
    nodes = len(x)
    adjacency = scipy.sparse.csr_matrix(
        (np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(nodes, nodes)
    )
    if self_loops:
        adjacency = adjacency + scipy.sparse.identity(nodes, format="csr")
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    degree[degree == 0] = 1.0
    step = (1.0 - alpha) * (scipy.sparse.diags(1.0 / degree) @ adjacency).tocsr()
    scale = degree[:, None] ** r
    result, ended = np.empty(x.shape), []
    for first in range(0, x.shape[1], COLUMNS):
        columns = slice(first, first + COLUMNS)
        base = x[:, columns] / scale
        w, sweeps, error = base, 0, np.inf
        # From the features on, not from 0: a column with the same number everywhere is there.
        while error > tolerance:
            after = step @ w + alpha * base
            # No row of P sums to more than 1, so what is still to come is a geometric series.
            left = (1.0 - alpha) / alpha * np.abs(after - w).max()
            largest = np.abs(after).max()
            w, sweeps, error = after, sweeps + 1, left / largest if left else 0.0
        result[:, columns] = w * scale
        ended.append(Series(sweeps, float(error)))
    return result, Series(max(one.sweeps for one in ended), max(one.error for one in ended))


def qualities(pairs: np.ndarray, clusters: np.ndarray) -> dict[str, float]:
    """Modularity and conductance of clusters (N) on directed pairs (2×E), as said above. A cluster
    without a pair adds 0 to the mean."""
    names, cluster_of = np.unique(clusters, return_inverse=True)
    source, target = cluster_of[pairs[0]], cluster_of[pairs[1]]
    inside, out, into = (
        np.bincount(ends, minlength=len(names)).astype(float)
        for ends in (source[source == target], source, target)
    )
    total = float(pairs.shape[1])
    share = float(inside.sum()) / total
    return {
        "modularity_out": share - float((out / total) @ (out / total)),
        "modularity_in": share - float((into / total) @ (into / total)),
        "modularity_both": share - float((out / total) @ (into / total)),
        "conductance_out": float(np.mean((out - inside) / np.maximum(out, 1.0))),
        "conductance_in": float(np.mean((into - inside) / np.maximum(into, 1.0))),
        "conductance_pooled": 1.0 - share,
    }


def stored_pairs() -> np.ndarray:
    """The entries of the file's A (2×E), without self-loops."""
    (located,) = mirror.resolve(catalog.info(DATASET))
    with np.load(located.path, allow_pickle=False) as members:
        adjacency = csr_of(members, "adj", DATASET).tocoo()
    pairs = np.stack([adjacency.row, adjacency.col]).astype(np.int64)
    return pairs[:, pairs[0] != pairs[1]]


def counts(pairs: np.ndarray, nodes: int) -> dict[str, int]:
    """What a reader may want to know of directed pairs, self-loops left out."""
    codes = np.unique(pairs[0] * nodes + pairs[1])
    back = (codes % nodes) * nodes + codes // nodes
    out, into = (np.bincount(ends, minlength=nodes) for ends in pairs)
    return {
        "pairs": pairs.shape[1],
        "half_of_pairs": pairs.shape[1] // 2,
        "pairs_with_their_reverse": int(np.isin(codes, back).sum()),
        "nodes_that_point_to_none": int((out == 0).sum()),
        "nodes_that_none_points_to": int((into == 0).sum()),
    }


def planned(what: str, edges: str) -> Experiment:
    """The library's run of something that is clustered here."""
    return experiment_of(
        [*RUNS[what], f"dataset={DATASET}", f"dataset.edges={edges}", "task=clustering"]
    )


def embedded(
    graph: Graph, x: np.ndarray, settings: Mapping[str, Any], seed: int, what: str
) -> tuple[Embedding, str]:
    """What k-means clusters, and how its rows are scaled.

    Args:
        graph: with raw features. x: filtered ones, N×F float32. settings: of DMAT-i.
    """
    if what != "dmat_i":
        shown = graph.x if what == "kmeans_raw" else torch.from_numpy(x)
        return Embedding(shown), "l2" if what == "kmeans_filtered_unit" else "auto"
    z = gclbench.fit(
        graph=with_features(graph, torch.from_numpy(x)),
        method=what,
        settings=settings,
        seed=seed,
        progress=False,
        filter="none",
        device="cpu",
        precision="float32",
    )
    return Embedding(torch.from_numpy(z), geometry="cosine"), "auto"


def measured(
    graph: Graph,
    pairs: np.ndarray,
    x: np.ndarray,
    settings: Mapping[str, Any],
    seed: int,
) -> Iterator[tuple[str, dict[str, Any], float]]:
    """What is clustered, its numbers, and the seconds that it took.

    Args:
        graph: features and classes; nothing here reads its edges. pairs: what clusters are measured
            on. x: filtered features, N×F float32. settings: of DMAT-i.
    """
    for what in RUNS:
        started = time.perf_counter()
        embedding, normalize = embedded(graph, x, settings, seed, what)
        scores = Clustering(normalize=normalize).evaluate(embedding, graph, None, Streams(seed))
        assert scores.clusters is not None
        numbers = {
            "label_free": qualities(pairs, scores.clusters),
            "reads_labels": {metric: scores[metric] for metric in AGREEMENT},
        }
        yield what, numbers, time.perf_counter() - started


def recorded() -> dict[str, Record]:
    """Our runs of these methods, by id."""
    methods = sorted({words[0].partition("=")[2] for words in RUNS.values()})
    return {one.id: one for one in collect(str(RECORDS / method) for method in methods).records}


def from_record(
    numbers: Mapping[str, Mapping[str, float]], record: Record | None
) -> dict[str, float] | None:
    """Differences to a run, by metric; None without one."""
    if record is None or not record.ok:
        return None
    found = {
        **numbers["reads_labels"],
        **{metric: numbers["label_free"][name] for metric, name in SHIPPED.items()},
    }
    return {metric: value - record.metrics[metric] for metric, value in found.items()}


def printed_numbers() -> dict[str, dict[str, float | None]]:
    """What the paper prints: fractions, and edges."""
    (edges,) = printed(DATASET, "", "dataset_statistics", "edges", paper="dmat", table="7")
    found: dict[str, dict[str, float | None]] = {"graph": {"edges": edges.mean}}
    for what, method in PRINTED.items():
        found[what] = {
            metric: printed(DATASET, method, "clustering", metric, paper="dmat", table="1")[0].mean
            for metric in (*AGREEMENT, *QUALITY)
        }
    return found


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds, in the order of the rows."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["graph"], row["clustered"]), []).append(row)
    return [
        {
            "graph": graph,
            "clustered": what,
            "seeds": len(group),
            **{
                kind: {
                    name: float(np.mean([row[kind][name] for row in group]))
                    for name in group[0][kind]
                }
                for kind in ("label_free", "reads_labels")
            },
        }
        for (graph, what), group in groups.items()
    ]


def percent(numbers: Mapping[str, float | None]) -> str:
    """`acc 64.4, nmi 60.5`."""
    return ", ".join(
        f"{name} {'?' if value is None else f'{100 * value:.1f}'}"
        for name, value in numbers.items()
    )


def summary(facts: Mapping[str, Any]) -> list[str]:
    """The means, and beside them what is printed, in percent."""
    return [
        *(
            f"{mean['graph']}, {mean['clustered']}:"
            f" {percent({**mean['label_free'], **mean['reads_labels']})}"
            for mean in facts["means"]
        ),
        *(f"printed, {what}: {percent(facts['printed'][what])}" for what in PRINTED),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--no_self_loops", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with computing_with(1):
        run(options.graphs, options.seeds, not options.no_self_loops, options.output)


def run(names: list[str], seeds: int, self_loops: bool, output: Path | None) -> None:
    facts = bench_facts.begun("directed_photo", threads=1)
    records, stored = recorded(), stored_pairs()
    table_8 = planned("dmat_i", "simple")
    settings = {key: value for key, value in table_8.settings["method"].items() if key != "name"}
    alpha, r = (table_8.settings["filter"][key] for key in ("alpha", "rrz"))
    graphs: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for name in names:
        # Features and classes are the same on all graphs.
        edges = name if name in SYMMETRIC else "simple"
        graph = planned("dmat_i", edges).components.dataset.load()
        pairs = {"directed": stored, "reversed": stored[::-1]}.get(name, graph.edge_index.numpy())
        started = time.perf_counter()
        wide, series = smoothed(pairs, graph.x.numpy(), alpha, r, self_loops)
        x = wide.astype(np.float32)
        print(f"{name}: filtered in {time.perf_counter() - started:.0f} s, {series}", flush=True)
        graphs[name] = {**counts(pairs, graph.num_nodes), "series": asdict(series)}
        comparable = self_loops and name in SYMMETRIC
        if comparable:
            shipped = planned("dmat_i", edges).components.filter.apply(graph).x.numpy()
            far = float(np.linalg.norm(wide - shipped) / np.linalg.norm(shipped))
            graphs[name]["from_shipped_filter"] = far
            print(f"{name}: ‖X − shipped X‖/‖shipped X‖ = {far:.1e}", flush=True)
        for seed in range(seeds):
            for what, numbers, seconds in measured(graph, pairs, x, settings, seed):
                row: dict[str, Any] = {"graph": name, "clustered": what, "seed": seed, **numbers}
                if comparable:
                    spec = specification(
                        planned(what, edges), "clustering", seed, graph.content_hash
                    )
                    row["from_record"] = from_record(numbers, records.get(spec.id))
                rows.append(row)
                print(f"{name}, seed {seed}, {what}: {seconds:.0f} s")
                for kind in ("label_free", "reads_labels"):
                    print(f"    {kind}: {percent(numbers[kind])}", flush=True)
                if comparable:
                    against = row["from_record"]
                    print("    from our record: " + (percent(against) if against else "none"))
    known = printed_numbers()
    facts.update(
        seeds=seeds,
        alpha=alpha,
        rrz=r,
        self_loops=self_loops,
        tolerance=TOLERANCE,
        method=settings,
        printed=known,
        graphs=graphs,
        means=means(rows),
        rows=rows,
    )
    print("\n".join(summary(facts)))
    bench_facts.keep(output, facts)


if __name__ == "__main__":
    main()
