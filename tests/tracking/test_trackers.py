"""The files of TensorBoard, MLflow and Weights & Biases, read back."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from gclbench.records import Store

COMMAND = ["dataset=digits", "task=clustering", "method.epochs=12", "device=cpu", "runs_dir=runs"]


def gclbench(folder: Path, *words: str) -> None:
    """In a process of its own: these libraries warn about one thing or another."""
    code = "import sys; from gclbench.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *COMMAND, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and "tracking=" not in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("tensorboard") is None,
    reason="tensorboard is not installed: pip install 'gclbench[tensorboard]'",
)
def test_tensorboard_shows_what_the_record_says(tmp_path: Path) -> None:
    gclbench(tmp_path, "tracking=tensorboard")
    (record,) = Store(tmp_path / "runs").scan()
    (folder,) = (path for path in (tmp_path / "runs" / record.id).iterdir() if path.is_dir())
    assert folder.name == "dmat_i-uniform-digits-clustering-0"
    code = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]); events.Reload()
scalars = {
    name: [[event.step, event.value] for event in events.Scalars(name)]
    for name in events.Tags()["scalars"]
}
texts = {
    name: events.Tensors(name)[0].tensor_proto.string_val[0].decode()
    for name in events.Tags()["tensors"]
}
print(json.dumps({"scalars": scalars, "texts": texts}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["scalars"].pop("loss") == [
        [step, pytest.approx(loss)] for step, loss in record.fit["curve"]
    ]
    assert found["scalars"] == {
        f"metric/{name}": [[12, pytest.approx(value)]] for name, value in record.metrics.items()
    }
    assert f"| id | {record.id} |" in found["texts"]["settings/text_summary"]
    assert "| method.epochs | 12 |" in found["texts"]["settings/text_summary"]
    assert "| status | ok |" in found["texts"]["outcome/text_summary"]
    assert list(Store(tmp_path / "runs").scan()) == [record], "the store is as readable as before"


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("mlflow") is None, reason="mlflow is not installed: pip install 'gclbench[mlflow]'"
)
def test_mlflow_shows_what_the_record_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    gclbench(tmp_path, "tracking=mlflow")
    gclbench(tmp_path, "tracking=mlflow", "rerun=all")
    (record,) = Store(tmp_path / "runs").scan()
    (run,) = (path.parent for path in (tmp_path / "runs" / "mlruns").glob("*/*/metrics"))
    assert (run / "tags" / "gclbench.id").read_text() == record.id, (
        "a run that is repeated is one run"
    )
    assert (run / "params" / "method.epochs").read_text() == "12"
    assert (run / "tags" / "gclbench.status").read_text() == "ok"
    curve = [line.split() for line in (run / "metrics" / "loss").read_text().splitlines()]
    assert [[int(step), float(loss)] for _, loss, step in curve] == 2 * record.fit["curve"]
    assert float((run / "metrics" / "acc").read_text().split()[1]) == record.metrics["acc"]


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("wandb") is None, reason="wandb is not installed: pip install 'gclbench[wandb]'"
)
def test_wandb_offline_shows_what_the_record_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    gclbench(tmp_path, "tracking=wandb")
    (record,) = Store(tmp_path / "runs").scan()
    (file,) = (tmp_path / "runs" / "wandb").glob("offline-run-*/run-*.wandb")
    assert file.name == f"run-{record.id}.wandb"
    code = """
import json, sys
from wandb.proto import wandb_internal_pb2
def records(data, at=7, size=32768):
    # A LevelDB log after seven bytes: crc (4), length (2), type (1), and the bytes.
    whole = b""
    while at + 7 <= len(data):
        left = size - at % size
        if left < 7:
            at += left
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield whole
            whole = b""
found = {"loss": [], "config": {}, "summary": {}}
for data in records(open(sys.argv[1], "rb").read()):
    item = wandb_internal_pb2.Record(); item.ParseFromString(data)
    kind = item.WhichOneof("record_type")
    if kind == "run":
        found["name"] = item.run.display_name
        found["config"].update({one.key: one.value_json for one in item.run.config.update})
    if kind == "history":
        values = {(one.key or ".".join(one.nested_key)): json.loads(one.value_json)
                  for one in item.history.item}
        if "loss" in values:
            found["loss"].append([values["_step"], values["loss"]])
    if kind == "summary":
        found["summary"].update({(one.key or ".".join(one.nested_key)): json.loads(one.value_json)
                                 for one in item.summary.update})
    if kind == "exit":
        found["exit"] = item.exit.exit_code
print(json.dumps(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["name"] == "dmat_i-uniform-digits-clustering-0" and found["exit"] == 0
    assert found["config"]["method.epochs"] == "12"
    assert found["loss"] == [[step, pytest.approx(loss)] for step, loss in record.fit["curve"]]
    assert found["summary"]["acc"] == pytest.approx(record.metrics["acc"])
    assert found["summary"]["gclbench.status"] == "ok"
    assert list(Store(tmp_path / "runs").scan()) == [record], "the store is as readable as before"
