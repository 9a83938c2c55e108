"""What is imported for an answer, and until a training begins: seconds are nearly all imports.

`scripts/bench_startup.py` measures the seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from own_graphs import save

NOT_FOR_AN_ANSWER = (
    *("torch", "torch_geometric", "numpy", "scipy", "sklearn", "pandas", "statsmodels"),
    *("hydra", "matplotlib"),
)
NOT_FOR_A_TRAINING = (
    *(
        "torch._dynamo.utils",
        "torch_geometric.nn.conv",
        "scipy.stats",
        "scipy.optimize",
        "sklearn",
        "pandas",
    ),
    *("statsmodels", "hydra", "matplotlib"),
)

RUN = ["method=grace", "method.epochs=2", "task=clustering", "seeds=2"]

ANSWERS = """
import contextlib, io, json, sys
from gclbench.cli import main
for command in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main(command)
        except SystemExit as error:
            code = error.code
    print(json.dumps([code, said.getvalue(), sorted(sys.modules)]))
"""
TRAINING = """
import json, os, sys
from gclbench.cli import main
from gclbench.training import loop
def begun(*_, **__):
    print(json.dumps(sorted(sys.modules)), flush=True)
    os._exit(0)
loop.train = begun
for name in [name for name in sys.modules if name.startswith("gclbench.methods")]:
    raise SystemExit(f"{name} is imported before the command")
main(json.loads(sys.argv[1]))
"""


def asked(code: str, what: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, json.dumps(what)], capture_output=True, text=True, timeout=120
    )


def of(modules: Sequence[str], unwanted: Sequence[str]) -> list[str]:
    return [name for name in unwanted if name in modules]


@pytest.fixture
def recorded(here: Path, shell: Callable[..., subprocess.CompletedProcess[str]]) -> str:
    """The id of a run; the composed configuration is kept with it."""
    save("graph.npz")
    done = shell("-m", "gclbench", *RUN, "dataset=custom", "dataset.path=graph.npz")
    assert done.returncode == 0, done.stderr
    return next(path.name for path in (here / "runs").iterdir() if path.is_dir())


def test_answers_import_no_library_that_takes_long(recorded: str) -> None:
    Path("no_graph.npz").write_text("nothing")
    answers = {
        0: [
            *(["--help"], ["--version"], ["list"], ["list", "method"], ["completion", "bash"]),
            *(["status"], ["show", recorded], ["show", "method=dmat_i", "dataset=cora"]),
            *(["table"], ["table", "dmat/1", "--runs", "runs"], ["show", "dataset=custom"]),
        ],
        2: [
            *(["method=grase"], ["method=grace", "dataset=korra"], ["tabel"], ["show", "zzzz"]),
            *(["method=grace", "threads=0"], ["method=grace", "rerun=maybe"]),
            *(["show", "method=grace", f"{word}=0"] for word in ("threads", "device", "tracking")),
        ],
        1: [["dataset=custom", "dataset.path=nowhere.npz"]],
    }
    commands = [(code, command) for code, group in answers.items() for command in group]
    done = asked(ANSWERS, [command for _, command in commands])
    lines = done.stdout.splitlines()
    assert len(lines) == len(commands), done.stderr
    for (code, command), line in zip(commands, lines, strict=True):
        found, said, modules = json.loads(line)
        assert found == code, (command, said)
        assert not of(modules, NOT_FOR_AN_ANSWER), command


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["digits", "custom"])
def test_a_training_begins_without_what_only_its_evaluation_needs(
    recorded: str, dataset: str
) -> None:
    path = ["dataset.path=graph.npz"] if dataset == "custom" else []
    done = asked(TRAINING, [*RUN, f"dataset={dataset}", *path, "rerun=all"])
    assert done.stdout, done.stderr
    assert not of(json.loads(done.stdout.splitlines()[-1]), NOT_FOR_A_TRAINING)


@pytest.mark.slow
def test_a_table_that_was_printed_before_needs_no_statistics(recorded: str) -> None:
    """The results of its tests are kept."""
    first, again = (asked(ANSWERS, [["table", "own"]]) for _ in range(2))
    (code, said, modules), (_, said_again, modules_again) = (
        json.loads(done.stdout.splitlines()[0]) for done in (first, again)
    )
    assert code == 0, said
    assert said == said_again
    assert not of(modules_again, NOT_FOR_AN_ANSWER), of(modules, NOT_FOR_AN_ANSWER)
