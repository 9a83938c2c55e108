"""launcher=slurm without a Slurm: settings, what is handed over, and what its commands say."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from gclbench.component.settings import bind
from gclbench.launch import slurm_queue
from gclbench.launch.launcher import ENDED, QUEUED, RUNNING, LaunchError
from gclbench.launch.slurm import Slurm, minutes, packed, setup
from gclbench.launch.sweep import Sweep
from gclbench.records import StoreError
from gclbench.run.unit import Unit

Commands = Callable[..., None]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Makes Slurm's commands of shell scripts: `commands(squeue="echo …")`; those not named succeed
    in silence."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def make(**scripts: str) -> None:
        for name in {*slurm_queue.PROGRAMS, "sinfo", *scripts}:
            path = folder / name
            path.write_text(f"#!/bin/sh\n{textwrap.dedent(scripts.get(name, 'true'))}\n")
            path.chmod(0o755)

    return make


UP = "echo 'Slurmctld(primary) at head is UP'"


def errors_of(**settings: object) -> list[str]:
    errors: list[str] = []
    bind(Slurm, dict(settings), "launcher", errors)
    return errors


def test_settings_become_options_of_sbatch() -> None:
    launcher = Slurm(
        partition="gpu",
        mem="16G",
        cpus=4,
        gpus="a100:1",
        extra={"--mail_type": "END", "exclusive": "True", "requeue": "false"},
    )
    assert launcher.options() == {
        "partition": "gpu",
        "mem": "16G",
        "cpus-per-task": 4,
        "gpus-per-node": "a100:1",
        "mail-type": "END",
        "exclusive": True,
    }
    assert Slurm().options() == {"cpus-per-task": 1, "requeue": True}


def test_extra_comes_from_the_command_line() -> None:
    from gclbench.config.validation import experiment_of

    launcher = experiment_of(
        ["launcher=slurm", "launcher.extra={qos:long,mail-type:END}", "launcher.time=2-00:00:00"]
    ).launcher
    assert launcher.extra == {"qos": "long", "mail-type": "END"} and minutes(launcher.time) == 2880


@pytest.mark.parametrize(
    "text,expected",
    [
        ("90", 90),
        ("2:30", 3),
        ("1:30:00", 90),
        ("4:00:01", 241),
        ("2-0", 2880),
        ("1-02:03", 1563),
        ("1-02:03:04", 1564),
    ],
)
def test_time_is_read_as_slurm_reads_it(text: str, expected: int) -> None:
    assert minutes(text) == expected


@pytest.mark.parametrize("text", ["soon", "1h", "", "1:2:3:4", "-5", "0"])
def test_a_time_that_slurm_would_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="time="):
        minutes(text)


def test_wrong_settings_are_named_together_with_what_is_right() -> None:
    assert errors_of(partion="gpu", cpus=0, array_parallelism="many") == [
        "'launcher.partion' does not exist. Did you mean 'launcher.partition'? Known: "
        + ", ".join(f"launcher.{name}" for name in Slurm.__dataclass_fields__),
        "launcher.cpus=0 is out of range: it must be ≥ 1, for example 1",
        "launcher.array_parallelism='many' must be a whole number",
    ]
    assert errors_of(extra="long") == [
        "launcher.extra='long' must be a mapping, for example {name:value}"
    ]
    (error,) = errors_of(extra={"nodes": "2"})
    assert (
        error == "launcher: extra={nodes:…}: a run is one task on one node; launcher.cpus and"
        " launcher.gpus make it larger"
    )
    (error,) = errors_of(extra={"time": "5"})
    assert error == "launcher: extra={time:…} has a name of its own: launcher.time=…"
    (error,) = errors_of(extra={"--output": "x"})
    assert error == "launcher: extra={--output:…} is set by the launcher itself; leave it out"
    (error,) = errors_of(time="2")
    assert "too short for signal_delay=90 s" in error and "launcher.signal_delay=40" in error
    assert errors_of(time="2", signal_delay=40) == []


def test_units_are_packed_and_an_array_never_exceeds_what_slurm_takes() -> None:
    assert packed([3, 4, 5, 6, 7], 2, 1000) == [[3, 4], [5, 6], [7]]
    packs = packed(list(range(10_000)), 1, 1000)
    assert len(packs) == 1000 and sum(packs, []) == list(range(10_000))


def test_a_job_gets_folder_variables_and_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")
    monkeypatch.setenv("GCLBENCH_DATA", "it's here")
    monkeypatch.setenv("PYTHONPATH", f"src{os.pathsep}{os.pathsep}/opt/x")
    script = tmp_path / "job.sh"
    lines = [
        *setup(),
        (
            f"{sys.executable} -c 'import os; print(os.getcwd()); print(*map(os.environ.get,"
            " names.split()))'"
        ),
    ]
    names = (
        "GCLBENCH_OFFLINE GCLBENCH_DATA PYTHONPATH OMP_NUM_THREADS SRUN_CPUS_PER_TASK"
        " SLURM_EXPORT_ENV"
    )
    script.write_text("\n".join(lines).replace("names", f'"{names}"'))
    import subprocess

    answer = subprocess.run(
        ["bash", str(script)],
        env={"SLURM_CPUS_PER_TASK": "3", "PATH": "/bin"},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert answer.stdout.splitlines() == [
        str(folder),
        f"1 it's here {folder}/src:/opt/x 3 3 ALL",
    ], answer.stderr


def test_no_slurm_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        LaunchError,
        match="sbatch, squeue, scancel, scontrol, srun not found on PATH.*launcher=local",
    ):
        slurm_queue.check_answering()


def test_no_submitit_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(LaunchError, match=r"needs submitit: pip install 'gclbench\[slurm\]'"):
        Slurm().check()


def test_a_controller_that_does_not_answer(commands: Commands) -> None:
    commands(scontrol="echo 'Slurmctld(primary) at head is DOWN'")
    with pytest.raises(
        LaunchError, match=r"controller does not answer \(Slurmctld\(primary\) at head is DOWN\)"
    ):
        slurm_queue.check_answering()
    commands(scontrol=UP)
    slurm_queue.check_answering()


def test_a_command_that_hangs(commands: Commands) -> None:
    commands(squeue="exec sleep 20")
    with pytest.raises(LaunchError, match="`squeue` gave no answer in 0.2 s; is the cluster up"):
        slurm_queue.ask("squeue", patience=0.2)


def test_options_that_slurm_refuses_are_reported_before_anything_is_handed_over(
    commands: Commands,
) -> None:
    commands(
        sbatch="echo 'sbatch: error: invalid partition specified: gpus' >&2; exit 1",
        sinfo="echo gpu; echo cpu; echo gpu",
    )
    with pytest.raises(
        LaunchError,
        match=(
            r"invalid partition specified: gpus .*Partitions: cpu, gpu. Did you mean"
            r" launcher.partition=gpu"
        ),
    ):
        slurm_queue.check_options(["--partition=gpus"])
    commands(
        sbatch=(
            "echo 'allocation failure: Requested node configuration is not available' >&2; exit 1"
        )
    )
    with pytest.raises(
        LaunchError, match=r"node configuration is not available \(sbatch --mem=9T\); `sinfo -o"
    ):
        slurm_queue.check_options(["--mem=9T"])
    commands(sbatch="echo 'sbatch: error: Invalid qos specification' >&2; exit 1")
    with pytest.raises(LaunchError, match="Invalid qos specification"):
        slurm_queue.check_options(["--qos=x"])


def test_a_cluster_whose_nodes_are_down_takes_jobs_all_the_same(commands: Commands) -> None:
    commands(
        sbatch=(
            "echo 'allocation failure: Required node not available (down, drained or reserved)'"
            " >&2; exit 1"
        )
    )
    slurm_queue.check_options([])


def test_states_of_jobs(commands: Commands, tmp_path: Path) -> None:
    commands(
        squeue=f"""
        echo "$@" > {tmp_path}/asked
        echo '12_0|RUNNING|None'
        echo '12_1|PENDING|Resources'
        echo '12_2|OUT_OF_MEMORY|OutOfMemory'
        echo '13|COMPLETING|None'
        """
    )
    found = slurm_queue.states(["12_0", "12_1", "12_2", "12_3", "13"])
    assert [(job, state.phase) for job, state in found.items()] == [
        ("12_0", RUNNING),
        ("12_1", QUEUED),
        ("12_2", ENDED),
        ("12_3", ENDED),
        ("13", RUNNING),
    ]
    assert (
        found["12_2"].word == "OUT_OF_MEMORY"
        and found["12_1"].reason == "Resources"
        and found["12_3"].word == ""
    )
    assert "--jobs=12,13" in (tmp_path / "asked").read_text()


def test_a_job_that_slurm_has_forgotten_has_ended_and_silence_is_no_end(commands: Commands) -> None:
    commands(squeue="echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert slurm_queue.states(["7"])["7"].phase == ENDED
    commands(
        squeue=(
            "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)'"
            " >&2; exit 1"
        )
    )
    with pytest.raises(
        LaunchError, match="squeue does not answer: .*Unable to contact slurm controller"
    ):
        slurm_queue.states(["7"])


def test_cancel_ends_arrays_as_a_whole(commands: Commands, tmp_path: Path) -> None:
    commands(scancel=f'echo "$@" >> {tmp_path}/cancelled')
    slurm_queue.cancel(["12_0", "12_1", "9"])
    slurm_queue.cancel([])
    assert (tmp_path / "cancelled").read_text() == "12 9\n"
    commands(
        scancel=(
            "echo 'scancel: error: Kill job error on job id 12: Access/permission denied' >&2;"
            " exit 1"
        )
    )
    with pytest.raises(LaunchError, match="scancel does not end 12: .*Access/permission denied"):
        slurm_queue.cancel(["12_0"])


def test_the_largest_array(commands: Commands) -> None:
    commands(scontrol="echo 'MaxArraySize            = 501'")
    assert slurm_queue.largest_array() == 501


@pytest.mark.parametrize("setting", ["launcher.folder", "runs_dir"])
def test_a_folder_that_cannot_be_written_names_what_sets_it(
    setting: str, commands: Commands, tmp_path: Path
) -> None:
    commands()
    (tmp_path / "file").write_text("")
    there = str(tmp_path / "file" / "below")
    unit = Unit("dmat", "cora", (), 0, ("clustering",), ("0" * 16,), "0" * 64, ("",))
    runs, folder = (str(tmp_path), there) if setting == "launcher.folder" else (there, "")
    with pytest.raises(StoreError) as caught:
        Slurm(folder=folder).submit(Sweep(runs, (unit,), "slurm", {}))
    assert f"({setting}=FOLDER sets where " in caught.value.args[1]
