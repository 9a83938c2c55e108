"""Full disks, read-only folders and missing permissions at every place that writes: what is
recorded stays, the error names the path."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gclbench.cli import main
from gclbench.records import Store
from gclbench.run import datasets

SMALL = (
    "dataset=sbm",
    "dataset.nodes=80",
    "dataset.classes=2",
    "dataset.features=8",
    "device=cpu",
    "task=clustering",
)
KMEANS = (*SMALL, "method=kmeans", "task.clustering.n_init=1")
FAULTS = [
    (errno.ENOSPC, "the disk is full; free some space"),
    (errno.EROFS, "the file system is read-only; choose another folder"),
    (errno.EACCES, "permission denied; choose another folder"),
]

Break = Callable[[str], None]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    datasets.load.cache_clear()
    yield folder
    datasets.load.cache_clear()


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Break:
    """From now on, files whose path holds a text cannot be put in place: the fault of the test's
    parameter `number`."""
    number = request.node.callspec.params["number"]

    def install(text: str) -> None:
        for name in ("replace", "link"):
            plain = getattr(os, name)

            def faulty(source: Any, target: Any, plain: Any = plain) -> None:
                if text in str(target):
                    raise OSError(number, os.strerror(number), str(target))
                plain(source, target)

            monkeypatch.setattr(os, name, faulty)

    return install


def texts(folder: Path) -> dict[str, str]:
    return {
        path.parent.name: path.read_text(encoding="utf-8") for path in folder.glob("*/record.json")
    }


def no_rest(folder: Path) -> bool:
    return not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize("number,cause", FAULTS)
def test_a_record(
    here: Path, breaks: Break, number: int, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*KMEANS, "seeds=2"]) == 0
    before = texts(here / "runs")
    breaks("record.json")
    capsys.readouterr()
    for more in ("seeds=4", "rerun=all"):
        assert main([*KMEANS, more]) == 1
        err = capsys.readouterr().err
        assert (
            f"/record.json: {cause}" in err
            and "gclbench: cannot write runs/" in err
            and "Traceback" not in err
        )
    assert texts(here / "runs") == before and no_rest(here)
    assert len(list(Store("runs").scan())) == 2


@pytest.mark.slow
def test_a_record_of_a_worker(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The worker is another process, so its folder is one that cannot be written: a file stands
    where a run's folder is needed."""
    from gclbench.config.validation import experiment_of
    from gclbench.launch.plan import expand

    unit = expand([experiment_of([*KMEANS, "seeds=[1]"])], Store("runs")).units[0]
    Path("runs").mkdir()
    Path("runs", unit.ids[0]).write_text("in the way")
    assert main([*KMEANS, "seeds=[0,1,2]", "launcher.workers=2"]) == 1
    assert (
        f"cannot write runs/{unit.ids[0]}/record.json: a file stands where a folder is needed"
        in capsys.readouterr().err
    )
    assert {record.status for record in Store("runs").scan()} <= {
        "ok",
        "interrupted",
    }, "the other worker was told to end"


@pytest.mark.parametrize("number,cause", FAULTS)
def test_a_checkpoint_costs_the_checkpoint_only(
    here: Path, breaks: Break, number: int, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    breaks("checkpoint.pt")
    assert main([*SMALL, "method=dmat_i", "method.epochs=3", "checkpoint_every=1e-9"]) == 0
    (record,) = Store("runs").scan()
    assert record.ok and no_rest(here)
    assert (
        f"the checkpoint runs/{record.id}/checkpoint.pt cannot be written ({os.strerror(number)})"
        in caplog.text
    )


@pytest.mark.parametrize("number,cause", FAULTS)
def test_a_sweep_that_is_handed_over(
    here: Path, breaks: Break, number: int, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    breaks("sweep.json")
    assert main(["submit", *KMEANS, "seeds=2"]) == 1
    err = capsys.readouterr().err
    assert (
        "cannot write runs/sweeps/" in err
        and f"/sweep.json: {cause}" in err
        and "Traceback" not in err
    )
    assert not texts(here / "runs") and no_rest(here), "nothing was started"


@pytest.mark.parametrize("number,cause", FAULTS)
def test_a_log(
    here: Path,
    number: int,
    cause: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import builtins

    plain = builtins.open

    def faulty(file: Any, *rest: Any, **more: Any) -> Any:
        if str(file).endswith("log.txt"):
            raise OSError(number, os.strerror(number), str(file))
        return plain(file, *rest, **more)

    monkeypatch.setattr(builtins, "open", faulty)
    assert main(["submit", *KMEANS, "seeds=2"]) == 1
    err = capsys.readouterr().err
    assert f"/log.txt: {cause}" in err and "Traceback" not in err


@pytest.mark.parametrize("number,cause", FAULTS)
def test_an_export(
    here: Path, breaks: Break, number: int, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*KMEANS]) == 0
    assert main(["export", "--to", "packed"]) == 0
    before = Path("packed/kmeans/sbm.jsonl").read_bytes()
    assert main([*KMEANS, "seeds=2"]) == 0
    breaks(".jsonl")
    capsys.readouterr()
    assert main(["export", "--to", "packed"]) == 2
    err = capsys.readouterr().err
    assert "cannot write under packed" in err and os.strerror(number) in err
    assert Path("packed/kmeans/sbm.jsonl").read_bytes() == before and no_rest(here)


@pytest.mark.parametrize("number,cause", FAULTS)
def test_the_cache_of_filtered_features_costs_the_cache_only(
    here: Path, breaks: Break, number: int, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    breaks("filtered")
    assert main([*KMEANS, "filter=gnnbp"]) == 0
    (record,) = Store("runs").scan()
    assert record.ok and record.filter_report["cached"] is False
    assert "filtered features are not kept" in caplog.text and os.strerror(number) in caplog.text


# --- a disk that is really full


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_disk_that_fills_up_during_a_sweep(
    small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = small_disk / "runs"
    assert main([*KMEANS, "seeds=200", f"runs_dir={store}"]) == 1
    err = capsys.readouterr().err
    assert (
        f"cannot write {store}" in err
        and "the disk is full; free some space" in err
        and "Traceback" not in err
    )
    before = texts(store)
    assert 3 < len(before) < 200 and no_rest(store)
    assert len(list(Store(store).scan())) == len(before) and all(
        record.ok for record in Store(store).scan()
    )
    assert main([*KMEANS, "seeds=200", f"runs_dir={store}"]) == 1, "still full"
    assert texts(store) == before
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert main([*KMEANS, f"seeds={len(before) + 2}", f"runs_dir={store}"]) == 0
    after = texts(store)
    assert len(after) == len(before) + 2 and all(
        after[run_id] == text for run_id, text in before.items()
    )


def test_a_read_only_disk(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = small_disk / "runs"
    assert main([*KMEANS, f"runs_dir={store}"]) == 0
    before = texts(store)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert main([*KMEANS, "seeds=2", f"runs_dir={store}"]) == 1
    assert f"cannot write {store}: the file system is read-only" in capsys.readouterr().err
    # What is recorded is read.
    assert main([*KMEANS, f"runs_dir={store}"]) == 0
    assert texts(store) == before


def test_a_place_where_no_folder_can_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*KMEANS, "runs_dir=/proc/nowhere/runs"]) == 1
    assert "cannot write /proc/nowhere/runs" in capsys.readouterr().err
