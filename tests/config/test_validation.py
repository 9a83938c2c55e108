"""From overrides to a validated experiment, and what a wrong command is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from told_errors import errors_of

from gclbench.component.registry import DATASETS, FILTERS, KINDS, METHODS, TASKS, Entry
from gclbench.component.settings import values_of
from gclbench.config import composition
from gclbench.config import validation as config
from gclbench.config.validation import ConfigErrors, experiment_of, resolved
from gclbench.data.file_format import READ_FROM_FILES
from gclbench.paper.reference import printed_settings, printed_values
from gclbench.records import flatten

PAPER_METHODS = ("dmt", "dmat", "dmat_i")
TABLE_8 = ("dmat", "8")


def overrides(method: str, dataset: str, *more: str) -> list[str]:
    """A command; a user's own datasets need a path, `tu` a name."""
    return [
        f"method={method}",
        f"dataset={dataset}",
        *(["dataset.path=graph.npz"] if dataset in READ_FROM_FILES else []),
        *(["dataset.tu_name=ENZYMES"] if dataset == "tu" else []),
        *more,
    ]


# --- everything composes


@pytest.mark.parametrize("method", METHODS.names())
def test_a_method_composes_and_binds_with_every_dataset_and_all_tasks(method: str) -> None:
    for dataset in DATASETS.names():
        tasks = ",".join(TASKS.names())
        experiment = experiment_of(overrides(method, dataset, f"task=[{tasks}]"))
        # gcn is gcn_graphs on a collection of graphs.
        meant = composition.method_for({"method": method, "dataset": dataset}).get("method", method)
        assert experiment.settings["method"]["name"] == meant
        recorded = experiment.settings["dataset"]
        own = {"name": "graph", "from": dataset}
        assert recorded == own if dataset in READ_FROM_FILES else recorded["name"] == dataset
        assert isinstance(experiment.components.method, METHODS.load(meant))
        assert set(experiment.components.tasks) == set(TASKS.names())


@pytest.mark.parametrize("name", FILTERS.names())
def test_a_filter_composes_with_any_method(name: str) -> None:
    for method in METHODS.names():
        assert (
            experiment_of(overrides(method, "cora", f"filter={name}")).settings["filter"]["name"]
            == name
        )


def test_one_task_leaves_the_others_out() -> None:
    for task in TASKS.names():
        assert list(experiment_of([f"task={task}"]).components.tasks) == [task]


def test_values_that_identify_a_run_are_plain_and_as_typed() -> None:
    whole, fraction = experiment_of(["method.tau=2"]), experiment_of(["method.tau=2.0"])
    assert whole.settings == fraction.settings
    assert isinstance(whole.settings["method"]["tau"], float)
    assert whole.settings["method"]["architecture"] == [256, 128]


# --- the paper's settings


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_table_8_lands_in_method_and_filter_as_printed(method: str) -> None:
    """The rows in configs/ and those in paper/reference.csv, which is the printed record."""
    tabled = {value.dataset for value in printed_values() if (value.paper, value.table) == TABLE_8}
    assert len(tabled) == 8
    assert set(composition.yaml_of("method", method)["paper"]) == tabled
    assert set(composition.yaml_of("filter", "gnnbp")["paper"]) == tabled
    for dataset in sorted(tabled):
        settings = experiment_of(overrides(method, dataset)).settings
        assert settings["filter"]["name"] == "gnnbp"
        found = flatten({kind: settings[kind] for kind in ("method", "filter")})
        printed = dict(printed_settings("dmat", dataset))
        assert len(printed) == 11
        if method == "dmt":
            for views in ("method.mask_fraction", "method.views"):
                assert views not in found and printed.pop(views)
        assert {key: found[key] for key in printed} == printed


def test_a_dataset_without_a_row_takes_the_defaults_of_the_class() -> None:
    settings = experiment_of(["method=dmat_i", "dataset=wiki_cs"]).settings
    assert (settings["method"]["tau"], settings["method"]["lr"], settings["filter"]["alpha"]) == (
        1.0,
        1e-3,
        0.1,
    )


def test_the_command_line_wins_over_the_paper_and_moves_nothing_else() -> None:
    plain, changed = (
        experiment_of(["dataset=cora"]).settings,
        experiment_of(["dataset=cora", "method.lr=0.5", "filter.rrz=0.25"]).settings,
    )
    assert changed["method"] == {**plain["method"], "lr": 0.5}
    assert changed["filter"] == {**plain["filter"], "rrz": 0.25}


def test_an_override_in_any_order_wins() -> None:
    assert (
        experiment_of(["method.lr=0.5", "dataset=cora", "method=dmt"]).settings["method"]["lr"]
        == 0.5
    )


def test_a_filter_that_is_not_chosen_leaves_no_keys() -> None:
    composed = resolved(["method=dmat_i", "dataset=cora", "filter=none"])
    assert composed["filter"] == {"name": "none"}
    assert "paper" not in composed


def test_one_process_composes_different_datasets_in_turn() -> None:
    """Rows are looked up per composition, never remembered."""
    lrs = [
        experiment_of([f"dataset={name}"]).settings["method"]["lr"]
        for name in ("cora", "acm", "cora")
    ]
    assert lrs == [1e-4, 1e-3, 1e-4]


def test_a_bare_command_is_dmat_i_on_digits_with_seed_0() -> None:
    experiment = experiment_of([])
    assert (experiment.settings["method"]["name"], experiment.settings["dataset"]["name"]) == (
        "dmat_i",
        "digits",
    )
    assert (
        experiment.seeds == (0,) and experiment.runs_dir == "runs" and experiment.time_limit is None
    )
    assert not experiment.tasks_chosen and experiment_of(["task=clustering"]).tasks_chosen


def test_components_hold_the_values_of_the_settings() -> None:
    experiment = experiment_of(["dataset=cora", "method.epochs=7"])
    values = values_of(experiment.components.method)
    assert values.pop("epoch_by") == "last", "at its default it is no part of a run's identity"
    assert values.pop("course") == 0, "what is kept of a run is no part of it either"
    assert {"name": "dmat_i", **values} == experiment.settings["method"]
    assert experiment.components.method.epochs == 7


def test_what_repeats_the_command_leaves_out_where_and_how_often_it_ran() -> None:
    command = [
        "dataset=cora",
        "seeds=3",
        "task=clustering",
        "runs_dir=elsewhere",
        "rerun=all",
        "device=cpu",
        "time_limit=9",
        "method.lr=0.5",
    ]
    assert experiment_of(command).overrides == ("dataset=cora", "method.lr=0.5")


# --- device, limits


@pytest.mark.parametrize("value", ["gpu", "tpu", "cuda0"])
def test_an_unknown_device(value: str) -> None:
    assert errors_of(f"device={value}") == [
        f"device={value} must be auto, cpu, cuda or cuda:0, cuda:1, …"
    ]


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert errors_of("device=cuda") == [
        "device=cuda: no GPU is visible to torch; device=auto falls back to the CPU"
    ]
    assert experiment_of(["device=auto"]).device == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert (
        experiment_of(["device=auto"]).device == "cuda"
        and experiment_of(["device='cuda:1'"]).device == "cuda:1"
    )
    assert errors_of("device='cuda:2'") == ["device=cuda:2: there are 2 GPUs, numbered from 0"]


@pytest.mark.parametrize("value", ["0", "-3", "soon", "true"])
def test_time_limit_is_a_positive_number(value: str) -> None:
    assert errors_of(f"time_limit={value}")[0].endswith(
        "must be a positive number of seconds, 1,000,000,000 at most, or null"
    )


def test_time_limit_and_rerun() -> None:
    assert experiment_of(["time_limit=2.5"]).time_limit == 2.5
    assert errors_of("rerun=always") == [
        "rerun=always must be one of never, failed, incomplete, all"
    ]


@pytest.mark.parametrize("value", ["", "null"])
def test_runs_dir_must_name_a_folder(value: str) -> None:
    assert errors_of(f"runs_dir={value}") == [
        "runs_dir must name a folder, for example runs_dir=runs"
    ]


# --- components of other packages


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A method of another package, known but without a YAML, and one that cannot be imported."""

    @dataclass(frozen=True)
    class Outside:
        version: ClassVar[str] = "1"
        needs_labels: ClassVar[bool] = False
        width: int = 3

    entries = dict(METHODS.entries)
    entries["outside"] = Entry("outside", "", "nowhere:Outside", "other 1.0", builtin=False)
    entries["broken"] = Entry(
        "broken", "", "no_such_module_here:Broken", "other 1.0", builtin=False
    )
    monkeypatch.setitem(METHODS.__dict__, "entries", entries)
    monkeypatch.setitem(METHODS._classes, "outside", Outside)
    yield


def test_a_component_without_yaml_takes_its_classs_defaults(outside: None) -> None:
    assert experiment_of(["method=outside"]).settings["method"] == {"name": "outside", "width": 3}
    assert experiment_of(["method=outside", "method.width=5"]).components.method.width == 5
    assert errors_of("method=outside", "method.widht=5")[0].startswith(
        "'method.widht' does not exist. Did you mean 'method.width'?"
    )


def test_any_kind_may_come_without_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Outside:
        version: ClassVar[str] = "1"
        strength: float = 0.5

    for kind, registry in KINDS.items():
        entry = Entry("outside", "", "nowhere:Outside", "other 1.0", builtin=False)
        monkeypatch.setitem(registry.__dict__, "entries", {**registry.entries, "outside": entry})
        monkeypatch.setitem(registry._classes, "outside", Outside)
        where = "task.outside" if kind == "task" else kind
        choice = "task=[clustering,outside]" if kind == "task" else f"{kind}=outside"
        experiment = experiment_of([choice, f"{where}.strength=0.25"])
        component = (
            experiment.components.tasks["outside"]
            if kind == "task"
            else getattr(experiment.components, kind)
        )
        assert component == Outside(0.25)


def test_a_component_that_cannot_be_imported_is_an_error_not_a_traceback(outside: None) -> None:
    assert errors_of("method=broken") == [
        "method 'broken' of other 1.0 cannot be loaded: ModuleNotFoundError: No module named"
        " 'no_such_module_here'"
    ]


def test_config_errors_are_one_line_each() -> None:
    error = ConfigErrors(["a", "b"])
    assert str(error) == "a\nb" and error.errors == ["a", "b"]
    assert isinstance(error, ValueError) and config.RERUN == (
        "never",
        "failed",
        "incomplete",
        "all",
    )
