"""The Python face: what the command does, as functions that return tables and arrays.

Importing it is quick. Torch, Hydra and pandas are imported when a function needs them.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclbench.machine.messages import IN_BETA

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from gclbench.config.validation import Experiment
    from gclbench.graph import Graph
    from gclbench.records import Record


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


def run(*overrides: str, progress: bool = True, **settings: Any) -> pd.DataFrame:
    """Runs an experiment at the paper's settings and returns its runs as a table.

    It does what the command `gclbench` does. What is recorded in `runs_dir` (default: `runs` in
    the working folder) is read and not run again, so a call that was interrupted goes on when it
    is repeated.

        gclbench.run(method="dmat_i", dataset="cora", seeds=10)
        gclbench.run("method.lr=0.1", method="grace", dataset="cora", task="clustering")
        gclbench.run(dataset="acm", task=["clustering", "classification"], seeds=[3, 7],
                     runs_dir="/scratch/runs", **{"method.tau": 1.0, "launcher.workers": 4})

    Args:
        overrides: as typed for the command, `KEY=VALUE`.
        progress: whether progress is shown on standard error.
        settings: key to value. A list or tuple is a list, None is `null`.

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
    experiment = _experiment([*overrides, *_overrides(settings)])

    from gclbench.cli.progress import note, shown
    from gclbench.launch.execution import execute

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=IN_BETA)
        records = execute(experiment, shown, note) if progress else execute(experiment)
    return _frame(records)


def load(dataset: str, **settings: Any) -> Graph:
    """The graph of a dataset.

        gclbench.load("cora")
        gclbench.load("sbm", nodes=200, classes=3)
        gclbench.load("custom", path="graph.npz")

    Args:
        dataset: its name; `gclbench list dataset` prints all.
        settings: of the dataset.

    Returns:
        a PyG `Data` with features x (N×F), edge_index (2×E), labels y (N) or None.

    Raises:
        ValueError: `config.validation.ConfigErrors`, for an unknown dataset or setting.
        DataUnavailable, GraphError: when it cannot be had.
    """
    own = {f"dataset.{key}": value for key, value in settings.items()}
    return _experiment(_overrides({"dataset": dataset, **own})).components.dataset.load()


def embed(*overrides: str, seed: int = 0, progress: bool = True, **settings: Any) -> np.ndarray:
    """The embedding of one run: it trains, records nothing, and returns what the tasks would see.

        gclbench.embed(method="dmat_i", dataset="cora", seed=3)
        gclbench.embed("method.epochs=20", method="grace", dataset="acm")
        gclbench.embed(method="grace", dataset="cora", task="link_prediction")

    The last one trains without the edges that link prediction holds out. Without a task it is the
    training of the first task that makes sense for the method.

    Args:
        overrides, settings: as for `run`.
        seed: of the run.
        progress: whether progress is shown on standard error.

    Returns:
        float32, items × dimensions; row i is item i of the graph.

    Raises:
        ValueError: `config.validation.ConfigErrors`, with every error and what was probably meant.
        DataUnavailable, GraphError: when the dataset cannot be had.
        RunFailed: when the training comes to no embedding, with the reason.
    """
    experiment = _experiment([*overrides, *_overrides(settings), f"seeds=[{seed}]"])

    from gclbench.cli.progress import shown
    from gclbench.config.validation import ConfigErrors, find_device
    from gclbench.graph import Unsupported
    from gclbench.launch.plan import chosen_tasks
    from gclbench.launch.specification import specification
    from gclbench.machine.threads import computing_with, threads_for
    from gclbench.run import datasets
    from gclbench.run.ending import Ending
    from gclbench.run.pipeline import Pipeline
    from gclbench.run.runner import limited
    from gclbench.tasks.items import check_items
    from gclbench.training.watch import Watch

    errors: list[str] = []
    device = find_device(experiment.device, errors)
    if errors:
        raise ConfigErrors(errors)
    components = experiment.components
    loaded = datasets.load(components.dataset)
    name, task = next(iter(chosen_tasks(experiment).items()))
    spec = specification(experiment, name, seed, loaded.graph.content_hash)
    title = f"{spec.method['name']} · {spec.dataset['name']} · seed {seed}"
    with warnings.catch_warnings(), shown(title) if progress else nullcontext() as report:
        warnings.filterwarnings("ignore", message=IN_BETA)
        watch = Watch(report, experiment.time_limit)
        pipeline = Pipeline(components, spec, loaded, watch, device, experiment.precision)
        threads = threads_for(loaded.graph.num_nodes, experiment.threads)
        try:
            with (
                limited(experiment.time_limit, experiment.memory_limit),
                computing_with(threads),
            ):
                check_items(name, task, spec.method["name"], components.method, loaded.graph)
                split = pipeline.split(task)
                visible, labels = pipeline.hide(task, split)
                if isinstance(labels, list):
                    raise Unsupported(
                        f"method={spec.method['name']} learns from labels, and task={name} trains"
                        f" it anew for each of {len(labels)} folds, so there is no one embedding;"
                        " gclbench.run evaluates it"
                    )
                found = pipeline.fit(pipeline.filter(task, visible), labels)
        except Exception as error:
            ending = Ending.of(error, components, stepped=watch.reached > 0)
            raise RunFailed(title, ending.status, ending.reason) from error
    return found.z.detach().cpu().float().numpy()


def table(
    id: str,
    runs: str | Path | Iterable[str | Path] | None = None,
    *,
    dataset: str | Sequence[str] = (),
    metric: str | Sequence[str] = (),
    method: str | Sequence[str] = (),
) -> pd.DataFrame:
    """A paper's table, filled from records, beside the printed numbers.

        gclbench.table("dmat/1")
        gclbench.table("dmat/1", runs=["results"], dataset=["cora", "acm"], metric="acc")

    Args:
        id: as `gclbench table` lists them.
        runs: folders of records (default: `results` and `runs`, those that exist).
        dataset, metric, method: these only; all by default.

    Returns:
        One row per cell, with the columns of `gclbench table ID --format csv` (docs/tables.md):
        table, dataset, metric, column, ours_mean, ours_std, n, paper_mean, paper_std, difference,
        verdict, p_holm, … Results are fractions; NaN stands where there is nothing.

    Raises:
        LookupError: for a table, dataset, metric or method that does not exist, or a folder of
            records that is not there; the text lists those that do.
    """
    import io

    import pandas as pd

    from gclbench.paper.comparison import compare
    from gclbench.paper.render import as_csv
    from gclbench.paper.sources import collect
    from gclbench.paper.tables import find_table

    folders = None if runs is None else [str(folder) for folder in _several(runs)]
    definition = find_table(id)
    filled = compare(definition, collect(folders)).restrict(
        _several(dataset), _several(metric), _several(method)
    )
    return pd.read_csv(io.StringIO(as_csv(filled)), keep_default_na=False, na_values=[""])


def _several(names: Any) -> list[Any]:
    return [names] if isinstance(names, (str, Path)) else list(names)


def _experiment(overrides: list[str]) -> Experiment:
    """Raises `ConfigErrors` with every error found."""
    from gclbench.config.validation import experiment_of

    return experiment_of(overrides)


def _frame(records: Sequence[Record]) -> pd.DataFrame:
    """A row per record."""
    import pandas as pd

    from gclbench.records.schema import KINDS

    rows: list[dict[str, Any]] = []
    for record in records:
        rows.append(
            {
                "id": record.id,
                **{kind: record.name(kind) for kind in KINDS},
                "seed": record.seed,
                "status": record.status,
                **record.metrics,
                "seconds": sum(record.seconds.values()),
                "device": record.device,
                "reason": record.reason,
            }
        )
    metrics = dict.fromkeys(name for record in records for name in record.metrics)
    return pd.DataFrame(
        rows, columns=["id", *KINDS, "seed", "status", *metrics, "seconds", "device", "reason"]
    )


def _overrides(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the command takes them: `{"seeds": [3, 7]}` is `seeds=[3,7]`."""
    return [f"{key}={_text(key, value)}" for key, value in settings.items()]


def _text(key: str, value: Any) -> str:
    """A value in the grammar of overrides.

    Raises:
        TypeError: for one that no setting has.
    """
    from gclbench.config.quoting import quoted

    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() | Path():
            return quoted(str(value))
        case numbers.Integral():
            return str(int(value))
        case numbers.Real():
            return repr(float(value))
        case Mapping():
            items = (f"{name}:{_text(key, item)}" for name, item in value.items())
            return f"{{{','.join(items)}}}"
        case Iterable():
            return f"[{','.join(_text(key, item) for item in value)}]"
    raise TypeError(
        f"{key}={value!r} is a {type(value).__name__}; a setting is a number, a text, true or"
        " false, None, or a list of these"
    )
