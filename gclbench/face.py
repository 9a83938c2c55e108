"""The Python face: what the command does, as functions that return tables and arrays.

Importing it is quick: torch, Hydra and pandas are imported when a function needs them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclbench.config.spelling import check_one_seed, in_python, of_method, overrides_of
from gclbench.machine.messages import IN_BETA

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from gclbench.config.validation import Experiment
    from gclbench.graph import Graph
    from gclbench.paper.sources import Collection


class RunFailed(RuntimeError):
    """A run came to no result.

    Attributes:
        status: as in a record: `diverged`, `oom`, `timeout`, `failed` or `unsupported`.
        reason: one line.
    """

    def __init__(self, title: str, status: str, reason: str):
        super().__init__(f"{title}: {status}: {reason}")
        self.status = status
        self.reason = reason


def run(
    *overrides: str,
    progress: bool = True,
    settings: Mapping[str, Any] | None = None,
    **keys: Any,
) -> pd.DataFrame:
    """Runs an experiment at the paper's settings and returns its runs as a table.

    It does what the command `gclbench` does. What is recorded in `runs_dir` (default: `runs` in
    the working folder) is read and not run again, so a call that was interrupted goes on when it
    is repeated.

        gclbench.run(method="dmat_i", dataset="cora", seeds=10)
        gclbench.run(method="grace", dataset="cora", task="clustering", settings={"lr": 0.1})
        gclbench.run(dataset="acm", task=["clustering", "classification"], seeds=[3, 7],
                     runs_dir="/scratch/runs", **{"method.tau": 1.0, "launcher.workers": 4})

    Args:
        overrides: as typed for the command, `KEY=VALUE`.
        progress: whether progress is shown on standard error.
        settings: of the method, by their names.
        keys: everything else, key to value: `dataset`, `seeds`, `filter.alpha`, … A list or tuple
            is a list, None is `null`.

    Returns:
        One row per run: id, dataset, filter, method, negatives, task, seed, status; one column per
        metric, as a fraction; seconds in all, device, and the reason where the status is not `ok`.

    Raises:
        ValueError: `config.validation.ConfigErrors`, with every error and what was probably meant.
        DataUnavailable, GraphError: when the dataset cannot be had.
        LaunchError, StoreError: when runs cannot go where the launcher takes them, or records
            cannot be written.
        KeyboardInterrupt: on Ctrl-C; what was recorded stays.
    """
    experiment = _experiment([*overrides, *overrides_of({**keys, **of_method(settings)})])

    from gclbench.cli.progress import note, shown
    from gclbench.launch.execution import execute
    from gclbench.records.frame import frame_of

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=IN_BETA)
        records = execute(experiment, shown, note) if progress else execute(experiment)
    return frame_of(records)


def load(dataset: str, **settings: Any) -> Graph:
    """The graph of a dataset.

        gclbench.load("cora")
        gclbench.load("sbm", nodes=200, classes=3)
        gclbench.load("custom", path="graph.npz")

    Args:
        dataset: its name; `gclbench list dataset` prints all.
        settings: of the dataset.

    Returns:
        a PyG `Data` with features x (N×F), edge_index (2×E), labels y (N) or None; of a collection
        one block-diagonal graph with graph_of (N), the graph of each node, and y of the graphs.

    Raises:
        ValueError: `config.validation.ConfigErrors`, for an unknown dataset or setting.
        DataUnavailable, GraphError: when it cannot be had.
    """
    from gclbench.run.datasets import graph_of

    own = {f"dataset.{key}": value for key, value in settings.items()}
    return graph_of(_experiment(overrides_of({"dataset": dataset, **own})).components.dataset)


def embed(
    *overrides: str,
    seed: int = 0,
    progress: bool = True,
    settings: Mapping[str, Any] | None = None,
    **keys: Any,
) -> np.ndarray:
    """The embedding of one run: it trains, records nothing, and returns what the tasks would see.

        gclbench.embed(method="dmat_i", dataset="cora", seed=3)
        gclbench.embed(method="grace", dataset="acm", settings={"epochs": 20})
        gclbench.embed(method="grace", dataset="cora", task="link_prediction")

    The last trains without the edges that link prediction holds out. Without a task it is the
    training of the first task that makes sense for the method.

    Args:
        overrides, settings, keys: as for `run`.
        seed: of the run.
        progress: whether progress is shown on standard error.

    Returns:
        float32, items × dimensions; row i is item i of the graph.

    Raises:
        ValueError: `ConfigErrors`, with every error and what was probably meant; for `seeds`.
        DataUnavailable, GraphError: when the dataset cannot be had.
        RunFailed: when the training comes to no embedding, with the reason.
    """
    check_one_seed("embed", keys, seed)
    given = overrides_of({**keys, **of_method(settings)})
    return _embedding(_experiment([*overrides, *given, f"seeds=[{seed}]"]), seed, progress)


def fit(
    *overrides: str,
    graph: Any,
    method: str,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: bool = True,
    **keys: Any,
) -> np.ndarray:
    """The embedding of a graph that is in memory: `embed` without a dataset.

        gclbench.fit(method="grace", graph=data, settings={"tau": 0.4, "epochs": 50})
        gclbench.fit(method="grace", graph=data, negatives="nml", **{"negatives.alpha": 0.1})

    The graph is checked as that of a file is. What had to be repaired is told in warnings.
    Without a task, nothing is held out, and no labels are needed.

    Args:
        graph: a torch_geometric `Data` with x (N×F, also a sparse tensor or SciPy matrix) and
            edge_index (2×E); a networkx graph whose nodes have an attribute `x`, a list of F
            numbers; a collection of graphs as a list, a dataset or a `Batch` of `Data`; or what
            `load` returns. Labels, `y`, are used by methods that learn from them alone. Weights of
            edges count, unless `**{"dataset.weights": "ignore"}`.
        method: its name; `gclbench list methods` on the command line names all. settings: of it.
        overrides, seed, progress, keys: as for `embed`.

    Returns:
        float32, nodes × dimensions; row i is node i, of networkx in the order of `graph.nodes`, of
        a collection the i-th graph.

    Raises:
        ValueError: `config.validation.ConfigErrors`, with every error and what was probably meant;
            `GraphError`, for a graph that cannot be used.
        RunFailed: when the training comes to no embedding, with the reason.
    """
    from gclbench.data.file_format import misplaced

    words = (*keys, *(text.partition("=")[0].lstrip("+") for text in overrides))
    if why := misplaced(words):
        raise ValueError(why)
    check_one_seed("fit", keys, seed)
    from gclbench.data.in_memory import graph_of, is_collection

    # The name of a method may stand for another one on a collection, as the dataset says.
    collection = is_collection(graph)
    chosen = {"dataset": "custom_graphs" if collection else "custom", "dataset.path": "in memory"}
    given = overrides_of({**chosen, "method": method, **keys, **of_method(settings)})
    experiment = _experiment([*overrides, *given, f"seeds=[{seed}]"])

    read = experiment.components.dataset
    made = graph_of(graph, "graph", read.weights, read.direction)
    if made is not graph:
        for sentence in made.repairs:
            warnings.warn(f"graph: {sentence}", stacklevel=2)
    return _embedding(experiment, seed, progress, made)


def _embedding(
    experiment: Experiment, seed: int, progress: bool, graph: Graph | None = None
) -> np.ndarray:
    """Of the first task that makes sense for the method; of a `graph` in the dataset's place."""
    from gclbench.cli.progress import shown
    from gclbench.config.validation import ConfigErrors, find_device
    from gclbench.graph import Unsupported
    from gclbench.launch.plan import chosen_tasks
    from gclbench.launch.specification import specification
    from gclbench.machine.allocator import reusing_memory
    from gclbench.machine.threads import computing_with, threads_of
    from gclbench.run import datasets
    from gclbench.run.ending import Ending
    from gclbench.run.pipeline import Pipeline
    from gclbench.run.runner import limited
    from gclbench.tasks.embedding_rows import dense_rows
    from gclbench.tasks.items import check_items
    from gclbench.tasks.no_task import NoTask
    from gclbench.training.watch import Watch

    errors: list[str] = []
    device = find_device(experiment.device, errors)
    if errors:
        raise ConfigErrors(errors)
    components = experiment.components
    loaded = datasets.load(components.dataset) if graph is None else datasets.Loaded(graph, 0.0)
    name, task = next(iter(chosen_tasks(experiment).items()))
    if graph is not None and not (experiment.tasks_chosen or components.method.needs_labels):
        task = NoTask(graph.item_kind)
    spec = specification(experiment, name, seed, loaded.graph.content_hash)
    title = f"{spec.method['name']} · {loaded.graph.name} · seed {seed}"
    with warnings.catch_warnings(), shown(title) if progress else nullcontext() as report:
        warnings.filterwarnings("ignore", message=IN_BETA)
        watch = Watch(report, experiment.time_limit)
        pipeline = Pipeline(components, spec, loaded, watch, device, experiment.precision)
        threads = threads_of(loaded.graph, experiment.threads)
        try:
            with (
                limited(experiment.time_limit, experiment.memory_limit),
                computing_with(threads),
                reusing_memory(),
            ):
                check_items(name, task, spec.method["name"], components.method, loaded.graph)
                pipeline.check(task)
                split = pipeline.split(task)
                visible, labels = pipeline.hide(task, split)
                if isinstance(labels, list):
                    raise Unsupported(
                        f"method={spec.method['name']} learns from labels, and task={name} trains"
                        f" it anew for each of {len(labels)} folds, so there is no one embedding;"
                        " gclbench.run evaluates it"
                    )
                found = pipeline.fit(pipeline.filter(task, visible), labels)
                z = dense_rows(found.z.detach())
        except Exception as error:
            ending = Ending.of(error, components, stepped=watch.reached > 0)
            raise RunFailed(title, ending.status, in_python(ending.reason)) from error
    return z.cpu().float().numpy()


def table(
    id: str,
    runs: str | Path | Iterable[str | Path] | None = None,
    *,
    dataset: str | Sequence[str] = (),
    metric: str | Sequence[str] = (),
    method: str | Sequence[str] = (),
    rows: str | Sequence[str] = (),
) -> pd.DataFrame:
    """A paper's table, filled from records, beside the printed numbers; or that of your own runs.

        gclbench.table("dmat/1")
        gclbench.table("nml/1", rows=["my_method", "grace method.tau=0.4"])
        gclbench.table("own", dataset="cora")
        gclbench.table("dmat/1", runs=["results"], dataset=["cora", "acm"], metric="acc")

    Args:
        id: as `gclbench table` lists them. `own` is all runs that no paper's table shows,
            `own/clustering` those of a task.
        runs: folders of records (default: `results` and `runs`, those that exist).
        dataset, metric, method: these only; all by default.
        rows: methods, or methods with settings, that are added to the paper's.

    Returns:
        One row per cell, with the columns of `gclbench table ID --format csv` (docs/tables.md):
        table, dataset, metric, column, ours_mean, ours_std, n, paper_mean, paper_std, difference,
        verdict, p_holm, … Results are fractions; NaN stands where there is nothing. An added row
        has four columns more, such as `difference of my_method`: it minus each other column.

    Raises:
        ValueError: for added rows that are no methods, have no runs, or are there already.
        LookupError: for a table, dataset, metric or method that does not exist, or a folder of
            records that is not there; the text lists those that do.
    """
    import io

    import pandas as pd

    from gclbench.paper import filling
    from gclbench.paper.render import csv_of

    filled = filling.fill(
        id,
        lambda: _collected(runs),
        _several(rows),
        _several(dataset),
        _several(metric),
        _several(method),
    )
    return pd.read_csv(io.StringIO(csv_of(filled)), keep_default_na=False, na_values=[""])


def runs(folders: str | Path | Iterable[str | Path] | None = None, **filters: Any) -> pd.DataFrame:
    """The recorded runs as a table.

        gclbench.runs()
        gclbench.runs(method="grace", dataset=["cora", "acm"], status="ok")
        gclbench.runs("/scratch/runs", task="clustering", **{"method.tau": [0.4, 0.5]})

    Args:
        folders: of records (default: `results` and `runs`, those that exist).
        filters: key to a value or a list of values: a column of the returned table, such as
            `method`, `seed` (also a range, `"3-7"`), `status`, or a setting, such as
            `method.tau`.

    Returns:
        One row per run with the columns of `run`, and behind them one per setting; no rows where
        no run has a value. A name that exists nowhere and is nearly one that does warns.

    Raises:
        LookupError: for a folder that is not there, or a key that no run has; the text says which
            ones there are.
        ValueError: for a text that names no seeds.
    """
    from gclbench.component.registry import KINDS, did_you_mean
    from gclbench.config.seeds import seeds_in
    from gclbench.records import STATUSES
    from gclbench.records.frame import frame_of

    every = table = frame_of(_collected(folders).records, settings=True)
    for key, wanted in filters.items():
        if key == "seed" and key in table and _has_text(wanted):
            table = table[table[key].map(seeds_in(wanted))]
            continue
        if key not in table:
            if table.empty:
                continue
            hint = did_you_mean(key, known=table)
            raise LookupError(f"no run has '{key}'.{hint} Runs have {', '.join(table)}")
        values = wanted if isinstance(wanted, (list, tuple, set, range)) else [wanted]
        if key in KINDS or key == "status":
            known = sorted({*(KINDS[key].entries if key in KINDS else STATUSES), *every[key]})
            for name in [value for value in values if value not in known]:
                if hint := did_you_mean(str(name), known=known):
                    warnings.warn(f"no run has {key} '{name}'.{hint}", stacklevel=2)
        whole = isinstance(wanted, (list, tuple))
        table = table[
            [
                value in values or (whole and value == [*wanted])
                for value in table[key].map(
                    lambda item: [*item] if isinstance(item, tuple) else item
                )
            ]
        ]
    return table.reset_index(drop=True)


def _has_text(values: Any) -> bool:
    several = values if isinstance(values, (list, tuple, set)) else [values]
    return any(isinstance(value, str) for value in several)


def _collected(folders: str | Path | Iterable[str | Path] | None) -> Collection:
    """The records of folders.

    Raises:
        MissingStore: a folder is not there.
    """
    from gclbench.paper.sources import MissingStore, collect

    names = None if folders is None else [str(folder) for folder in _several(folders)]
    try:
        return collect(names)
    except MissingStore as error:
        what = str(error).partition(";")[0]
        advice = "give folders of records, such as ['results', 'runs']"
        raise MissingStore(f"{what}; {advice}") from None


def _several(names: Any) -> list[Any]:
    return [names] if isinstance(names, (str, Path)) else list(names)


def _experiment(overrides: list[str]) -> Experiment:
    """Raises `ConfigErrors` with every error found."""
    from gclbench.config.validation import experiment_of, told_in_python

    with told_in_python():
        return experiment_of(overrides)
