"""list, show, status and data; the table verbs have tests of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from gclbench.cli import main
from gclbench.cli.list import PLURALS
from gclbench.component.registry import KINDS
from gclbench.data.catalog import CATALOG
from gclbench.records import Record, Store

Output = pytest.CaptureFixture[str]


def stored(
    seed: int = 0,
    status: str = "ok",
    folder: str = "runs",
    method: str = "kmeans",
    run_id: str | None = None,
) -> Record:
    spec = {
        "dataset": {"name": "digits"},
        "filter": {"name": "none"},
        "method": {"name": method},
        "negatives": {"name": "uniform"},
        "task": {"name": "clustering"},
        "seed": seed,
    }
    record = Record(
        run_id or f"{seed:02d}abcdef01234567"[:16],
        spec,
        status,
        {"acc": 0.5} if status == "ok" else {},
        "" if status == "ok" else "it broke",
    )
    Store(folder).write(record)
    return record


# --- list


def test_list_shows_every_component_of_every_kind(capsys: Output) -> None:
    assert main(["list"]) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [f"{kind}=" for kind in KINDS]
    for block, registry in zip(blocks, KINDS.values(), strict=True):
        assert [line.split()[0] for line in block.splitlines()[1:]] == registry.names()


def test_every_component_says_what_it_is(capsys: Output) -> None:
    for kind in KINDS:
        assert main(["list", kind]) == 0
        for line in capsys.readouterr().out.splitlines():
            name, _, summary = line.strip().partition("  ")
            assert len(summary.strip()) > 10, f"{kind} {name} has no summary"


@pytest.mark.parametrize("kind", [*PLURALS, *PLURALS.values(), "negatives"])
def test_list_one_kind_in_singular_or_plural(kind: str, capsys: Output) -> None:
    assert main(["list", kind]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == KINDS[PLURALS.get(kind, kind)].names()


@pytest.mark.parametrize(
    "word,guess",
    [
        ("method s", "methods"),
        ("modles", "methods"),
        ("datsets", "datasets"),
        ("negative", "negatives"),
    ],
)
def test_an_unknown_kind(word: str, guess: str, capsys: Output) -> None:
    assert main(["list", word]) == 2
    assert (
        capsys.readouterr().err
        == f"gclbench list: there is no kind '{word}'. Did you mean '{guess}'? Kinds: datasets,"
        " filters, methods, negatives, tasks\n"
    )


# --- show


def test_show_a_dataset(capsys: Output) -> None:
    assert main(["show", "dataset=digits"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("digits: Handwritten digits (scikit-learn), 1797 images")
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in out.splitlines()[1:]}
    assert (lines["nodes"], lines["features"], lines["classes"]) == ("1797", "64", "10")


def test_show_a_dataset_at_other_settings_and_of_ones_own(capsys: Output) -> None:
    assert main(["show", "dataset=sbm", "dataset.nodes=50"]) == 0
    assert "  nodes         50\n" in capsys.readouterr().out
    np.savez("own.npz", x=np.eye(4), edge_index=np.array([[0, 1, 1], [1, 2, 1]]))
    assert main(["show", "dataset=custom", "dataset.path=own.npz"]) == 0
    out = capsys.readouterr().out
    assert "  repaired      1 self-loop(s) dropped.\n" in out and "isolated" in out


def test_show_a_dataset_that_is_not_there(capsys: Output) -> None:
    assert main(["show", "dataset=cora"]) == 1
    assert "gclbench: dataset 'cora'" in capsys.readouterr().err
    assert main(["show", "dataset=corra"]) == 2
    assert "Did you mean 'cora'?" in capsys.readouterr().err


def test_show_a_configuration_is_yaml_of_every_setting(capsys: Output) -> None:
    assert main(["show", "method=dmat_i", "dataset=cora", "method.tau=3"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert (
        shown["method"]["name"] == "dmat_i"
        and shown["method"]["tau"] == 3
        and shown["method"]["lr"] == 1e-4
    )
    assert shown["filter"]["alpha"] == 0.1 and set(shown["task"]) == {
        "clustering",
        "classification",
        "link_prediction",
    }
    assert "paper" not in shown and shown["seeds"] == 1


def test_show_a_wrong_configuration(capsys: Output) -> None:
    assert main(["show", "method=dmat_i", "method.tau=-1", "lr=1"]) == 2
    err = capsys.readouterr().err
    assert "method.tau=-1 is out of range" in err and "Did you mean 'method.lr'?" in err


def test_show_a_run_by_the_start_of_its_id(capsys: Output) -> None:
    record = stored(1)
    stored(2, folder="results")
    assert main(["show", record.id[:2]]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == record.id
    assert main(["show", "02"]) == 0
    assert json.loads(capsys.readouterr().out)["spec"]["seed"] == 2
    assert main(["show", "0"]) == 2
    assert capsys.readouterr().err.startswith(
        "gclbench show: 2 runs start with '0': 01abcdef01234567, 02abcdef01234567; give more of"
        " the id"
    )
    assert main(["show", "ff"]) == 2
    told = (
        "no run whose id starts with 'ff' in runs, results; `gclbench export --runs runs results"
        " --format csv` lists what is there, ids first"
    )
    assert told in capsys.readouterr().err
    assert main(["show", "sbm"]) == 2
    assert (
        capsys.readouterr().err == "gclbench show: 'sbm' is a dataset: gclbench show dataset=sbm\n"
    )
    for name, told in (
        ("dmat/1", "a table: gclbench table dmat/1"),
        ("dmat/2", "a table and a figure: gclbench table dmat/2, gclbench figure dmat/2"),
        ("nml/3", "a figure: gclbench figure nml/3"),
    ):
        assert main(["show", name]) == 2
        assert capsys.readouterr().err == f"gclbench show: '{name}' is {told}\n"
    assert main(["show", "ff", "--runs", "nowhere"]) == 2
    assert "there is no folder 'nowhere'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["show", "--runs", "runs", "ff"])
    assert "say first what to show: gclbench show ID" in capsys.readouterr().err


def test_show_a_run_of_another_store(capsys: Output) -> None:
    stored(7, folder="elsewhere")
    assert main(["show", "07", "--runs", "elsewhere"]) == 0
    assert json.loads(capsys.readouterr().out)["spec"]["seed"] == 7


def test_show_says_that_another_seed_ran_with_other_instructions(capsys: Output) -> None:
    for seed, found in ((1, {"instructions": "AVX2"}), (2, {"instructions": "AVX512"}), (3, {})):
        run = stored(seed)
        Store("runs").write(replace(run, environment={**run.environment, **found}))
    assert main(["show", "01"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["environment"]["instructions"] == "AVX2"
    assert err == (
        "not computed alike: instructions: this run AVX2; its cell AVX2 (1 run), AVX512 (1 run),"
        " not recorded (1 run)\n"
    )


def test_show_takes_one_run(capsys: Output) -> None:
    assert main(["show", "01", "02"]) == 2
    assert capsys.readouterr().err == "gclbench show: give one run id, or KEY=VALUE overrides\n"


# --- status


def test_status_counts_by_method_dataset_and_task_and_names_troubles(capsys: Output) -> None:
    stored(0)
    stored(1)
    assert main(["status"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 runs, 0 not ok"
    bad = stored(2, "oom")
    assert main(["status"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["kmeans", "digits", "clustering", "2", "ok,", "1", "oom"]
    assert lines[1:] == [f"{bad.id}  oom: it broke", "3 runs, 1 not ok"]


def test_status_tells_a_reason_once(capsys: Output) -> None:
    bad = sorted(stored(seed, "unsupported").id for seed in range(3))
    other = stored(3, "oom")
    assert main(["status"]) == 1
    lines = capsys.readouterr().out.splitlines()
    told = {f"{bad[0]} and 2 more  unsupported: it broke", f"{other.id}  oom: it broke"}
    assert set(lines[1:3]) == told and lines[3:] == ["4 runs, 4 not ok"]


def test_status_keeps_long_names_apart(capsys: Output) -> None:
    stored(0, method="a_method_of_a_rather_long_name")
    stored(1)
    assert main(["status"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "a_method_of_a_rather_long_name  digits  clustering  1 ok",
        "kmeans                          digits  clustering  1 ok",
    ]


def test_status_of_several_stores_and_of_none(capsys: Output) -> None:
    stored(0)
    stored(1, folder="results")
    assert main(["status", "runs", "results"]) == 0
    assert "2 runs, 0 not ok" in capsys.readouterr().out
    assert main(["status", "nowhere"]) == 2
    assert (
        capsys.readouterr().err
        == "gclbench status: there is no folder nowhere; runs are recorded in runs_dir (default:"
        " runs)\n"
    )
    assert main(["status", "20261127-004147-139df7", "--runs", "results"]) == 2
    assert capsys.readouterr().err == (
        "gclbench status: 20261127-004147-139df7 is neither a folder nor a sweep of results; --runs"
        " DIR names the store that it was handed over to\n"
    )


def test_a_run_that_lies_in_two_stores_counts_once(capsys: Output) -> None:
    stored(0)
    stored(0, folder="results")
    stored(1, folder="results")
    assert main(["status", "runs", "results"]) == 0
    assert "2 runs, 0 not ok" in capsys.readouterr().out


def test_status_leaves_out_a_damaged_record(capsys: Output) -> None:
    path = Store("runs").path(stored(0).id)
    stored(1)
    path.write_text("{")
    assert main(["status"]) == 0
    assert "1 run, 0 not ok" in capsys.readouterr().out


# --- data


def test_data_alone_asks_for_an_action_only(capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["data"])
    assert "arguments are required: action (" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["data", "--help"])
    assert "by its sha256 or by its git blob id" in capsys.readouterr().out


@pytest.mark.parametrize("action", ["fetch", "verify", "path"])
def test_data_of_an_unknown_name(action: str, capsys: Output) -> None:
    assert main(["data", action, "corra", "xyzzy"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith(
        "gclbench data: there is no dataset 'corra'. Did you mean 'cora'? Known: "
    )
    assert err[1].startswith("gclbench data: there is no dataset 'xyzzy'.")


def test_data_path_and_verify_of_an_empty_cache(capsys: Output, tmp_path: Path) -> None:
    assert main(["data", "path", "cora"]) == 0
    places = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in places] == [file.path for file in CATALOG["cora"].files]
    assert all(Path(place).is_relative_to(tmp_path / "cache") for _, place in places)
    assert main(["data", "verify", "cora"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) == len(places) and all("missing" in line for line in out)


def test_data_fetch_without_network_says_what_to_do(capsys: Output) -> None:
    assert main(["data", "fetch", "cora"]) == 1
    err = capsys.readouterr().err
    assert (
        err.startswith("gclbench data: dataset 'cora'")
        and "GCLBENCH_MIRROR" in err
        and "Traceback" not in err
    )


def test_data_of_what_needs_no_files(capsys: Output) -> None:
    for action in ("fetch", "verify"):
        assert main(["data", action, "digits"]) == 0
        assert capsys.readouterr().out == "digits  needs no files\n"
    assert main(["data", "path", "digits"]) == 0
    assert capsys.readouterr().out == ""


def test_data_of_what_a_setting_chooses(capsys: Output) -> None:
    assert main(["data", "fetch", "tu"]) == 0
    assert capsys.readouterr().out == (
        "tu  has no files of its own; a run reads, or fetches, what dataset.tu_name says\n"
    )


def test_data_wants_an_action(capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["data", "download"])
    assert ended.value.code == 2 and "fetch" in capsys.readouterr().err


def test_data_fetch_and_verify_real_files(
    mirror: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv("GCLBENCH_MIRROR", str(mirror))
    assert main(["data", "fetch", "cora"]) == 0
    assert main(["data", "verify", "cora"]) == 0
    assert "missing" not in capsys.readouterr().out


@pytest.mark.parametrize("command", [["report"], ["table", "dmat/1"]])
def test_a_full_device_is_an_error_and_stays_a_device(
    here: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "runs").mkdir()
    assert main([*command, "--runs", "runs", "--output", "/dev/full"]) == 2
    assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err
    assert Path("/dev/full").is_char_device()
    assert main([*command, "--runs", "runs", "--output", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()


def test_options_may_stand_between_the_settings_that_are_shown(capsys: Output) -> None:
    Path("conf").mkdir()
    assert main(["show", "method=grace", "--config-dir", "conf", "dataset=sbm"]) == 0
    assert "name: grace" in capsys.readouterr().out


def test_a_traceback_is_shown_in_lines(capsys: Output) -> None:
    record = replace(stored(1, status="failed"), traceback="Traceback\n  first\nsecond\n")
    Store("runs").write(record)
    assert main(["show", record.id]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["traceback"] == record.traceback
    assert printed.err == "\nTraceback\n  first\nsecond\n"


@pytest.mark.parametrize("words", [["report"], ["table", "dmat/1"]])
def test_a_folder_is_no_output(words: list[str], capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main([*words, "--output", "new/"])
    assert "'new/' is a folder; name a file in it, new/FILE" in capsys.readouterr().err
    assert not Path("new").exists()
