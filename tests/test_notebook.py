"""docs/first-hour.ipynb: it is executed from its first cell to its last; its outputs are not
committed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "first-hour.ipynb"


def test_no_output_is_committed() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own libraries
def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path[1:]))
    kernels = tmp_path / "jupyter" / "kernels" / "python3"
    kernels.mkdir(parents=True)
    # The Python of the tests, whatever kernels this machine has.
    words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernels / "kernel.json").write_text(
        json.dumps({"argv": words, "display_name": "Python 3", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (printed,) = (output.text for output in code[-1].outputs if output.output_type == "stream")
    assert "'method.tua' does not exist. Did you mean 'method.tau'?" in printed
    assert "undirected" not in code[-2].outputs[0]["data"]["text/plain"]
