"""Shows that a refactoring moves no number.

python scripts/compare_results.py records BEFORE       records, tables, figures of a revision
python scripts/compare_results.py ids                  ids of committed records, made again
python scripts/compare_results.py train STORE          every method and strategy, a few steps
python scripts/compare_results.py stores BEFORE AFTER  two stores that `train` wrote

`records` and `ids` take a minute. For `train`, install the older version in an environment of its
own and run this script with its Python. Each mode prints what differs. It exits with 1 then.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COMPARED = ("id", "spec", "status", "metrics", "split", "data")
PROSE = {"note", "remark"}
GRID = (
    ("kmeans,agc,ssgc,deepwalk,sdcn,age,dgi,bgrl,cca_ssg", "uniform", "clustering"),
    ("grace,gca,dmat_i", "uniform,nml,augcl,mmix,imix,progcl_mix,progcl_weight", "clustering"),
    ("mvgrl", "uniform,nml,augcl,mmix,imix,progcl_mix,progcl_weight", "clustering"),
    ("nml_gcl,augcl,progcl,mmix_mo,mmix_mp,mmix_grace,dmt,dmat,age", "", "clustering"),
    ("dmt,dmat,dmat_i,grace,kmeans,dgi", "", "classification,link_prediction"),
    ("grace,nml_gcl,augcl,progcl,mmix_mp,dmat_i", "", "contrast"),
    ("dmat_i", "uniform,nml,augcl,mmix,progcl_weight", "clustering,contrast"),
    ("grace,dmat_i", "grace_plus,homogcl,grape,phases", "clustering"),
    ("grace_plus,homogcl,grape,phases,local_gcl,graphcl_nodes", "", "clustering"),
    ("gae,vgae,arga,arvga", "", "clustering,link_prediction"),
    ("gcn,gat,mlp,chebyshev,jknet,label_propagation,linear", "", "classification"),
)
"""(methods, strategies, tasks) that `train` runs; no strategy named: the method's own."""
UNTIMED = ("kmeans", "agc", "ssgc", "deepwalk", "label_propagation", "linear")
"""Methods whose epochs stay as they are, or that have none."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("mode", choices=("records", "ids", "train", "stores"))
    parser.add_argument("where", nargs="*")
    arguments = parser.parse_args()
    differing = list(MODES[arguments.mode](*arguments.where))
    print("\n".join(differing[:40]))
    more = len(differing) - 40
    print(f"… and {more} more" if more > 0 else f"{len(differing)} differences")
    return bool(differing)


def records(before: str) -> Iterator[str]:
    """What differs between a revision's committed results and the working tree's."""
    old = {path: _at(before, path) for path in _listed(before)}
    was, now = _runs(old), _runs(_working())
    yield from _compared(was, now)
    print(f"{len(was)} records before, {len(now)} now")
    tables = [path for path in old if path.startswith("results/tables/") and path.endswith(".csv")]
    for path in tables:
        yield from _table(path, old[path], ROOT / path)
    figures = [
        path for path in old if path.startswith("results/figures/") and path.endswith(".svg")
    ]
    for path in figures:
        here = ROOT / path
        if not here.is_file() or _drawn(old[path]) != _drawn(here.read_text(encoding="utf-8")):
            yield f"{path}: the drawing differs"
    print(f"{len(tables)} tables and {len(figures)} figures compared")


def ids() -> Iterator[str]:
    """Records whose id this code does not give any more."""
    from gclbench.config.validation import ConfigErrors, experiment_of
    from gclbench.launch.specification import specification

    found = _runs(_working())
    same = older = 0
    for record in found.values():
        words = shlex.split(record["command"])[1:]
        task = next(word for word in words if word.startswith("task=")).removeprefix("task=")
        try:
            experiment = experiment_of([*words, "device=cpu"])
        except ConfigErrors as error:
            yield f"{record['id']}: {record['command']}: {error}"
            continue
        name = next(iter(experiment.components.tasks))
        spec = specification(
            experiment, name, record["spec"]["seed"], record["spec"]["dataset_hash"]
        )
        if spec.id == record["id"]:
            same += 1
        elif _older(record["spec"], asdict(spec)):
            older += 1
        else:
            yield f"{record['id']} is {spec.id} now: {record['command']} ({task})"
    print(f"{same} of {len(found)} ids are the same; {older} records are older than a setting")


def _older(recorded: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether a spec lacks settings that exist now, and agrees in all others."""
    for key, value in recorded.items():
        if isinstance(value, dict) and isinstance(now.get(key), dict):
            if not _older(value, now[key]):
                return False
        elif json.loads(json.dumps(now.get(key))) != value:
            return False
    return True


def train(store: str) -> Iterator[str]:
    """Runs the grid; each command in a process of its own."""
    for methods, strategies, tasks in GRID:
        for method in methods.split(","):
            for strategy in strategies.split(","):
                words = [
                    f"method={method}",
                    "dataset=sbm",
                    "dataset.nodes=220",
                    "dataset.features=40",
                ]
                words += [f"task=[{tasks}]", f"runs_dir={store}", "device=cpu", "seeds=2"]
                words += [f"negatives={strategy}"] if strategy else []
                words += ["method.batch_size=64"] if tasks.endswith(",contrast") else []
                words += [] if method in UNTIMED else ["method.epochs=7"]
                words += (
                    ["method.objective=nodes"]
                    if method == "mvgrl" and strategy != "uniform"
                    else []
                )
                words += ["method.pretrain_epochs=3"] if method == "sdcn" else []
                words += (
                    ["method.train_on=labelled"] if (method, tasks[0]) == ("dmat_i", "l") else []
                )
                done = subprocess.run(
                    [sys.executable, "-m", "gclbench", *words], capture_output=True, text=True
                )
                if done.returncode not in (0, 1):
                    yield f"{' '.join(words)}: {done.stderr.strip().splitlines()[-1:]}"
                print(done.returncode, " ".join(words), flush=True)


def stores(before: str, after: str) -> Iterator[str]:
    """What differs between two stores; loss curves and findings too."""
    was, now = (
        {
            path.parent.name: json.loads(path.read_text(encoding="utf-8"))
            for path in Path(store).glob("*/record.json")
        }
        for store in (before, after)
    )
    print(f"{len(was)} runs before, {len(now)} after")
    yield from _compared(was, now, (*COMPARED, "fit"))


MODES: dict[str, Any] = {"records": records, "ids": ids, "train": train, "stores": stores}


def _compared(
    was: dict[str, Any], now: dict[str, Any], keys: tuple[str, ...] = COMPARED
) -> Iterator[str]:
    for name in was:
        if name not in now:
            yield f"{name} is gone: {was[name]['command']}"
            continue
        for key in keys:
            old, new = was[name].get(key), now[name].get(key)
            if isinstance(old, dict) and isinstance(new, dict):
                # What is new besides moves no number.
                new = {part: value for part, value in new.items() if part in old}
            if old != new:
                yield f"{name} {key}: {old} → {new}"


def _listed(revision: str) -> list[str]:
    names = _git("ls-tree", "-r", "--name-only", revision, "results")
    return [name for name in names.splitlines() if name.endswith((".jsonl", ".csv", ".svg"))]


def _at(revision: str, path: str) -> str:
    return _git("show", f"{revision}:{path}")


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=True)
    return done.stdout.decode("utf-8")


def _working() -> dict[str, str]:
    paths = (ROOT / "results" / "records").rglob("*.jsonl")
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def _runs(files: dict[str, str]) -> dict[str, Any]:
    lines = (
        line
        for path, text in files.items()
        if path.endswith(".jsonl")
        for line in text.splitlines()
        if line.strip()
    )
    found = (json.loads(line) for line in lines)
    return {record["id"]: record for record in found if "id" in record}


def _table(path: str, before: str, here: Path) -> Iterator[str]:
    if not here.is_file():
        yield f"{path} is gone"
        return
    was, now = (
        [{key: value for key, value in row.items() if key not in PROSE} for row in _rows(text)]
        for text in (before, here.read_text(encoding="utf-8"))
    )
    if len(was) != len(now):
        yield f"{path}: {len(was)} rows before, {len(now)} now"
    for number, (old, new) in enumerate(zip(was, now, strict=False), start=2):
        changed = {key: (old[key], new.get(key)) for key in old if old[key] != new.get(key)}
        if changed:
            yield f"{path}:{number}: {changed}"


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _drawn(svg: str) -> str:
    """The drawing without what only dates it."""
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    sys.exit(main())
