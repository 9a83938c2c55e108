"""Features that stay sparse from a file to a method's first layer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from small_embeddings import embedded, embedding
from torch_geometric.data import Data

import gclbench
from gclbench.cli import main
from gclbench.component.registry import METHODS, NEGATIVES
from gclbench.contrast.centrality import column_dropping
from gclbench.contrast.unit_rows import unit_rows
from gclbench.data.custom import Custom
from gclbench.data.graph_counts import describe_graph
from gclbench.data.in_memory import graph_of
from gclbench.data.sbm import SBM
from gclbench.embedding import Embedding
from gclbench.graph import (
    Graph,
    GraphError,
    Unsupported,
    bytes_of,
    features,
    is_sparse,
    make_graph,
    with_features,
)
from gclbench.machine import memory_map
from gclbench.nn.sparse import Features, in_groups, normalised_rows, rows_of
from gclbench.records import Store
from gclbench.run import saving
from gclbench.run.abilities import able
from gclbench.run.collapse import collapse_of
from gclbench.tasks.classification import Classification
from gclbench.tasks.embedding_rows import embedding_rows
from gclbench.tasks.link_prediction import LinkPrediction
from gclbench.training.streams import Streams

NODES, WIDTH = 40, 60


def matrix() -> Any:
    """Few entries, of the classes' columns mostly; node 3 has none."""
    rng = np.random.default_rng(0)
    y = np.arange(NODES) % 2
    columns = rng.integers(0, WIDTH // 2, (NODES, 4)) * 2 + y[:, None]
    dense = np.zeros((NODES, WIDTH), dtype=np.float32)
    np.put_along_axis(dense, columns, rng.random((NODES, 4)).astype(np.float32) + 0.5, axis=1)
    dense[3] = 0
    return scipy.sparse.csr_matrix(dense)


MATRIX = matrix()
EDGES = np.stack([np.arange(NODES), (np.arange(NODES) + 2) % NODES])


def made(x: Any = MATRIX) -> Graph:
    return make_graph(x, EDGES, np.arange(NODES) % 2, "g", undirected=True)


DENSE = made()


def made_sparse() -> Graph:
    """The same content, stored as compressed rows."""
    return with_features(DENSE, features.compressed_of(MATRIX))


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sparse matrix is out of proportion."""
    monkeypatch.setattr(features, "SPARSE_FROM", 0)


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """No dense features fit, and none are made."""

    def to_dense(self: torch.Tensor, *rest: Any, **keys: Any) -> torch.Tensor:
        raise AssertionError("a sparse matrix was made dense")

    monkeypatch.setattr(features, "SPARSE_FROM", 0)
    monkeypatch.setattr(memory_map, "fits", lambda rows, columns: False)
    monkeypatch.setattr(torch.Tensor, "to_dense", to_dense)


# --- the graph


def test_what_is_small_or_full_is_dense(always: None) -> None:
    assert is_sparse(made().x) and not is_sparse(made(np.ones((NODES, 3))).x)
    assert not is_sparse(made(scipy.sparse.csr_matrix(np.ones((NODES, 3)))).x)
    collection = make_graph(MATRIX, EDGES[:, :0], None, "g", graph_of=np.arange(NODES))
    assert not is_sparse(collection.x)


def test_by_default_small_features_are_dense() -> None:
    assert not is_sparse(DENSE.x) and features.SPARSE_FROM * 4 == 2 << 30


def test_content_is_told_apart_alike_however_it_is_given_and_stored(always: None) -> None:
    graph = made()
    twice = MATRIX.tocoo()
    halves = scipy.sparse.coo_matrix(
        (np.tile(twice.data / 2, 2), (np.tile(twice.row, 2), np.tile(twice.col, 2))), MATRIX.shape
    )
    dense = torch.from_numpy(MATRIX.toarray())
    for x in (dense, MATRIX.toarray(), MATRIX.tocsc(), halves, dense.to_sparse(), graph.x):
        assert is_sparse(made(x).x) and made(x).content_hash == graph.content_hash
    stored = with_features(graph, graph.x.to_dense())
    assert not is_sparse(stored.x) and stored.content_hash == graph.content_hash
    assert made(MATRIX * 2).content_hash != graph.content_hash


def test_content_hashes_of_dense_features_are_those_of_their_bytes() -> None:
    stored = made_sparse()
    assert is_sparse(stored.x) and stored.content_hash == DENSE.content_hash


def test_what_is_no_number_is_found(always: None) -> None:
    bad = MATRIX.copy()
    bad.data[5] = np.nan
    row, column = (int(place[0]) for place in np.isnan(bad.toarray()).nonzero())
    with pytest.raises(GraphError, match=f"1 feature value.* in row {row}, column {column};"):
        made(bad)


def test_a_file_and_a_graph_in_memory(always: None, tmp_path: Path) -> None:
    parts = {f"x_{part}": getattr(MATRIX, part) for part in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "g.npz", **parts, edge_index=EDGES)
    loaded = Custom(path=str(tmp_path / "g.npz")).load()
    assert is_sparse(loaded.x) and bytes_of(loaded.x) < 4 * NODES * WIDTH
    assert describe_graph(loaded)["entries"] == MATRIX.nnz
    pairs = torch.from_numpy(EDGES)
    for x in (MATRIX, torch.from_numpy(MATRIX.toarray()).to_sparse()):
        found = graph_of(Data(x=x, edge_index=pairs))
        assert is_sparse(found.x) and found.content_hash == loaded.content_hash
    with pytest.warns(UserWarning, match="made undirected"):
        z = gclbench.fit(
            graph=Data(x=MATRIX, edge_index=pairs, y=torch.arange(NODES) % 2),
            method="dgi",
            settings={"epochs": 1, "hidden": 4},
            progress=False,
        )
    assert z.shape == (NODES, 4)


def test_link_prediction_hides_edges_and_leaves_features_sparse(always: None) -> None:
    graph, task = made(), LinkPrediction()
    visible = task.hide(graph, task.split(graph, Streams(0)))
    assert is_sparse(visible.x) and visible.edge_index.shape[1] < graph.edge_index.shape[1]


# --- the methods

TAKING = able(METHODS, "takes_sparse")


@pytest.mark.parametrize("method", [name for name in TAKING if name != "deepwalk"])
def test_methods_find_the_same_of_sparse_features(method: str, request: Any) -> None:
    expected = embedding(DENSE, f"method={method}", "filter=none")
    request.getfixturevalue("no_room")
    found = embedding(made_sparse(), f"method={method}", "filter=none")
    if is_sparse(found):
        found = torch.from_numpy(features.matrix_of(found).toarray())
    # MVGRL's diffusion of dense features is the filter's, of sparse ones a layer's.
    diffused = method in ("mvgrl", "mmix_mo", "mmix_mp")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3 if diffused else 1e-5)


@pytest.mark.parametrize(
    "overrides",
    [("method=sdcn",), ("method=dmat_i", "filter=gnnbp"), ("method=dgi", "filter=ssgc")],
)
def test_others_make_them_dense_where_they_fit(overrides: tuple[str, ...]) -> None:
    assert torch.equal(embedding(made_sparse(), *overrides), embedding(DENSE, *overrides))


@pytest.mark.parametrize(
    ("overrides", "texts"),
    [
        (
            ("method=sdcn",),
            (
                "method=sdcn needs dense features, and the 40 × 60 features of 'g', sparse with",
                "would take 0.0 GiB, of which",
                "these methods take sparse features: arga, ",
                "Fewer features help as well, for example those of a truncated SVD",
            ),
        ),
        (
            ("method=dgi", "filter=gnnbp"),
            ("filter=gnnbp needs dense", "; filter=none leaves the features as they are."),
        ),
        (
            ("method=grace", "negatives=grace_plus"),
            ("negatives=grace_plus needs dense", "do not read features: augcl, grape,"),
        ),
    ],
)
def test_or_are_refused(overrides: tuple[str, ...], texts: tuple[str, ...], no_room: None) -> None:
    with pytest.raises(Unsupported) as error:
        embedding(made_sparse(), *overrides)
    for text in texts:
        assert text in str(error.value)


def test_the_lists_come_from_what_classes_declare() -> None:
    assert {"gcn", "grace", "dgi", "linear", "mlp", "chebyshev"} <= {*TAKING}
    assert not {"kmeans", "sdcn", "age", "gin"} & {*TAKING}
    assert "grace_plus" not in able(NEGATIVES, "takes_sparse")


def test_a_broken_package_of_somebody_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    load = METHODS.load

    def broken(name: str) -> type:
        if name == "grace":
            raise SyntaxError("invalid syntax (theirs.py, line 1)")
        return load(name)

    monkeypatch.setattr(METHODS, "load", broken)
    assert able(METHODS, "takes_sparse") == [name for name in TAKING if name != "grace"]


def test_linear_on_sparse_rows(no_room: None) -> None:
    sparse, dense, rng = made_sparse(), DENSE, Streams(1)
    task = Classification()
    split = task.split(dense, rng)
    found = embedded(sparse, "method=linear")
    assert is_sparse(found.z)
    scores = task.evaluate(found, sparse, split, rng)
    expected = task.evaluate(Embedding(dense.x), dense, split, rng)
    assert scores == pytest.approx(dict(expected)) and scores["accuracy"] > 0.5
    unit = Classification(normalize="l2").evaluate(found, sparse, split, rng)
    assert unit["C"] > 0
    with pytest.raises(Unsupported, match="standardize makes sparse rows dense; .*normalize=l2"):
        Classification(normalize="standardize").evaluate(found, sparse, split, rng)
    with pytest.raises(Unsupported, match="40 × 60 numbers take 0.0 GiB, .* task=classification"):
        embedding_rows(found, sparse)


def test_an_embedding_without_room_is_not_written(
    no_room: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does that of an earlier attempt stay: files beside a record are of that record."""
    found = embedded(made_sparse(), "method=linear")
    (tmp_path / saving.EMBEDDING).write_bytes(b"of an earlier attempt")
    left_out = saving.save(tmp_path, ["embedding"], found, None)
    assert not [*tmp_path.iterdir()] and [*left_out] == ["embedding"]
    assert "embedding.npy is not written: this reads the embedding as a dense" in caplog.text


def test_an_embedding_without_room_is_asked_for_once(
    no_room: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, runs = f"{tmp_path}/g.npz", f"{tmp_path}/runs"
    np.savez(file, x=MATRIX.toarray(), edge_index=EDGES, y=np.arange(NODES) % 2)
    command = ["method=linear", "dataset=custom", f"dataset.path={file}", f"runs_dir={runs}"]
    command += ["task=classification", "save=[embedding]", "rerun=incomplete"]
    assert main(command) == 0
    (record,) = Store(runs).scan()
    assert record.ok and "40 × 60 numbers take" in record.fit["too_large"]["embedding"]
    assert main([*command, "--dry-run"]) == 0
    assert f"1 is recorded in {runs}, 0 are to be done" in capsys.readouterr().out
    assert main(["embed", record.id, "--runs", runs, "--output", f"{tmp_path}/z.npy"]) == 1
    told = capsys.readouterr().err
    assert f"run {record.id} left no embedding: this reads the embedding as a dense" in told


def test_rows_that_are_alike_are_seen(always: None) -> None:
    alike = scipy.sparse.csr_matrix(np.tile(MATRIX[0].toarray(), (5, 1)))
    for rows, text in ((alike, "rows of the embedding are alike"), (alike * 0, "row .* is zero")):
        (found,) = collapse_of(Embedding(features.compressed_of(scipy.sparse.csr_matrix(rows))))
        assert re.search(text, found)
    assert collapse_of(Embedding(features.compressed_of(MATRIX))) == ()


# --- the first layer


def test_products_masks_and_norms_of_compressed_rows() -> None:
    signed = MATRIX.copy()
    signed.data[::3] *= -1
    dense, sparse = torch.from_numpy(signed.toarray()), features.compressed_of(signed)
    weight = torch.randn(WIDTH, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    keep = torch.arange(WIDTH) % 3 > 0
    for normalise in (False, True):
        found = Features(sparse, normalise).product(weight, keep)
        x = normalised_rows(dense) if normalise else dense
        expected = (x * keep) @ weight
        torch.testing.assert_close(found, expected)
        slopes = [torch.autograd.grad(y.square().sum(), weight)[0] for y in (found, expected)]
        torch.testing.assert_close(*slopes)
    rows = normalised_rows(sparse)
    assert is_sparse(rows)
    torch.testing.assert_close(rows.to_dense(), normalised_rows(dense))


def test_chosen_rows_and_unit_rows_of_compressed_rows() -> None:
    dense, sparse = torch.from_numpy(MATRIX.toarray()), features.compressed_of(MATRIX)
    chosen = torch.tensor([5, 3, 3, 0])
    assert torch.equal(rows_of(sparse, chosen).to_dense(), dense[chosen])
    assert torch.equal(torch.cat([part.to_dense() for part in in_groups(sparse, 7)]), dense)
    torch.testing.assert_close(unit_rows(sparse).to_dense(), unit_rows(dense))


@pytest.mark.parametrize("strategy", ["progcl_mix", "imix", "nml"])
def test_strategies_that_mix_rows(strategy: str, request: Any) -> None:
    asked = ["method=dmat_i", "filter=none", f"negatives={strategy}"]
    asked += ["negatives.start_epoch=1"] * (strategy == "progcl_mix")
    expected = embedded(DENSE, *asked)
    request.getfixturevalue("no_room")
    found = embedded(made_sparse(), *asked)
    torch.testing.assert_close(found.z, expected.z, rtol=1e-3, atol=1e-5)
    assert found.contrast is not None and expected.contrast is not None
    torch.testing.assert_close(found.contrast.u, expected.contrast.u, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("binary", [True, False])
def test_columns_of_compressed_rows_are_dropped_alike(binary: bool) -> None:
    centrality = torch.arange(NODES).double() + 1
    found, expected = (
        column_dropping(centrality, x, binary)
        for x in (features.compressed_of(MATRIX), torch.from_numpy(MATRIX.toarray()))
    )
    torch.testing.assert_close(found, expected)


# --- large ones

STEP = """
import resource, sys
import numpy as np, scipy.sparse as sp
nodes, width, folder, method = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
rng = np.random.default_rng(0)
x = sp.csr_matrix((np.ones(5 * nodes, np.float32), rng.integers(0, width, 5 * nodes),
                   np.arange(0, 5 * nodes + 1, 5)), shape=(nodes, width))
y = np.arange(nodes) % 2
edges = rng.integers(0, nodes, (2, 2 * nodes))
np.savez(folder + "/g.npz", x_data=x.data, x_indices=x.indices, x_indptr=x.indptr,
         x_shape=x.shape, edge_index=edges, y=y)
del x, edges
from gclbench.cli import main
code = main([f"method={method}", "method.epochs=1", "task=classification", "dataset=custom",
             f"dataset.path={folder}/g.npz", f"runs_dir={folder}/runs", "device=cpu",
             *sys.argv[5:]])
print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "GiB")
sys.exit(code)
"""


def peak(folder: Path, nodes: int, width: int, *settings: str) -> float:
    """GiB of memory that a file, a training step and a classification take at most."""
    done = subprocess.run(
        [sys.executable, "-c", STEP, str(nodes), str(width), str(folder), *settings],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GCLBENCH_DATA": str(folder / "cache")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.stdout.write(f"{nodes:,} × {width:,} {settings[0]}: {done.stdout.splitlines()[-1]}\n")
    return float(done.stdout.splitlines()[-1].split()[1])


@pytest.mark.slow
def test_a_million_columns(tmp_path: Path) -> None:
    """Dense they would take 75 GiB."""
    assert peak(tmp_path, 20_000, 1_000_000, "gcn") < 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [("gcn",), ("grace", "method.architecture=[8,8]", "method.projector=0")]
)
def test_two_million_nodes_of_a_million_columns(tmp_path: Path, settings: Any) -> None:
    """Dense they would take 7.3 TiB. GRACE contrasts pairs of all nodes, so its nodes are fewer."""
    nodes = 2_000_000 if settings[0] == "gcn" else 50_000
    assert peak(tmp_path, nodes, 1_000_000, *settings) < 6


def test_a_generated_graph_beyond_the_memory_is_refused_at_once() -> None:
    with pytest.raises(
        GraphError, match=r"10,000,000,000 × 64 features .* need 9,\d+.\d GiB of mem"
    ):
        SBM(nodes=10_000_000_000).load()
