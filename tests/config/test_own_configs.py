"""`--config-dir DIR`: a user's own configs become part of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.cli import main
from gclbench.config.overrides import ConfigErrors
from gclbench.config.own_configs import with_own_configs
from gclbench.config.validation import experiment_of
from gclbench.records import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file of each kind that there is."""
    root = tmp_path / "own"
    files = {
        "config.yaml": "seeds: 2\nruns_dir: my runs\ndataset: acm\n",
        "method/grace.yaml": "tau: 0.3\npaper:\n  cora: {lr: 1e-3, edge_drop: [0.1, 0.2]}\n",
        "method/mine.yaml": "defaults: [grace, _self_]\nnegatives: nml\nweight_decay: 0.5\n",
        "filter/gnnbp.yaml": "alpha: 0.4\n",
        "task/clustering.yaml": "n_init: 3\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "name,text",
    [
        ("launcher/slurm.yaml", "partition: gpu\nextra: {qos: long}\n"),
        ("config.yaml", "launcher: {partition: gpu, extra: {qos: long}}\n"),
    ],
)
def test_a_mapping_is_one_setting(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    words = extended(tmp_path, "method=grace", "dataset=cora", "launcher=slurm")
    assert words[3:] == ["launcher.partition=gpu", "launcher.extra={qos:long}"]
    assert experiment_of([*words, "device=cpu"]).launcher.extra == {"qos": "long"}


def extended(folder: Path, *words: str) -> list[str]:
    (found,) = with_own_configs(folder, [list(words)])
    experiment_of([*found, "device=cpu"])
    return found


def test_files_speak_for_what_is_chosen(folder: Path) -> None:
    assert extended(folder, "method=dmat_i", "dataset=cora", "task=classification") == [
        "method=dmat_i",
        "dataset=cora",
        "task=classification",
        "seeds=2",
        "runs_dir='my runs'",
        "filter.alpha=0.4",
    ]


def test_a_row_of_the_dataset_stands_above_and_what_is_typed_above_all(folder: Path) -> None:
    words = ["method=grace", "dataset=cora", "task=clustering", "method.tau=0.9", "seeds=1"]
    assert extended(folder, *words)[5:] == [
        "runs_dir='my runs'",
        "method.lr=0.001",
        "method.edge_drop=[0.1,0.2]",
        "task.clustering.n_init=3",
    ]
    assert "method.lr=0.001" not in extended(folder, "method=grace", "task=tsne")


def test_a_name_of_ones_own_is_a_component_with_other_settings(folder: Path) -> None:
    found = extended(folder, "method=mine", "dataset=cora", "task=[clustering,classification]")
    assert found[0] == "method=grace" and "negatives=nml" in found
    assert extended(folder, "method=mine")[0] == "method=grace"
    assert {"method.tau=0.3", "method.weight_decay=0.5", "method.lr=0.001"} <= set(found)
    assert found[2] == "task=[clustering,classification]"


def test_the_record_has_it_and_its_command_needs_no_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "config.yaml").unlink()
    (folder / "method" / "kmeans.yaml").write_text("")
    words = ["method=kmeans", "dataset=digits", "task=clustering", "device=cpu"]
    (folder / "dataset").mkdir()
    assert main([*words, "--config-dir", str(folder)]) == 0
    (record,) = Store("runs").scan()
    assert record.spec["task"]["n_init"] == 3
    assert "task.clustering.n_init=3" in record.command and "config-dir" not in record.command


def test_a_sweep_has_names_of_its_own_too(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["-m", "method=mine,dgi", "dataset=digits", "task=clustering", "--dry-run"]
    assert main([*words, "--config-dir", str(folder)]) == 0
    assert "4 runs: 0 are recorded in my runs" in capsys.readouterr().out
    named = [*words, "mine.tau=0.2,0.3", "--config-dir", str(folder)]
    assert main(named) == 0
    assert "6 runs: 0 are recorded in my runs" in capsys.readouterr().out
    assert main([*words, "grace.tau=0.2", "--config-dir", str(folder)]) == 2
    told = capsys.readouterr().err
    assert "'grace.tau=0.2' is a setting of grace, which no run of the sweep has" in told
    assert main(["show", "method=mine", "dataset=cora", "--config-dir", str(folder)]) == 0
    assert "weight_decay: 0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("methods/grace.yaml", "", "is read by nothing; files are config.yaml and KIND/NAME.yaml"),
        ("method/a/b.yaml", "", "is read by nothing"),
        ("method/grace.yml", "", "grace.yml is read by nothing; name it method/grace.yaml"),
        ("method/grace.yaml", "- tau", "holds no settings"),
        ("method/grace.yaml", "tau: [", "cannot be read as YAML"),
        ("method/mine.yaml", "tau: 1", "is of no method that exists; a new name starts from one"),
        ("method/mine.yaml", "defaults: [mine]", "starts from itself"),
        (
            "method/mine.yaml",
            "defaults: [gracee]",
            "mine.yaml starts from 'gracee', and no method is called so; defaults: [grace, _self_]",
        ),
        ("method/kmeans.yaml", "lr: 1", "method 'kmeans' has no settings, and this sets lr"),
        ("method/grace.yaml", "epochz: 3", "grace.yaml: 'method.epochz' does not exist. Did you"),
        (
            "method/mine.yaml",
            "defaults: [grace]\npaper: {cora: {epochz: 3}}",
            "mine.yaml: 'method.epochz' does not exist. Did you mean 'method.epochs'? Known of",
        ),
        ("method/grace.yaml", "paper: 3", "paper has the settings of each dataset under its name"),
        (
            "method/grace.yaml",
            "paper: {corra: {lr: 1}}",
            "grace.yaml: paper has a row of 'corra', which is no dataset. Did you mean 'cora'?",
        ),
        ("method/grace.yaml", "paper: {cora: 5}", "paper has the settings of each dataset"),
        ("method/grace.yaml", "defaults: 5", "defaults is a list of names"),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / "own" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    chosen = "mine" if "mine" in name else "kmeans" if "kmeans" in name else "grace"
    with pytest.raises(ConfigErrors) as caught:
        with_own_configs(tmp_path / "own", [[f"method={chosen}", "dataset=cora"]])
    assert message in str(caught.value)


def test_a_graph_of_ones_own_is_called_by_name_in_a_file(tmp_path: Path) -> None:
    """`dataset.name` is the word for it; the class has `called`."""
    path = tmp_path / "dataset" / "mine.yaml"
    path.parent.mkdir()
    path.write_text("defaults: [custom]\npath: x.npz\nname: hello\n")
    (found,) = with_own_configs(tmp_path, [["method=grace", "dataset=mine"]])
    assert found[1:] == ["dataset=custom", "dataset.path=x.npz", "dataset.name=hello"]


def test_a_folder_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["method=grace", "--config-dir", "nowhere"]) == 2
    assert "--config-dir nowhere: there is no such folder" in capsys.readouterr().err
