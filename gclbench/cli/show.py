"""`gclbench show`: a dataset's page, a composed configuration, or a recorded run."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Container
from pathlib import Path

from gclbench.cli.parser import Parser
from gclbench.component.registry import kind_of
from gclbench.machine import messages

EXAMPLES = """examples:
  gclbench show dataset=cora                    counts, source, licence, the papers' counts
  gclbench show method=dmat_i dataset=cora      every setting of that experiment
  gclbench show 3f2a                            a recorded run, by the start of its id
"""


def main(argv: list[str]) -> int:
    parser = Parser("show", "Shows one thing.", EXAMPLES, intermixed=True)
    parser.add_argument("what", nargs="*", help="KEY=VALUE … or the start of a run's id")
    parser.add_argument(
        "--runs", nargs="+", metavar="DIR", help="stores to look in (default: runs results)"
    )
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="a folder of your own configs"
    )
    options = parser.parse_args(argv)
    if not options.what:
        parser.error("say first what to show: gclbench show ID, or gclbench show dataset=cora")
    if all("=" in word for word in options.what):
        if options.runs:
            parser.error("--runs is for the id of a recorded run; leave it out")
        dataset_only = all(
            word.partition("=")[0].split(".")[0] == "dataset" for word in options.what
        )
        if options.config_dir is None and dataset_only:
            return _dataset(options.what)
        return _config(options.what, options.config_dir)
    if len(options.what) > 1:
        return _wrong("give one run id, or KEY=VALUE overrides")
    if options.config_dir is not None:
        parser.error("--config-dir is for KEY=VALUE; leave it out for a recorded run")
    return _run(options.what[0], options.runs)


def _wrong(text: str) -> int:
    print(f"gclbench show: {text}", file=sys.stderr)
    return 2


def _config(overrides: list[str], folder: Path | None) -> int:
    from omegaconf import OmegaConf

    from gclbench.cli.run import wrong
    from gclbench.config.own_configs import with_own_configs
    from gclbench.config.validation import ConfigErrors, checked

    try:
        if folder is not None:
            (overrides,) = with_own_configs(folder, [overrides])
        values = checked(overrides)
    except ConfigErrors as error:
        return wrong(error.errors)
    print(OmegaConf.to_yaml(OmegaConf.create(values)), end="")
    return 0


def _dataset(overrides: list[str]) -> int:
    from gclbench.cli.run import wrong
    from gclbench.component.registry import DATASETS
    from gclbench.data.file_format import EXAMPLE, FORMAT, READ_FROM_FILES

    for own in READ_FROM_FILES:
        if f"dataset={own}" in overrides and not any("path" in word for word in overrides):
            print(f"{own}: {DATASETS.entries[own].summary}\n\n{FORMAT}\n{EXAMPLE}", end="")
            return 0

    from gclbench.config.validation import ConfigErrors, experiment_of
    from gclbench.data import catalog
    from gclbench.data.graph_counts import describe_graph
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError
    from gclbench.records import NAMED_BY_USER
    from gclbench.run.datasets import graph_of

    try:
        experiment = experiment_of(overrides)
        graph = graph_of(experiment.components.dataset)
    except ConfigErrors as error:
        return wrong(error.errors)
    except (DataUnavailable, GraphError) as error:
        return wrong([str(error)], code=1)
    dataset = experiment.settings["dataset"]
    name = dataset["name"]
    print(f"{name}: {DATASETS.entries[dataset.get(NAMED_BY_USER, name)].summary}")
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


def _run(prefix: str, asked: list[str] | None) -> int:
    if not prefix:
        return _wrong("RUN names a run, and '' names none")
    from gclbench.paper.figures import FIGURES
    from gclbench.paper.machine_differences import beside
    from gclbench.paper.sources import MissingStore, collect
    from gclbench.paper.tables import TABLES

    messages.set_up()
    folders = asked or ["runs", "results"]
    try:
        collection = collect(asked or [folder for folder in folders if Path(folder).is_dir()])
    except MissingStore as error:
        return _wrong(str(error))
    found = {record.id: record for record in collection.records if record.id.startswith(prefix)}
    if len(found) == 1:
        (record,) = found.values()
        print(json.dumps(json.loads(record.to_json()), indent=2, ensure_ascii=False))
        if record.traceback:  # in the JSON it is one line
            print(f"\n{record.traceback.rstrip()}", file=sys.stderr)
        for line in beside(record, collection.records):
            print(f"not computed alike: {line}", file=sys.stderr)
        return 0
    if found:
        return _wrong(
            f"{len(found)} runs start with '{prefix}': {', '.join(sorted(found)[:8])}; give more of"
            " the id"
        )
    kind = kind_of(prefix)
    if kind is not None:
        return _wrong(f"'{prefix}' is a {kind}: gclbench show {kind}={prefix}")
    of_papers: dict[str, Container[str]] = {"table": TABLES, "figure": FIGURES}
    if verbs := [verb for verb, ids in of_papers.items() if prefix in ids]:
        what = " and a ".join(verbs)
        typed = ", ".join(f"gclbench {verb} {prefix}" for verb in verbs)
        return _wrong(f"'{prefix}' is a {what}: {typed}")
    places = shlex.join(collection.stores or folders[:1])
    return _wrong(
        f"no run whose id starts with '{prefix}' in {', '.join(folders)}; "
        f"`gclbench export --runs {places} --format csv` lists what is there, ids first"
    )
