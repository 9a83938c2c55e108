"""A user's own graphs: what identifies them, how they are called and how they are asked for."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from own_graphs import recorded, save

from gclbench.cli import main

Printed = pytest.CaptureFixture[str]

KMEANS = ("method=kmeans", "task=clustering", "task.clustering.n_init=1", "dataset=custom")


def rows(text: str) -> list[str]:
    """Dataset and method of the rows of a closing table, without the floor's."""
    lines = [line.split() for line in text.splitlines() if "  clustering  " in line]
    found = [" ".join(words[:2]) for words in lines if words[1] != "chance"]
    return list(dict.fromkeys(found))


def test_a_graph_is_its_content_however_its_path_is_written(here: Path, capsys: Printed) -> None:
    save("npz/x.npz")
    shutil.copy("npz/x.npz", "npz/copy.npz")
    paths = ("npz/x.npz", "./npz/x.npz", str(here / "npz" / "x.npz"), "npz/copy.npz")
    for path in paths:
        assert main([*KMEANS, f"dataset.path={path}"]) == 0
    assert len(recorded()) == 1
    out = capsys.readouterr().out
    assert rows(out) == ["x kmeans", "copy kmeans"], "each command shows its own name"
    assert recorded()[0].name("dataset") == "x"


def test_another_content_is_another_run(here: Path) -> None:
    save("x.npz")
    assert main([*KMEANS, "dataset.path=x.npz"]) == 0
    save("x.npz", shift=1.0)
    assert main([*KMEANS, "dataset.path=x.npz"]) == 0
    assert len({record.id for record in recorded()}) == 2


def test_a_name_stands_in_progress_tables_and_records(here: Path, capsys: Printed) -> None:
    save("x.npz")
    assert main([*KMEANS, "dataset.path=x.npz", "dataset.name=texas"]) == 0
    said = capsys.readouterr()
    assert rows(said.out) == ["texas kmeans"]
    assert "kmeans · texas · seed 0 · clustering: " in said.err
    (record,) = recorded()
    assert record.name("dataset") == "texas"
    assert "dataset.name=texas" in record.command
    shutil.rmtree("runs")
    assert main(shlex.split(record.command)[1:]) == 0
    assert recorded()[0].id == record.id and recorded()[0].name("dataset") == "texas"


@pytest.mark.parametrize(
    "name,message",
    [
        ("cora", "name=cora is the name of another dataset"),
        ("'two words'", "name='two words' must be one word"),
        ("a/b", "name='a/b' must be one word"),
    ],
)
def test_a_name_that_would_mislead_is_refused(name: str, message: str, capsys: Printed) -> None:
    save("x.npz")
    assert main([*KMEANS, "dataset.path=x.npz", f"dataset.name={name}"]) == 2
    assert message in capsys.readouterr().err


def test_a_file_called_like_a_dataset_is_not_taken_for_it(capsys: Printed) -> None:
    save("cora.npz")
    assert main([*KMEANS, "dataset.path=cora.npz"]) == 0
    out = capsys.readouterr().out
    assert rows(out) == ["cora.npz kmeans"] and "Table" not in out


def test_a_graph_that_is_recorded_under_another_name_is_told(capsys: Printed) -> None:
    save("graph.npz")
    command = [*KMEANS, "dataset.path=graph.npz"]
    assert main([*command, "dataset.name=alpha"]) == 0
    assert "under the name" not in capsys.readouterr().err
    assert main([*command, "dataset.name=beta"]) == 0
    told = "1 of the same graph under the name 'alpha', which tables show"
    assert told in capsys.readouterr().err
    assert main([*command, "dataset.name=alpha"]) == 0
    assert "under the name" not in capsys.readouterr().err


@pytest.mark.slow
def test_rows_stand_in_the_order_of_the_command(capsys: Printed) -> None:
    for name, shift in (("b", 0.0), ("a", 1.0)):
        save(f"{name}.npz", shift)
    command = ["-m", *KMEANS[1:], "method=ssgc,kmeans", "dataset.path=b.npz,a.npz"]
    for _ in range(2):
        assert main(command) == 0
        out = capsys.readouterr().out
        assert rows(out) == ["b ssgc", "b kmeans", "a ssgc", "a kmeans"]
        assert "hash" not in out and "[" not in out


def test_two_files_of_one_name_are_told_apart_by_their_folders(capsys: Printed) -> None:
    save("one/x.npz")
    save("two/x.npz", 1.0)
    both = ["-m", *KMEANS, "dataset.path=one/x.npz,two/x.npz"]
    assert main(both) == 0
    assert rows(capsys.readouterr().out) == ["one_x kmeans", "two_x kmeans"]
    assert {record.name("dataset") for record in recorded()} == {"one_x", "two_x"}
    assert main([*both, "dataset.name=x"]) == 2
    assert "dataset.name=x is the name of two graphs" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Größe.npz", "graph (1).npz", "a=b.npz", "[x].npz", "x{1}.npz"])
def test_a_path_may_hold_any_character(name: str, capsys: Printed) -> None:
    save(name)
    assert main([*KMEANS, f"dataset.path={name}"]) == 0, capsys.readouterr().err
    (record,) = recorded()
    assert main([*KMEANS, "rerun=all", f"dataset.path={name}", "seeds=2"]) == 0
    assert len(recorded()) == 2 and record.id in {one.id for one in recorded()}


def test_a_path_may_start_at_home(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setenv("HOME", str(here / "home"))
    save("home/x.npz")
    assert main([*KMEANS, "dataset.path=~/x.npz"]) == 0
    assert rows(capsys.readouterr().out) == ["x kmeans"]


def test_a_sweep_takes_such_paths_too(capsys: Printed) -> None:
    save("a (1).npz")
    save("a (2).npz", 1.0)
    assert main(["-m", *KMEANS, "dataset.path=a (1).npz,a (2).npz"]) == 0
    assert len(recorded()) == 2 and rows(capsys.readouterr().out) == [
        "a_(1) kmeans",
        "a_(2) kmeans",
    ]


@pytest.mark.parametrize(
    "command,message",
    [
        (["-m", "method=kmeans,"], "'method=kmeans,' has a comma without a value beside it; write"),
        (["dataset.path=x.npz"], "write dataset=custom dataset.path=FILE.npz"),
        (["--cfg", "job"], "there is no option '--cfg': `gclbench show method=NAME dataset=NAME`"),
        (
            ["method=grace", "dataset=cora", "--cfg=job"],
            "there is no option '--cfg=job': `gclbench show method=grace dataset=cora`",
        ),
        (["method.lr=[1"], "a '[' or ']' has no other one; a list is written method.lr=[A,B]"),
    ],
)
def test_messages_do_not_speak_of_grammar(
    command: list[str], message: str, capsys: Printed
) -> None:
    try:
        code = main(command)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    said = capsys.readouterr().err
    assert code == 2 and message in said
    for word in ("viable", "mismatched", "extraneous", "token recognition", "LexerNoViable"):
        assert word not in said


def test_show_tells_the_format_of_the_file(capsys: Printed) -> None:
    assert main(["show", "dataset=custom"]) == 0
    out = capsys.readouterr().out
    for key in ("edge_index", "x_indptr", "train_mask", "dataset.path=graph.npz"):
        assert key in out


def test_the_shown_format_is_the_one_that_is_read() -> None:
    from gclbench.data.custom import KEYS
    from gclbench.data.file_format import FORMAT

    heads = (line.split("  ")[0] for line in FORMAT.splitlines()[1:])
    assert {word.strip(",") for head in heads for word in head.split()} == set(KEYS)


def test_what_was_changed_in_a_graph_is_told_once(capsys: Printed) -> None:
    save("x.npz", edge_index=np.array([[0, 1, 2, 3], [1, 2, 2, 0]]))
    assert main([*KMEANS, "dataset.path=x.npz", "seeds=3"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said.count("x: 1 self-loop(s) dropped.") == 1
    assert said.count("x: 3 edge(s) stored in one direction only were made undirected.") == 1


def test_more_features_than_fit_into_memory_are_refused_with_their_size(capsys: Printed) -> None:
    """Two million nodes with a million features each, of which two are not zero."""
    save(
        "x.npz",
        x=None,
        x_data=np.ones(2),
        x_indices=np.array([0, 1]),
        x_indptr=np.concatenate([[0, 2], np.full(1_999_999, 2)]),
        x_shape=np.array([2_000_000, 1_000_000]),
        y=None,
    )
    assert main([*KMEANS, "task.clustering.clusters=2", "dataset.path=x.npz"]) == 1
    said = "".join(capsys.readouterr())
    assert "2,000,000 × 1,000,000 features of 'x', sparse with 2 entries, would take 7," in said
    assert "these methods take sparse features: " in said and "Traceback" not in said


def test_a_generated_graph_that_does_not_fit_is_refused(capsys: Printed) -> None:
    assert main(["method=kmeans", "dataset=sbm", "dataset.nodes=10000000000"]) == 1
    said = capsys.readouterr().err
    assert "graph 'sbm': 10,000,000,000 × 64 features" in said and "GiB of memory" in said


@pytest.mark.parametrize("method", ["gcn", "label_propagation", "linear"])
def test_a_class_without_a_training_node_is_told(method: str, capsys: Printed) -> None:
    """Also by methods that train nothing."""
    place, labels = np.arange(40), np.arange(40) % 2
    labels[38:] = 2
    masks = {
        "train_mask": place < 10,
        "val_mask": (place >= 10) & (place < 20),
        "test_mask": place >= 20,
    }
    save("x.npz", y=labels, **masks)
    words = ["dataset=custom", "dataset.path=x.npz", "task.classification.protocol=public"]
    short = ["method.epochs=2", "method.patience=0"] if method == "gcn" else []
    assert main([f"method={method}", "task=classification", *words, *short]) == 0
    told = f"{method} · x · seed 0: no training node has class 2, so nothing is learnt of it; "
    assert told in capsys.readouterr().out
    assert recorded()[0].fit["classes_without_training_nodes"] == [2]
    assert main([f"method={method}", "task=classification", *words[:2], *short, "seeds=[1]"]) == 0
    assert "no training node" not in capsys.readouterr().out


def test_random_training_nodes_are_told(capsys: Printed) -> None:
    save("x.npz")
    words = ["dataset=custom", "dataset.path=x.npz", "task=classification"]
    told = (
        "linear: every seed draws its training nodes at random"
        " (task.classification.protocol=random_10_10_80)"
    )
    assert main(["method=linear", *words, "--dry-run"]) == 0
    assert told in capsys.readouterr().out
    assert main(["method=linear", *words]) == 0
    assert told in capsys.readouterr().err
    assert main(["method=kmeans", *words, "--dry-run"]) == 0
    typed = "task.classification.protocol=random_10_10_80"
    assert main(["method=linear", *words, typed, "--dry-run"]) == 0
    assert "every seed draws" not in capsys.readouterr().out


def test_unread_graphs_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save("a.npz")
    save("b.npz", shift=1.0)
    words = ["dataset=custom", "dataset.path=a.npz,b.npz", "method=kmeans", "task=clustering"]
    assert main(["-m", *words, "seeds=2", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "4 runs: 0 are recorded in runs, 4 are to be done in 4 units" in told
    assert "kmeans · a · seed 1 · clustering" in told and "kmeans · b · seed 1" in told
