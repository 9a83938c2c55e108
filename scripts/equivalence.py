"""Shows that a method's results with `precision=fast` are those with float32, or that they are not.

Ten seeds on cora and citeseer in both precisions; accuracy over equal seeds; two one-sided paired
t-tests (TOST) with a margin of 0.3 points. Where ten seeds decide nothing, the test is made once
more, over as many seeds as they ask for; each of the two has half of the level 0.05. A method is
equivalent where both datasets are. What fails, or cannot be told yet, stays float32.

With `--records` the float32 runs of a folder of records count: those of the same commands, on a
processor of the same name, if this machine repeats two of them digit by digit.

A processor with AMX has two ways to fast products; `--products` says which is tried.

Hardware without fast products: `--emulate` rounds the factors of products in the steps of a
training (`emulated_bfloat16.py`). That shows the numbers, not the hardware, and `--adopt` refuses
it.

    python scripts/equivalence.py --methods dgi --emulate --output results/bench/emulated.json
    python scripts/equivalence.py --methods grace --output results/bench/equivalence.json
                                  [--records results/records]
    python scripts/equivalence.py --merge one.json other.json --output results/bench/both.json
    python scripts/equivalence.py --adopt results/bench/equivalence.json     # into the list of auto
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import bench_facts
from emulated_bfloat16 import fast_is_emulated

import gclbench.machine
from gclbench.config.validation import experiment_of
from gclbench.launch.execution import execute
from gclbench.launch.plan import content_hash, expand
from gclbench.machine import precision
from gclbench.machine.environment import device_name, instructions
from gclbench.paper.config_defaults import own_negatives
from gclbench.paper.significance import paired, seeds_needed
from gclbench.records import Record, Store

MARGIN = 0.003
LEVEL = 0.025
"""Of each of at most two tests."""

MUST_AGREE = ("emulated", "hardware", "device", "margin", "settings")
"""What files to be merged have in common."""

OF_A_MOMENT = ("created", "load_before", "load_after", "load_average")

REPEATED = 2
"""Seeds of recorded runs that are run again."""

DATASETS = ("cora", "citeseer")
LIST = Path(gclbench.machine.__file__).with_name(precision.SHOWN)


def accuracies(
    words: list[str], chosen: str, seeds: int | list[int], folder: str, device: str = "cpu"
) -> list[float]:
    """Test accuracy per seed; what is recorded in the folder already is not run again.

    Raises:
        SystemExit: where a run failed, or was made with other products or on another device.
    """
    which = str(seeds).replace(" ", "")
    words = [*words, f"seeds={which}", f"precision={chosen}", f"runs_dir={folder}/{chosen}"]
    fast = precision.usual(device) if chosen == precision.FAST else ""
    records = execute(experiment_of(words))
    for record in records:
        if not record.ok:
            raise SystemExit(f"{' '.join(words)}: {record.status}: {record.reason}")
        found = record.environment.get("precision", precision.FLOAT32)  # before it was recorded
        if found != chosen:
            raise SystemExit(
                f"{' '.join(words)} ran with precision={found}; --emulate does without the hardware"
            )
        made_by = record.device, record.environment.get("fast_products", "")
        if made_by != (device_name(device), fast):
            raise SystemExit(
                f"{folder} has runs of {' '.join(made_by)}, and this is"
                f" {device_name(device)} {fast}; --runs takes a folder for each"
            )
    return [record.metrics["accuracy"] for record in records]


@contextlib.contextmanager
def one_way(products: str) -> Iterator[None]:
    """Within the block nothing else is fast, whatever the list says."""
    with mock.patch.object(precision, "ways", lambda device: (products,) if products else ()):
        yield


def recorded(words: list[str], seeds: int, known: Path, device: str = "cpu") -> list[Record]:
    """The records of a command's seeds in float32, of a processor named as this one and with its
    vector instructions (older records do not say theirs)."""
    experiment = experiment_of([*words, f"seeds={seeds}"])
    content_hash(experiment.components.dataset)
    here, ids = device_name(device), set(expand([experiment], Store(known)).ids)
    instructions_here = instructions()
    found = [
        record
        for record in Store(known).scan()
        if record.id in ids
        and record.ok
        and record.device == here
        and record.environment.get("precision", precision.FLOAT32) == precision.FLOAT32
        and record.environment.get("instructions") in (None, instructions_here)
    ]
    return sorted(found, key=lambda record: record.spec["seed"])


def exact_accuracies(
    words: list[str], seeds: int, known: Path | None, folder: str, device: str = "cpu"
) -> tuple[list[float], list[int]]:
    """Test accuracy per seed in float32, and the seeds whose accuracy is a record's."""
    found = recorded(words, seeds, known, device) if known else []
    repeated, others = found[:REPEATED], found[REPEATED:]
    taken = []
    if others:
        again = [one.spec["seed"] for one in repeated]
        exact = accuracies(words, precision.FLOAT32, again, folder, device)
        if exact == [one.metrics["accuracy"] for one in repeated]:
            store = Store(f"{folder}/{precision.FLOAT32}")
            for record in others:
                if store.read(record.id) in (None, record):
                    store.write(record)
                    taken.append(record.spec["seed"])
        else:
            print(f"{' '.join(words)}: not what was recorded, so all seeds are run", flush=True)
    return accuracies(words, precision.FLOAT32, seeds, folder, device), taken


def judged(exact: list[float], fast: list[float]) -> dict[str, Any]:
    """Whether two lists of accuracies, of equal seeds, are equivalent, or differ; where neither is
    shown, how many seeds a test at the same level would need, with power 0.8."""
    found = paired(dict(enumerate(fast)), dict(enumerate(exact)), MARGIN)
    if found is None:
        raise SystemExit(f"{len(fast)} seeds tell nothing; --seeds 10 is enough for a first test")
    equivalent, differs = found.p_equivalence < LEVEL, found.p_difference < LEVEL
    return {
        "seeds": len(fast),
        "mean_difference": found.difference,
        "std_of_differences": found.spread,
        "p_tost": found.p_equivalence,
        "p_difference": found.p_difference,
        "equivalent": equivalent,
        "differs": differs and not equivalent,
        "largest_difference": max(abs(a - b) for a, b in zip(exact, fast, strict=True)),
        "seeds_needed": None if equivalent or differs else seeds_needed(found, 1, LEVEL),
    }


def row(method: str, dataset: str, options: argparse.Namespace) -> dict[str, Any]:
    """A method on a dataset in both precisions."""
    words = [f"method={method}", f"dataset={dataset}", "task=classification"]
    words += [f"device={options.device}", *options.settings]
    with contextlib.ExitStack() as stack:
        folder = options.runs or stack.enter_context(tempfile.TemporaryDirectory())

        def accuracies_of(seeds: int) -> tuple[list[float], list[float], list[int]]:
            emulation = fast_is_emulated() if options.emulate else contextlib.nullcontext()
            given = (folder, options.device)
            exact, taken = exact_accuracies(words, seeds, options.records, *given)
            with emulation:
                return exact, accuracies(words, precision.FAST, seeds, *given), taken

        looks = [options.seeds]
        exact, fast, taken = accuracies_of(looks[0])
        found = judged(exact, fast)
        needed = found["seeds_needed"]
        if needed and (second := max(needed, options.seeds + 1)) <= options.most:
            looks.append(second)
            exact, fast, taken = accuracies_of(looks[1])
            found = judged(exact, fast)
    return {
        "method": method,
        "dataset": dataset,
        "float32": exact,
        "fast": fast,
        "float32_recorded": taken,
        "looks": looks,
        **found,
    }


def merged(files: list[Path], beside: Path | None) -> dict[str, Any]:
    """The facts of several files in one, each row judged anew.

    Args:
        beside: a file of another processor; its rows say how far float32 here is from float32
            there.

    Raises:
        SystemExit: for files of different hardware or settings, or of the same rows.
    """
    read = [json.loads(file.read_text()) for file in files]
    alike = {json.dumps([one[key] for key in MUST_AGREE]) for one in read}
    names = [(row["method"], row["dataset"]) for one in read for row in one["rows"]]
    if len(alike) > 1 or len(set(names)) < len(names):
        raise SystemExit(
            f"--merge takes files that agree in {', '.join(MUST_AGREE)} and share no row"
        )
    others = json.loads(beside.read_text()) if beside else {"rows": []}
    rows = []
    for row, commit in ((row, one["environment"]["commit"]) for one in read for row in one["rows"]):
        row = {"commit": commit, **row, **judged(row["float32"], row["fast"])}
        for other in others["rows"]:
            if all(row[key] == other[key] for key in ("method", "dataset")):
                found = paired(
                    dict(enumerate(row["float32"])), dict(enumerate(other["float32"])), 0
                )
                assert found is not None
                row["float32_elsewhere"] = {
                    "device": others["device"],
                    "mean_difference": found.difference,
                    "std_of_differences": found.spread,
                }
        rows.append(row)
    # Of the first file; each row has its own commit. A moment and its load are of no merged file.
    shared = {key: read[0][key] for key in read[0] if key not in OF_A_MOMENT}
    return {**shared, "rows": rows}


def said(found: dict[str, Any]) -> str:
    """A row's verdict."""
    if found["equivalent"] or found["differs"]:
        return "equivalent" if found["equivalent"] else "differs"
    needed = found["seeds_needed"]
    return f"not shown; about {needed} seeds would tell" if needed else "not shown"


def adopt(path: Path) -> list[str]:
    """Puts the methods that a file shows to be equivalent on the list of `precision=auto`.

    Raises:
        SystemExit: for an emulation, which is no evidence of what hardware does.
    """
    facts = json.loads(path.read_text())
    if facts["emulated"]:
        raise SystemExit(f"{path} is of an emulation; --adopt takes runs on the hardware alone")
    known = json.loads(LIST.read_text(encoding="utf-8"))
    listed = known.setdefault(facts["hardware"], {})
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in facts["rows"]:
        rows.setdefault(one["method"], []).append(one)
    for method, found in rows.items():
        listed.pop(method, None)
        complete = {one["dataset"] for one in found} >= set(DATASETS) and not facts["settings"]
        if complete and all(one["equivalent"] and len(one["fast"]) >= 10 for one in found):
            if facts["hardware"] == precision.FACTORS_IN_CONTRASTS and all(
                one["float32"] == one["fast"] for one in found
            ):
                # On this list it would lose the other way to fast products.
                print(f"{method}: no run differs, and nothing says that it has a contrast at all")
                continue
            listed[method] = {
                "datasets": sorted(one["dataset"] for one in found),
                # Its own strategy: the runs had no settings.
                "negatives": own_negatives(method),
                "seeds": min(len(one["fast"]) for one in found),
                "margin": MARGIN,
                "evidence": str(path),
            }
    known = {hardware: methods for hardware, methods in known.items() if methods}
    LIST.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    return sorted(listed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=["dgi", "cca_ssg", "dmat_i"])
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--most", type=int, default=40, help="seeds of the second test at most")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--products", help="what is to be fast, as `precision.ways` names it")
    parser.add_argument("--records", type=Path, help="a folder of records with float32 runs")
    parser.add_argument("--runs", help="a folder that keeps the runs, to go on with them")
    parser.add_argument("--emulate", action="store_true")
    parser.add_argument(
        "--settings", nargs="*", default=[], help="KEY=VALUE of the runs, to try it"
    )
    parser.add_argument("--adopt", type=Path, help="a file of this script's; runs nothing")
    parser.add_argument(
        "--merge", nargs="+", type=Path, help="files of this script's, for --output; runs nothing"
    )
    parser.add_argument(
        "--beside", type=Path, help="with --merge: a file of float32 on another processor"
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.adopt:
        print(f"auto is fast for: {', '.join(adopt(options.adopt)) or 'no method'}")
        return
    if options.merge:
        if not options.output:
            parser.error("--merge needs --output FILE")
        facts: dict[str, Any] = merged(options.merge, options.beside)
        bench_facts.keep(options.output, facts)
        return
    if options.emulate and options.products:
        parser.error("--emulate rounds the factors of all products; leave --products out")
    options.products = options.products or precision.usual(options.device)
    if options.products not in ("", *precision.ways(options.device)):
        known = " or ".join(precision.ways(options.device))
        there = f"on {options.device} it can be {known}" if known else "nothing is fast here"
        parser.error(f"--products {options.products}: {there}")
    facts = {
        **bench_facts.begun("equivalence", options.device),
        "emulated": options.emulate,
        "hardware": "emulated" if options.emulate else options.products,
        "margin": MARGIN,
        "settings": options.settings,
        "rows": [],
    }
    for method in options.methods:
        for dataset in options.datasets:
            with one_way(options.products):
                found = row(method, dataset, options)
            facts["rows"].append(found)
            print(
                f"{method:<10}{dataset:<10}{100 * found['mean_difference']:+.2f} points"
                f" ± {100 * found['std_of_differences']:.2f}, {found['seeds']} seeds,"
                f" p(TOST) {found['p_tost']:.3f}, p {found['p_difference']:.3f}: {said(found)}",
                flush=True,
            )
            bench_facts.write(options.output, facts)


if __name__ == "__main__":
    main()
