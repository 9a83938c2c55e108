"""`gclbench show`: a dataset's page, a composed configuration, or a recorded run."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

EXAMPLES = """examples:
  gclbench show dataset=cora                    counts as loaded, source, licence, the papers' counts
  gclbench show method=dmat_i dataset=cora      every setting of that experiment
  gclbench show 3f2a                            a recorded run, by the start of its id
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="gclbench show", description="Shows one thing.", epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="+", help="KEY=VALUE … or the start of a run's id")
    parser.add_argument("--runs", nargs="+", default=["runs", "results"], help="stores to look in (default: runs results)")
    options = parser.parse_args(argv)
    if all("=" in word for word in options.what):
        dataset_only = all(word.partition("=")[0].split(".")[0] == "dataset" for word in options.what)
        return _dataset(options.what) if dataset_only else _config(options.what)
    if len(options.what) > 1:
        print("gclbench show: give one run id, or KEY=VALUE overrides", file=sys.stderr)
        return 2
    return _run(options.what[0], options.runs)


def _config(overrides: list[str]) -> int:
    from omegaconf import OmegaConf

    from gclbench.cli.run import wrong
    from gclbench.config import ConfigErrors, load, resolved

    try:
        load(overrides)
        print(OmegaConf.to_yaml(OmegaConf.create(resolved(overrides))), end="")
    except ConfigErrors as error:
        return wrong(error.errors)
    return 0


def _dataset(overrides: list[str]) -> int:
    from gclbench.cli.run import wrong
    from gclbench.config import ConfigErrors, load
    from gclbench.data import catalog
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError, describe_graph
    from gclbench.registry import DATASETS

    try:
        experiment = load(overrides)
        graph = experiment.components["dataset"].load()
    except ConfigErrors as error:
        return wrong(error.errors)
    except (DataUnavailable, GraphError) as error:
        return wrong([str(error)], code=1)
    name = experiment.settings["dataset"]["name"]
    print(f"{name}: {DATASETS.entries[name].summary}")
    for key, value in describe_graph(graph).items():
        print(f"  {key:<14}{value:.2f}" if isinstance(value, float) else f"  {key:<14}{value}")
    print(f"  {'content':<14}{graph.content_hash[:16]}")
    for repair in graph.repairs:
        print(f"  {'repaired':<14}{repair}")
    if name in catalog.CATALOG:
        page = catalog.describe_info(name)
        for key in ("source", "licence", "notes"):
            print(f"  {key:<14}{page[key]}")
        printed = page["printed"]
        for line in printed if isinstance(printed, list) else []:
            print(f"  {'printed':<14}{line}")
    return 0


def _run(prefix: str, folders: list[str]) -> int:
    from gclbench.paper.sources import collect

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    there = [folder for folder in folders if Path(folder).is_dir()]
    found = {record.id: record for record in collect(there).records if record.id.startswith(prefix)}
    if len(found) == 1:
        print(json.dumps(json.loads(next(iter(found.values())).to_json()), indent=2, ensure_ascii=False))
        return 0
    places = ", ".join(folders)
    if not found:
        print(
            f"gclbench show: no run whose id starts with '{prefix}' in {places}; `gclbench status` lists what is there",
            file=sys.stderr,
        )
    else:
        print(
            f"gclbench show: {len(found)} runs start with '{prefix}': {', '.join(sorted(found)[:8])}; give more of the id",
            file=sys.stderr,
        )
    return 2
