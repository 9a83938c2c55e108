"""A table as it is asked for: a paper's, with rows that a user adds, or those of own runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gclbench.component.declared import among
from gclbench.component.registry import DATASETS, METHODS, nearest
from gclbench.paper import matrix, own_tables
from gclbench.paper.asked_settings import check_values
from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import Comparison, NotInTable, names_in
from gclbench.paper.floors import with_floors
from gclbench.paper.own_column import check_runs, own_columns, with_columns
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, find_table


def fill(
    name: str,
    records: Callable[[], Collection],
    added: Sequence[str] = (),
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    methods: Sequence[str] = (),
    planned: bool = False,
    tested: bool = True,
) -> list[Comparison]:
    """The filled table; of own runs one per task.

    Args:
        name: a table's id, `own`, or `own/TASK`.
        records: reads them; called when the names asked for are known to be the table's.
        added: methods, or methods with settings, that stand as rows in a paper's table.
        datasets, metrics, methods: these only; all by default. Added rows are always shown.
        planned: what is to be run is asked for: added rows may have no runs, and stand alone.
        tested: False leaves the tests out, for what asks only which runs there are.

    Raises:
        UnknownTable, NotInTable: for what does not exist.
        UnknownName, ConfigErrors, ValueError: for added rows that are none, have no runs, or are in
            the table already, for a table that takes none, and for values that no run takes.
    """
    own = is_own(name)
    if added and (own or name == matrix.ID):
        raise ValueError(f"a row is added to a paper's table, such as nml/1; {name} is of no paper")
    if own:
        return _own(name, records(), datasets, metrics, methods, tested)
    definition, columns = find_table(name, [own_tables.ID]), own_columns(added)
    if name == matrix.ID and datasets:
        for dataset in datasets:
            DATASETS.check(dataset)
        definition = matrix.table(datasets)
    if columns:
        definition = with_columns(definition, columns)
    names_in(definition, datasets, metrics, methods)
    collection = records()
    if not planned:
        check_runs(definition, collection.groups)
    else:
        for column in columns:
            check_values(column.words)
    if columns and (methods or planned):
        methods = [*methods, *(column.label for column in columns)]
    return [compare(definition, collection, tested).restrict(datasets, metrics, methods)]


def fill_all(
    records: Callable[[], Collection],
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> list[Comparison]:
    """Every paper's table, cut to the names asked for that it has; those with none are left out.

    Args:
        records: reads them; called when each name is known to be a table's.
        datasets, metrics, methods: these only; all by default.

    Raises:
        NotInTable: for a name that no table has, and where no table has a name of each kind.
    """
    wanted = {"dataset": datasets, "metric": metrics, "method": methods}
    known = {name: definition.names() for name, definition in TABLES.items()}
    for kind, names in wanted.items():
        everywhere = [*dict.fromkeys(name for table in known.values() for name in table[kind])]
        for name in names:
            if name in TABLES:
                raise NotInTable(
                    f"'{name}' is a table, and an ID comes first: gclbench table {name} --undecided"
                )
            if among(METHODS, name, everywhere) not in everywhere:
                likely = nearest(name, everywhere)
                hint = (
                    f"did you mean '{likely}'?" if likely else f"there are {', '.join(everywhere)}"
                )
                raise NotInTable(f"no table has the {kind} '{name}'; {hint}")
    collection, found = records(), []
    for name, definition in TABLES.items():
        there = known[name]
        here = {
            kind: [each for each in names if among(METHODS, each, there[kind]) in there[kind]]
            for kind, names in wanted.items()
        }
        if all(here[kind] for kind, names in wanted.items() if names):
            chosen = compare(definition, collection)
            found.append(chosen.restrict(here["dataset"], here["metric"], here["method"]))
    if not found:
        asked = (f"{kind} {' or '.join(names)}" for kind, names in wanted.items() if names)
        raise NotInTable(f"no table has all of this: {', '.join(asked)}")
    return found


def is_own(name: str) -> bool:
    """Whether a table's id is of own runs: `own`, `own/clustering`."""
    return name.partition("/")[0] == own_tables.ID


def _own(
    name: str,
    collection: Collection,
    datasets: Sequence[str],
    metrics: Sequence[str],
    methods: Sequence[str],
    tested: bool,
) -> list[Comparison]:
    collection = with_floors(collection)
    tables = own_tables.find_own(name, collection)
    own_tables.check_names(tables, datasets, metrics, methods)
    filled = (compare(table, collection, tested) for table in tables)
    found = (own_tables.restricted(each, datasets, metrics, methods) for each in filled)
    return [each for each in found if each is not None]
