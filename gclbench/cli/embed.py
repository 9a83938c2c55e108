"""`gclbench embed`: the embedding of a recorded run as a file, or of another graph by its model."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.cli.parser import Parser, id_first, output_file, unwritable_output
from gclbench.cli.progress import note
from gclbench.machine import messages
from gclbench.machine.paths import no_file

if TYPE_CHECKING:
    import numpy as np

    from gclbench.records import Record
    from gclbench.training.weights import Weights

EXAMPLES = """examples:
  gclbench method=grace dataset=cora save=[embedding,model]      a run that leaves both
  gclbench embed 3f2a --output z.npy                             its embedding, by the id's start
  gclbench embed 3f2a --graph other.npz --output other.npy       another graph, by its trained model

Rows stand in the order of the graph's items. A recorded run without these files is trained again
only where the command says so: rerun=incomplete.
"""


def main(argv: list[str]) -> int:
    """Exit code 0 when the file was written, 1 when the run or graph gives no embedding, 2 for a
    command that is wrong."""
    parser = Parser(
        "embed",
        "Writes the embedding of a recorded run, or of another graph by the run's trained model.",
        EXAMPLES,
        one="an ID is one word, the start of a run's id",
    )
    parser.add_argument("id", nargs="?", metavar="RUN", help="the start of a run's id")
    parser.add_argument(
        "--output", type=output_file, metavar="FILE", help="FILE.npy, float32, items × dimensions"
    )
    parser.add_argument(
        "--graph", type=Path, metavar="FILE", help="FILE.npz of the same features (docs/data.md)"
    )
    parser.add_argument(
        "--runs",
        nargs="+",
        action="extend",
        metavar="DIR",
        help="stores to look in (default: runs)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    options = parser.parse_args(argv)
    messages.set_up()
    if options.id is None:
        parser.error(id_first("embed", argv, ["RUN"]))
    if options.output is None or options.output.suffix != ".npy":
        return _wrong(
            "name the file that the embedding is written to: --output FILE.npy"
            + (f", not '{options.output}'" if options.output else "")
        )
    from gclbench.config.validation import find_device
    from gclbench.records import deliver
    from gclbench.run.saving import array_bytes

    errors: list[str] = []
    find_device(options.device, errors, here=False)
    if errors:
        return _wrong(f"--{errors[0]}")
    try:
        root, record = _found(options.id, options.runs or ["runs"], options.graph is None)
        array = _array(root, record, options.graph, options.device)
        made = deliver(options.output, array_bytes(array))
    except _Refused as refused:
        return _wrong(str(refused), refused.code)
    except OSError as error:
        return _wrong(unwritable_output(options.output, error))
    items, width = array.shape
    print(f"wrote {options.output}{made}: {items} items × {width}, float32, of run {record.id}")
    return 0


class _Refused(Exception):
    """There is no embedding to write; the text says why and what to type."""

    def __init__(self, text: str, code: int = 1):
        super().__init__(text)
        self.code = code


def _found(prefix: str, folders: list[str], own: bool) -> tuple[Path, Record]:
    """The store and the record of a run; of several stores that have it, the first with the files.

    Args:
        own: its embedding is wanted, which a model gives too.

    Raises:
        _Refused: when no run, or several, start so.
    """
    from gclbench.records import Store
    from gclbench.run.saving import EMBEDDING, MODEL

    missing = [folder for folder in folders if not Path(folder).is_dir()]
    if missing:
        raise _Refused(
            f"there is no folder {', '.join(missing)}; --runs DIR names the store of the run", 2
        )
    wanted = (EMBEDDING, MODEL) if own else (MODEL,)
    found: dict[str, list[Path]] = {}
    for folder in folders:
        for name in Store(folder).ids():
            if name.startswith(prefix) and Store(folder).path(name).is_file():
                found.setdefault(name, []).append(Path(folder))
    if len(found) > 1:
        raise _Refused(
            f"{len(found)} runs start with '{prefix}': {', '.join(sorted(found)[:8])}; give more of"
            " the id",
            2,
        )
    for name, roots in found.items():
        having = (root for root in roots if any((root / name / file).is_file() for file in wanted))
        root = next(having, roots[0])
        record = Store(root).read(name)
        if record is not None:
            return root, record
    raise _Refused(
        f"no run whose id starts with '{prefix}' has a folder in {', '.join(folders)};"
        f" `gclbench export --runs {shlex.join(folders)} --format csv` lists what is there, ids"
        " first, and --runs DIR names another store",
        2,
    )


def _array(root: Path, record: Record, graph: Path | None, device: str) -> np.ndarray:
    """The embedding, from the run's file or by its model.

    Raises:
        _Refused: when there is neither, or the model gives none.
    """
    import numpy as np

    from gclbench.component.own_files import as_typed, taken_out
    from gclbench.component.registry import METHODS, TASKS, UnknownName
    from gclbench.run.saving import EMBEDDING, MODEL, trains_model
    from gclbench.tasks.judging import per_fold, unkept

    folder = root / record.id
    if graph is None and (folder / EMBEDDING).is_file():
        try:
            return np.load(folder / EMBEDDING, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise _Refused(
                f"{folder / EMBEDDING} is damaged, or no array; delete it, then"
                f" {_again(root, record)}"
            ) from error
    if not (folder / MODEL).is_file():
        asked = "embedding" if graph is None else "model"
        method, task = record.name("method"), record.name("task")
        try:
            of_method, of_task = METHODS.load(method), TASKS.load(task)
        except UnknownName as error:
            _, own = taken_out(shlex.split(record.command))
            where = (
                f"the file that it was made with is to be given: {shlex.join(as_typed(own))}"
                if own
                else f"the package that it was made with is not installed here: {error}"
            )
            raise _Refused(f"run {record.id} left no {asked}, and {where}") from error
        if per_fold(of_method, of_task):
            raise _Refused(f"run {record.id} left no {asked}: {unkept(method, task)}")
        if asked == "model" and not trains_model(of_method):
            raise _Refused(
                f"method={method} trains no model, so nothing of run {record.id} embeds another"
                " graph; a run on that graph gives its embedding"
            )
        if not record.ok:
            raise _Refused(f"run {record.id} ended as {record.status}: {record.reason}")
        if asked in record.fit.get("too_large", {}):
            raise _Refused(f"run {record.id} left no {asked}: {record.fit['too_large'][asked]}")
        raise _Refused(
            f"run {record.id} left no {asked} beside its record; {_again(root, record, asked)}"
        )
    return _applied(root, record, graph, device)


def _again(root: Path, record: Record, asked: str = "embedding") -> str:
    """What to type for the files."""
    place = "" if str(root) == "runs" else f" runs_dir={shlex.quote(str(root))}"
    return (
        "this trains it once more and keeps that:"
        f" {record.command} {shlex.quote(f'save=[{asked}]')} rerun=incomplete{place}"
    )


def _applied(root: Path, record: Record, graph: Path | None, device: str) -> np.ndarray:
    """The embedding of a graph by the run's model.

    Raises:
        _Refused: when the method is not inductive, or the model does not fit.
    """
    from gclbench.component.own_files import taken_out
    from gclbench.config.validation import ConfigErrors, experiment_of, find_device
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError, Unsupported
    from gclbench.launch.specification import specification
    from gclbench.run import datasets
    from gclbench.run.applied import embedded, refusal
    from gclbench.tasks.items import items_of
    from gclbench.training.weights import WeightsError

    errors: list[str] = []
    where = find_device(device, errors)
    if errors:
        raise _Refused(f"--{errors[0]}", 2)
    try:
        words, _ = taken_out(shlex.split(record.command)[1:])
        experiment = experiment_of([*words, "device=cpu"])
    except ConfigErrors as error:
        raise _Refused(
            f"the command of run {record.id} is not understood any more: {error}"
        ) from error
    components = experiment.components
    reason = refusal(components.method, record.name("method"))
    if reason is not None:
        raise _Refused(f"{reason}; {_again(root, record)}" if graph is None else reason)
    (task,) = components.tasks
    try:
        if graph is None:
            data = datasets.load(components.dataset).graph
        else:
            from gclbench.data.custom import read_custom

            edges, direction = (
                str(getattr(components.dataset, key, usual))
                for key, usual in (("weights", "use"), ("direction", "undirected"))
            )
            if not graph.is_file():
                raise _Refused(f"{no_file(graph)}; give one with --graph FILE.npz")
            of_graphs = items_of(components.tasks[task]) == "graphs"
            data = read_custom(graph, graph.stem, edges, direction, of_graphs)
            for repair in data.repairs:
                note(f"{graph}: {repair}")
        spec = specification(experiment, task, record.seed, record.spec["dataset_hash"])
        if spec.id != record.id or (graph is None and data.content_hash != spec.dataset_hash):
            raise _Refused(
                f"run {record.id} was of another version of gclbench, its configs or its data, so"
                f" its model cannot be made again; {_again(root, record, 'model')}"
            )
        weights = _weights(root, record)
        found = embedded(components, spec, data, weights, where, own=graph is None)
    except WeightsError as error:
        features = "" if graph is None else f" {graph} has {data.x.shape[1]} features;"
        raise _Refused(
            f"the model of run {record.id} does not fit:{features} {error}; it takes graphs of the"
            f" features of {record.name('dataset')}, in their order"
        ) from error
    except (Unsupported, GraphError, DataUnavailable) as error:
        raise _Refused(str(error)) from error
    return found.cpu().float().numpy()


def _weights(root: Path, record: Record) -> Weights:
    """Those that the run left.

    Raises:
        _Refused: when the file holds none.
    """
    from gclbench.run.saving import MODEL
    from gclbench.training.weights import Weights, WeightsError

    path = root / record.id / MODEL
    try:
        return Weights.read(path)
    except WeightsError as error:
        raise _Refused(f"{error}; delete {path}, then {_again(root, record, 'model')}") from error


def _wrong(text: str, code: int = 2) -> int:
    print(f"gclbench embed: {text}", file=sys.stderr)
    return code
