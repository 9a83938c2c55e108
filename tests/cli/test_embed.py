"""`save=` and `gclbench embed`: embeddings and models of recorded runs."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gclbench
from gclbench.cli import main
from gclbench.component.registry import METHODS
from gclbench.config.validation import experiment_of
from gclbench.data.custom import read_custom
from gclbench.graph import Unsupported
from gclbench.records import RunSpec, Store
from gclbench.run.applied import embedded
from gclbench.training.weights import Weights

SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6", "device=cpu")
QUICK = (*SMALL, "method.epochs=2", "task=clustering", "task.clustering.n_init=1")
INDUCTIVE = (
    ("method=grace",),
    ("method=grace", "negatives=progcl_weight"),
    ("method=grace", "negatives=augcl"),
    ("method=nml_gcl",),
    ("method=dgi",),
    ("method=bgrl",),
    ("method=cca_ssg",),
    ("method=mvgrl",),
    ("method=mmix_mo",),
    ("method=dmat_i",),
    ("method=dmat", "task=classification"),
)


def folder() -> Path:
    """Of the only run."""
    (record,) = Store("runs").scan()
    assert record.ok, record.reason
    return Path("runs") / record.id


def other_graph(path: str = "other.npz", features: int = 6) -> str:
    rng = np.random.default_rng(0)
    nodes = np.arange(40)
    edges = np.stack([nodes, (nodes + 1) % 40])
    np.savez(path, x=rng.random((40, features), dtype=np.float32), edge_index=edges)
    return path


@pytest.mark.parametrize("settings", INDUCTIVE, ids=" ".join)
def test_a_model_gives_the_runs_embedding_and_one_of_another_graph(
    settings: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    own = [word for word in QUICK if not (word.startswith("task") and "task=" in "".join(settings))]
    assert main([*own, *settings, "save=[embedding,model]"]) == 0
    run = folder()
    saved = np.load(run / "embedding.npy")
    assert saved.dtype == np.float32 and len(saved) == 60 and saved.std() > 0
    assert np.array_equal(np.load(run / "items.npy"), np.arange(60))
    assert main(["embed", run.name[:6], "--output", "copy.npy"]) == 0
    assert np.array_equal(np.load("copy.npy"), saved)
    (run / "embedding.npy").unlink()
    assert main(["embed", run.name, "--output", "again.npy"]) == 0
    assert np.array_equal(np.load("again.npy"), saved)
    assert main(["embed", run.name, "--graph", other_graph(), "--output", "other.npy"]) == 0
    other = np.load("other.npy")
    assert other.shape == (40, saved.shape[1]) and np.isfinite(other).all() and other.std() > 0
    capsys.readouterr()


def test_what_is_saved_is_no_part_of_a_run_and_is_what_python_embeds() -> None:
    assert main([*QUICK, "method=grace"]) == 0
    bare = folder()
    before = (bare / "record.json").read_bytes()
    assert sorted(path.name for path in bare.iterdir()) == ["record.json"]
    assert main([*QUICK, "method=grace", "save=[embedding,model]", "rerun=incomplete"]) == 0
    assert folder() == bare and (bare / "record.json").read_bytes() != before
    z = gclbench.embed(*QUICK, method="grace", progress=False)
    assert np.array_equal(np.load(bare / "embedding.npy"), z)


def test_a_recorded_run_without_files_is_trained_again_only_where_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [*QUICK, "method=grace"]
    assert main(command) == 0
    run = folder()
    time = (run / "record.json").stat().st_mtime_ns
    assert main([*command, "save=[embedding]"]) == 0
    told = capsys.readouterr().err
    assert "1 lack what save=, criterion= or method.course= asks for, and rerun=incomplete" in told
    assert (run / "record.json").stat().st_mtime_ns == time
    assert main(["embed", run.name, "--output", "x.npy"]) == 1
    told = capsys.readouterr().err
    assert f"run {run.name} left no embedding beside its record" in told
    assert "'save=[embedding]' rerun=incomplete" in told
    assert main([*command, "save=[embedding]", "rerun=incomplete"]) == 0
    assert (run / "embedding.npy").is_file()
    time = (run / "record.json").stat().st_mtime_ns
    assert main([*command, "save=[embedding]", "rerun=incomplete"]) == 0
    assert (run / "record.json").stat().st_mtime_ns == time, "nothing lacks any more"


def test_a_recorded_run_without_its_course_is_trained_again_only_where_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [*QUICK, "method=mvgrl", "method.subgraph_nodes=30"]
    assert main(command) == 0
    ((run_id, before),) = ((one.id, one) for one in Store("runs").scan())
    followed = [*command, "method.course=1"]
    assert main([*followed, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "1 run: 1 is recorded in runs, 0 are to be done" in told
    assert "of those recorded 1 lack what save=, criterion= or method.course= asks for" in told
    assert main([*followed, "--dry-run", "rerun=incomplete"]) == 0
    assert "1 is recorded, and rerun=incomplete makes it again" in capsys.readouterr().out
    assert main(followed) == 0
    assert "1 lack what save=, criterion= or method.course= asks for" in capsys.readouterr().err
    assert Store("runs").read(run_id) == before and not before.data
    assert main([*followed, "rerun=incomplete"]) == 0
    after = Store("runs").read(run_id)
    assert after is not None and after.metrics == before.metrics
    assert [epochs for epochs, _ in after.data["course"]] == [0, 1, 2]
    assert main([*followed, "rerun=incomplete"]) == 0
    assert Store("runs").read(run_id) == after, "nothing lacks any more"
    assert main([*command, "save=[embedding]", "rerun=incomplete"]) == 0
    kept = Store("runs").read(run_id)
    assert (folder() / "embedding.npy").is_file()
    assert kept is not None and kept.data == after.data, "the same training, whose course stays"
    # As if other code had come to the same metrics.
    Store("runs").write(replace(kept, environment={**kept.environment, "code": "other"}))
    assert main([*command, "rerun=all"]) == 0
    other = Store("runs").read(run_id)
    assert other is not None and "course" not in other.data
    assert not [one for one in other.fit.get("remarks", ()) if "other metrics" in one]


def test_a_store_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", "ab", "--runs", "nope", "--output", "z.npy"]) == 2
    assert "there is no folder nope; --runs DIR names the store" in capsys.readouterr().err


def test_a_graph_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "method=grace", "save=[model]"]) == 0
    assert main(["embed", folder().name, "--graph", "no.npz", "--output", "o.npy"]) == 1
    assert "there is no file no.npz; give one with --graph FILE.npz" in capsys.readouterr().err


def test_another_interval_of_the_course_is_another_course() -> None:
    command = [*SMALL, "task=clustering", "method=mvgrl", "method.subgraph_nodes=30"]
    command += ["method.epochs=4", "rerun=incomplete"]

    def course(every: int) -> list[int]:
        assert main([*command, f"method.course={every}"]) == 0
        (record,) = Store("runs").scan()
        return [epochs for epochs, _ in record.data["course"]]

    assert course(2) == [0, 2, 4]
    assert course(1) == [0, 1, 2, 3, 4]
    assert course(2) == [0, 1, 2, 3, 4], "it has these already"


def test_a_course_that_a_task_cannot_score_leaves_the_run_as_it_is() -> None:
    command = [*SMALL, "method=mvgrl", "method.objective=nodes", "task=contrast", "method.epochs=2"]
    assert main([*command, "method.course=1"]) == 0
    (followed,) = Store("runs").scan()
    assert followed.ok and followed.data["course"] == []
    (remark,) = [each for each in followed.fit["remarks"] if "method.course" in each]
    assert remark.startswith("method.course keeps nothing for this task: ")
    assert main([*command, "rerun=all"]) == 0
    (plain,) = Store("runs").scan()
    assert plain.metrics == followed.metrics


def test_weights_of_a_method_on_collections_embed_no_nodes() -> None:
    other = read_custom(Path(other_graph()), "other")
    for method in ("graphcl", "mvgrl"):
        components = experiment_of([f"method={method}", "dataset=mutag"]).components
        name = {"name": method}
        spec = RunSpec({}, {"name": "none"}, name, {"name": "uniform"}, {}, 0, {}, "")
        with pytest.raises(Unsupported, match="embeds graphs, and|that embedded graphs, and"):
            embedded(components, spec, other, Weights({}, 0, 0), "cpu")


def test_files_beside_a_record_are_of_that_record() -> None:
    command = [*QUICK, "method=grace"]
    assert main([*command, "save=[embedding,model]"]) == 0
    run = folder()
    times = {path.name: path.stat().st_mtime_ns for path in run.iterdir()}
    np.save(run / "embedding.npy", np.zeros((60, 2)))
    assert main([*command, "rerun=all"]) == 0
    assert np.load(run / "embedding.npy").shape[1] > 2
    assert all(path.stat().st_mtime_ns > times[path.name] for path in run.iterdir())


def test_of_several_stores_the_one_with_the_files_is_taken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*QUICK, "method=grace", "save=[embedding]"]) == 0
    run = folder()
    without = Path("without") / run.name
    without.mkdir(parents=True)
    (without / "record.json").write_bytes((run / "record.json").read_bytes())
    for stores in (("runs", "without"), ("without", "runs")):
        assert main(["embed", run.name, "--runs", *stores, "--output", "x.npy"]) == 0
        assert np.array_equal(np.load("x.npy"), np.load(run / "embedding.npy"))
    capsys.readouterr()
    assert main(["embed", run.name, "--runs", "without", "--output", "x.npy"]) == 1
    assert f"run {run.name} left no embedding beside its record" in capsys.readouterr().err


def test_what_was_made_with_a_package_that_is_not_here_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*QUICK, "method=grace"]) == 0
    monkeypatch.delitem(METHODS.entries, "grace")
    capsys.readouterr()
    assert main(["embed", folder().name, "--output", "x.npy"]) == 1
    told = capsys.readouterr().err
    assert "the package that it was made with is not installed here: there is no method" in told


def test_files_that_are_damaged_are_told_with_what_makes_them_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*QUICK, "method=grace", "save=[embedding,model]"]) == 0
    run = folder()
    z = np.load(run / "embedding.npy")
    (run / "embedding.npy").write_bytes(b"no array")
    (run / "model.pt").write_bytes(b"no weights")
    for file in ("embedding.npy", "model.pt"):
        capsys.readouterr()
        assert main(["embed", run.name, "--output", "x.npy"]) == 1
        told = capsys.readouterr().err
        assert f"delete {run / file}, then" in told.replace("it, then", f"{run / file}, then")
        assert f"{run / file} is damaged, or" in told and "allow_pickle" not in told
        assert "features of sbm" not in told and "rerun=incomplete" in told
        (run / file).unlink()
    again = shlex.split(told.partition("keeps that: gclbench ")[2])
    assert main(again) == 0
    assert main(["embed", run.name, "--output", "x.npy"]) == 0
    assert np.array_equal(np.load("x.npy"), z)


def test_what_was_mended_of_another_graph_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "method=grace", "save=[model]"]) == 0
    held = dict(np.load(other_graph()))
    np.savez("loops.npz", x=held["x"], edge_index=np.c_[held["edge_index"], [[0], [0]]])
    capsys.readouterr()
    assert main(["embed", folder().name, "--graph", "loops.npz", "--output", "x.npy"]) == 0
    assert "loops.npz: 1 self-loop" in capsys.readouterr().err


def test_a_method_without_a_model_leaves_its_embedding_and_lacks_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [*SMALL, "method=kmeans", "task=clustering", "save=[embedding,model]"]
    assert main(command) == 0
    told = capsys.readouterr().err
    assert "1 run: method=kmeans trains no model that save= could keep" in told
    run = folder()
    assert sorted(path.name for path in run.iterdir()) == [
        "embedding.npy",
        "items.npy",
        "record.json",
    ]
    capsys.readouterr()
    assert main([*command, "rerun=incomplete"]) == 0
    assert "1 of 1 runs are recorded" in capsys.readouterr().err
    assert main(["embed", run.name, "--graph", other_graph(), "--output", "x.npy"]) == 1
    told = capsys.readouterr().err
    assert f"method=kmeans trains no model, so nothing of run {run.name} embeds another" in told


def test_two_trainings_are_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    """SDCN's watch sees a module; the method has no model that another graph could pass through."""
    settings = ["method=sdcn", "method.pretrain_epochs=1", "method.architecture=[8]"]
    assert main([*QUICK, *settings, "save=[model]"]) == 0
    assert "method=sdcn trains no model that save= could keep" in capsys.readouterr().err
    assert [path.name for path in folder().iterdir()] == ["record.json"]


def test_a_transductive_method_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["method=age", "method.update_every=1", "method.hidden=4"]
    assert main([*QUICK, *settings, "save=[model]"]) == 0
    run = folder()
    assert main(["embed", run.name, "--graph", other_graph(), "--output", "x.npy"]) == 1
    told = capsys.readouterr().err
    assert "method 'age' embeds the items that it was fitted to and no others" in told
    assert not Path("x.npy").exists()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("RUN",), 2, "name the file that the embedding is written to: --output FILE.npy"),
        (("RUN", "--output", "x.csv"), 2, "--output FILE.npy, not 'x.csv'"),
        (("RUN", "--output", "x.npy", "--device", "foo"), 2, "--device=foo must be auto, cpu,"),
        (
            ("ffffff", "--output", "x.npy"),
            2,
            "has a folder in runs; `gclbench export --runs runs --format csv` lists what is there",
        ),
        (("RUN", "--output", "wide.npz/x.npy"), 2, "cannot write wide.npz/x.npy: "),
        (
            ("RUN", "--graph", "none.npz", "--output", "x.npy"),
            1,
            "there is no file none.npz; give one",
        ),
        (
            ("RUN", "--graph", "wide.npz", "--output", "x.npy"),
            1,
            "wide.npz has 9 features; the weights have shape",
        ),
    ],
    ids=["no output", "no npy", "no device", "no run", "no folder", "no graph", "other features"],
)
def test_what_gives_no_embedding_is_told(
    words: tuple[str, ...], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, "method=grace", "save=[embedding,model]"]) == 0
    other_graph("wide.npz", features=9)
    run = folder().name
    capsys.readouterr()
    assert main(["embed", *(run if word == "RUN" else word for word in words)]) == code
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("save=weights", "save=weights must be a list of embedding, model"),
        ("criterion=accuracy", "criterion=accuracy must be null or one of validation, loss"),
        ("criterion=silhouete", "Did you mean 'silhouette'?"),
    ],
)
def test_what_cannot_be_kept_is_an_error(
    word: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, word]) == 2
    assert text in capsys.readouterr().err


def test_a_second_criterion_takes_none_from_the_first() -> None:
    """The first search chose by it, and would train everything once more."""
    words = [*QUICK, "method=grace", "rerun=incomplete"]
    for criterion in ("silhouette", "loss", "silhouette"):
        assert main([*words, f"criterion={criterion}"]) == 0
    (record,) = Store("runs").scan()
    assert sorted(record.fit["criteria"]) == ["loss", "silhouette"]
