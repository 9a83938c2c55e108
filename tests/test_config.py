"""From overrides to a validated experiment, and what a wrong command is told."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import pytest
import torch
import yaml

from gclbench import config
from gclbench.config import ConfigErrors, load, resolved, sweep
from gclbench.hyperparameters import schema, values_of
from gclbench.registry import DATASETS, FILTERS, KINDS, METHODS, TASKS, Entry

PAPER_METHODS = ("dmt", "dmat", "dmat_i")


def overrides(method: str, dataset: str, *more: str) -> list[str]:
    """A command; the dataset `custom` needs a path."""
    return [f"method={method}", f"dataset={dataset}", *(["dataset.path=graph.npz"] if dataset == "custom" else []), *more]


def errors_of(*command: str) -> list[str]:
    with pytest.raises(ConfigErrors) as raised:
        load(list(command))
    return raised.value.errors


# --- everything composes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS.names())
def test_a_method_composes_and_binds_with_every_dataset_and_all_tasks(method: str) -> None:
    for dataset in DATASETS.names():
        tasks = ",".join(TASKS.names())
        experiment = load(overrides(method, dataset, f"task=[{tasks}]"))
        assert experiment.settings["method"]["name"] == method
        assert experiment.settings["dataset"]["name"] == dataset
        assert isinstance(experiment.components["method"], METHODS.load(method))
        assert set(experiment.components["tasks"]) == set(TASKS.names())


@pytest.mark.parametrize("name", FILTERS.names())
def test_a_filter_composes_with_any_method(name: str) -> None:
    for method in METHODS.names():
        assert load(overrides(method, "cora", f"filter={name}")).settings["filter"]["name"] == name


def test_one_task_leaves_the_others_out() -> None:
    for task in TASKS.names():
        assert list(load([f"task={task}"]).components["tasks"]) == [task]


@pytest.mark.parametrize("kind,name", [(kind, name) for kind, registry in KINDS.items() for name in registry.names()])
def test_yaml_keys_are_the_components_settings(kind: str, name: str) -> None:
    path = files("gclbench.configs").joinpath(kind, f"{name}.yaml")
    if not path.is_file():
        pytest.skip("it has no YAML: its class's defaults are its values")
    composed = resolved([f"{kind}={name}"])
    node = dict(composed["task"][name] or {}) if kind == "task" else dict(composed[kind])
    if kind != "task":
        assert node.pop("name") == name
    assert set(node) == set(schema(KINDS[kind].load(name)))


@pytest.mark.parametrize(
    "path", sorted(Path(str(files("gclbench.configs"))).glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_yaml_belongs_to_a_component_and_its_paper_rows_to_datasets(path: Path) -> None:
    assert path.stem in KINDS[path.parent.name].entries
    text = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    paper = text.get("paper", {})
    assert set(paper) <= {"default", *DATASETS.names()}
    asked = set(re.findall(r"\$\{paper:(\w+)", path.read_text(encoding="utf-8")))
    for row in paper.values():
        assert set(row) <= asked, "a paper row sets what nothing reads"


def test_values_that_identify_a_run_are_plain_and_as_typed() -> None:
    whole, fraction = load(["method.tau=2"]), load(["method.tau=2.0"])
    assert whole.settings == fraction.settings
    assert isinstance(whole.settings["method"]["tau"], float)
    assert whole.settings["method"]["architecture"] == [256, 128]


# --- the paper's settings ------------------------------------------------------------------------------------

# Table 8 of paper 000, as printed: lr, architecture, tau, epochs, mask_fraction, views, weight_decay, batch_size, alpha, r_max, rrz.
TABLE_8 = {
    "acm": (1e-3, [256, 128], 2.0, 400, 0.6, 4, 0.02, 512, 0.4, 1e-5, 0.4),
    "dblp": (1e-3, [256, 256], 2.0, 300, 0.2, 4, 0.05, 512, 0.6, 1e-4, 0.5),
    "cora": (1e-4, [256, 128], 1.0, 300, 0.08, 3, 0.02, 512, 0.1, 1e-6, 0.4),
    "citeseer": (1e-4, [256, 512], 4.0, 400, 0.2, 4, 0.05, 512, 0.4, 1e-5, 0.4),
    "pubmed": (1e-5, [256, 256], 0.8, 200, 0.2, 2, 0.05, 512, 0.01, 1e-5, 0.4),
    "amazon_photo": (8e-5, [512, 512], 2.0, 500, 0.1, 4, 0.1, 256, 0.03, 1e-6, 0.5),
    "coauthor_cs": (1e-5, [256, 512], 1.2, 400, 0.4, 5, 0.05, 512, 0.1, 1e-5, 0.4),
    "coauthor_phy": (2e-5, [256, 512], 0.5, 400, 0.1, 5, 0.05, 512, 0.08, 1e-5, 0.4),
}
COLUMNS = ("lr", "architecture", "tau", "epochs", "mask_fraction", "views", "weight_decay", "batch_size", "alpha", "r_max", "rrz")


@pytest.mark.parametrize("method,dataset", list(itertools.product(PAPER_METHODS, TABLE_8)))
def test_table_8_lands_in_method_and_filter(method: str, dataset: str) -> None:
    experiment = load(overrides(method, dataset))
    assert experiment.settings["filter"]["name"] == "gnnbp"
    found = {**experiment.settings["filter"], **experiment.settings["method"]}
    printed = dict(zip(COLUMNS, TABLE_8[dataset], strict=True))
    if method == "dmt":
        assert "mask_fraction" not in found and "views" not in found
        del printed["mask_fraction"], printed["views"]
    assert {key: found[key] for key in printed} == printed


def test_a_dataset_without_a_row_takes_the_default_row() -> None:
    settings = load(["method=dmat_i", "dataset=wiki_cs"]).settings
    assert (settings["method"]["tau"], settings["method"]["lr"], settings["filter"]["alpha"]) == (1.0, 1e-3, 0.1)


def test_the_command_line_wins_over_the_paper_and_moves_nothing_else() -> None:
    plain, changed = load(["dataset=cora"]).settings, load(["dataset=cora", "method.lr=0.5", "filter.rrz=0.25"]).settings
    assert changed["method"] == {**plain["method"], "lr": 0.5}
    assert changed["filter"] == {**plain["filter"], "rrz": 0.25}


def test_an_override_in_any_order_wins() -> None:
    assert load(["method.lr=0.5", "dataset=cora", "method=dmt"]).settings["method"]["lr"] == 0.5


def test_a_filter_that_is_not_chosen_leaves_no_keys() -> None:
    composed = resolved(["method=dmat_i", "dataset=cora", "filter=none"])
    assert composed["filter"] == {"name": "none"}
    assert "paper" not in composed


def test_one_process_composes_different_datasets_in_turn() -> None:
    """The paper's rows are looked up per composition, never remembered."""
    lrs = [load([f"dataset={name}"]).settings["method"]["lr"] for name in ("cora", "acm", "cora")]
    assert lrs == [1e-4, 1e-3, 1e-4]


def test_a_bare_command_is_dmat_i_on_digits_with_seed_0() -> None:
    experiment = load([])
    assert (experiment.settings["method"]["name"], experiment.settings["dataset"]["name"]) == ("dmat_i", "digits")
    assert experiment.seeds == (0,) and experiment.runs_dir == "runs" and experiment.time_limit is None
    assert not experiment.tasks_chosen and load(["task=clustering"]).tasks_chosen


def test_components_hold_the_values_of_the_settings() -> None:
    experiment = load(["dataset=cora", "method.epochs=7"])
    assert {"name": "dmat_i", **values_of(experiment.components["method"])} == experiment.settings["method"]
    assert experiment.components["method"].epochs == 7


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
    assert load(command).overrides == ("dataset=cora", "method.lr=0.5")


# --- seeds, device, limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text,seeds", [("seeds=1", (0,)), ("seeds=3", (0, 1, 2)), ("seeds=[3,7]", (3, 7)), ("seeds=[0]", (0,))])
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert load([text]).seeds == seeds


@pytest.mark.parametrize("value", ["0", "-1", "a", "1.5", "true", "null"])
def test_seeds_must_be_a_number_of_seeds(value: str) -> None:
    (error,) = errors_of(f"seeds={value}")
    assert re.fullmatch(
        r"seeds=.* must be a number of seeds, at least 1 \(seeds=10 runs seeds 0 to 9\), or a list: seeds=\[3,7\]", error
    )


@pytest.mark.parametrize("value", ["[1,1]", "[]", "[-1]", "[1.5]", "[a]", "[true]"])
def test_listed_seeds_must_be_different_whole_numbers(value: str) -> None:
    (error,) = errors_of(f"seeds={value}")
    assert error.endswith("must be different whole numbers from 0, for example seeds=[3,7]")


@pytest.mark.parametrize("value", ["gpu", "tpu", "cuda0"])
def test_an_unknown_device(value: str) -> None:
    assert errors_of(f"device={value}") == [f"device={value} must be auto, cpu, cuda or cuda:0, cuda:1, …"]


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert errors_of("device=cuda") == ["device=cuda: no GPU is visible to torch; device=auto falls back to the CPU"]
    assert load(["device=auto"]).device == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert load(["device=auto"]).device == "cuda" and load(["device='cuda:1'"]).device == "cuda:1"
    assert errors_of("device='cuda:2'") == ["device=cuda:2: there are 2 GPUs, numbered from 0"]


@pytest.mark.parametrize("value", ["0", "-3", "soon", "true"])
def test_time_limit_is_a_positive_number(value: str) -> None:
    assert errors_of(f"time_limit={value}")[0].endswith("must be a positive number of seconds, or null")


def test_time_limit_and_rerun() -> None:
    assert load(["time_limit=2.5"]).time_limit == 2.5
    assert errors_of("rerun=always") == ["rerun=always must be one of never, failed, all"]


@pytest.mark.parametrize("value", ["", "null"])
def test_runs_dir_must_name_a_folder(value: str) -> None:
    assert errors_of(f"runs_dir={value}") == ["runs_dir must name a folder, for example runs_dir=runs"]


# --- wrong commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text,message",
    [
        ("dataset=corra", "there is no dataset 'corra'. Did you mean 'cora'? Known datasets: acm, "),
        ("method=dmat-i", "there is no method 'dmat-i'. Did you mean 'dmat_i'? Known methods: "),
        ("filter=gnbp", "there is no filter 'gnbp'. Did you mean 'gnnbp'? Known filters: "),
        ("task=[clustering,clasification]", "there is no task 'clasification'. Did you mean 'classification'? Known tasks: "),
        ("negatives=unifrom", "there is no negatives strategy 'unifrom'. Did you mean 'uniform'? Known negatives strategies: "),
        ("method.lrr=1", "'method.lrr' does not exist. Did you mean 'method.lr'? Known: method.activation, "),
        ("method.n_epochs=1", "'method.n_epochs' does not exist. Did you mean 'method.epochs'? Known: "),
        ("method.alpha=0.3", "'method.alpha' does not exist. Did you mean 'filter.alpha'? Known: "),
        ("mthod.lr=1", "'mthod.lr' does not exist. Did you mean 'method.lr'? Known: dataset, device, "),
        ("lr=2", "'lr' does not exist. Did you mean 'method.lr'? Known: dataset, device, "),
        ("n_init=2", "'n_init' does not exist. Did you mean 'task.clustering.n_init'? Known: "),
        ("clustering.n_int=3", "'clustering.n_int' does not exist. Did you mean 'task.clustering.n_init'? Known: "),
        ("methd=dmt", "'methd' does not exist. Did you mean 'method'? Known: dataset, device, filter, method, "),
        ("datset=cora", "'datset' does not exist. Did you mean 'dataset'? Known: "),
        ("seed=3", "'seed' does not exist. Did you mean 'seeds'? Known: "),
        ("method.zzz=3", "'method.zzz' does not exist. Known: method.activation, "),
        ("+foo=1", "'foo' does not exist. Known: dataset, device, "),
        ("+method.foo=1", "'method.foo' does not exist. Known: method.activation, "),
        ("filter=none filter.alpha=0.3", "'filter.alpha' does not exist: filter=none has no settings."),
        ("method.name=dmt", "'method.name' cannot be set; choose a method with method=NAME"),
        ("++method.name=nonsense", "'method.name' cannot be set; choose a method with method=NAME"),
        ("task.clustering=3", "'task.clustering' does not exist. Did you mean 'task.clustering."),
        ("filter.alpha=0", "filter.alpha=0 is out of range: it must be > 0 and ≤ 1"),
        ("method.tau=-1", "method.tau=-1 is out of range: it must be > 0"),
        ("method.lr=inf", "method.lr=inf must be a finite number"),
        ("method.lr=nan", "method.lr=nan must be a finite number"),
        ("method.lr=fast", "method.lr='fast' must be a number"),
        ("method.epochs=inf", "method.epochs=inf must be a whole number"),
        ("method.epochs=2.5", "method.epochs=2.5 must be a whole number"),
        ("method.architecture=12", "method.architecture=12 must be a list, for example [256,128]"),
        ("method.activation=gelo", "method.activation='gelo' must be one of "),
        ("method=null", "'method=null' does not name a method. Known: "),
        ("method={a:1}", "'method={a:1}' does not name a method. Known: "),
        ("task=[]", "'task=[]' does not name a task. Known: classification, "),
        ("method=[dmt,dmat]", "'method=[dmt,dmat]' names several; a run has one method. To run each: gclbench -m method=dmt,dmat"),
        (
            "method=dmt,dmat",
            "'method=dmt,dmat' names several values; run a sweep with -m: gclbench -m method=dmt,dmat. A list is written [a,b].",
        ),
        ("~filter", "'~filter' removes a setting, and every run needs all of them; filter=none applies no filter"),
        ("~method.lr", "'~method.lr' removes a setting, and every run needs all of them; KEY=VALUE sets another value"),
        ("method.lr", "cannot read 'method.lr': "),
        ("method.lr=[", "cannot read 'method.lr=[': no viable alternative at input '['; quote brackets, "),
        ("=3", "'=3' names no key; overrides are KEY=VALUE"),
        ("method.lr=${nothing}", "Interpolation key 'nothing' not found"),
        ("dataset=custom", "dataset.path must be given: dataset.path=…"),
    ],
)
def test_a_wrong_command_is_told(text: str, message: str) -> None:
    (error,) = errors_of(*text.split())
    assert error.startswith(message)


def test_all_errors_come_at_once_whatever_their_kind() -> None:
    found = errors_of(
        "dataset=corra",
        "methd=dmt",
        "filter.alpha=0",
        "method.tau=-1",
        "method.lrr=1",
        "seeds=0",
        "device=gpu",
        "rerun=x",
        "method.views=a,b",
        "x=[",
    )
    starts = (
        "'method.views=a,b' names", "cannot read 'x=['", "there is no dataset 'corra'", "'methd' does not", "'method.lrr' does not",
        "filter.alpha=0 is", "method.tau=-1 is", "seeds=0 must", "rerun=x must", "device=gpu must",
    )  # fmt: skip
    assert len(found) == len(starts)
    for start in starts:
        assert sum(error.startswith(start) for error in found) == 1, start


def test_nothing_is_said_about_the_settings_of_what_is_misspelt() -> None:
    found = errors_of("method=kmeens", "method.lr=1", "method.whatever=2", "filter.alpha=0.2", "dataset=crora", "dataset.scale=3")
    assert [error.partition(".")[0] for error in found] == ["there is no method 'kmeens'", "there is no dataset 'crora'"]


def test_every_setting_of_every_component_is_found_by_its_bare_name() -> None:
    # Settings so close to a key of the command itself that this key is suggested.
    shadowed = {"seed": "seeds"}
    for kind, registry in KINDS.items():
        for name in registry.names():
            settings = list(schema(registry.load(name)))
            found = errors_of(f"{kind}={name}", *(f"{setting}=1" for setting in settings)) if settings else []
            for setting in settings:
                (error,) = [text for text in found if text.startswith(f"'{setting}'")]
                guess = re.search(r"Did you mean '([^']+)'", error)
                assert guess is not None
                expected = shadowed.get(setting)
                assert guess[1] == expected if expected else guess[1].endswith(f".{setting}")


# --- sweeps --------------------------------------------------------------------------------------------------


def test_a_sweep_is_every_combination_the_last_key_fastest() -> None:
    assert sweep(["method=dmt,dmat", "dataset=cora", "method.tau=1,2"]) == [
        ["method=dmt", "dataset=cora", "method.tau=1"],
        ["method=dmt", "dataset=cora", "method.tau=2"],
        ["method=dmat", "dataset=cora", "method.tau=1"],
        ["method=dmat", "dataset=cora", "method.tau=2"],
    ]


def test_a_sweep_over_lists_and_ranges() -> None:
    assert sweep(["method.architecture=[8],[8,4]"]) == [["method.architecture=[8]"], ["method.architecture=[8,4]"]]
    assert sweep(["seeds=range(1,3)"]) == [["seeds=1"], ["seeds=2"]]
    assert sweep(["++method.lr=1,2"]) == [["++method.lr=1"], ["++method.lr=2"]]
    assert sweep([]) == [[]]


def test_a_sweep_over_names_by_pattern() -> None:
    assert sweep(["dataset=glob(co*)"]) == [[f"dataset={name}"] for name in DATASETS.names() if name.startswith("co")]


@pytest.mark.parametrize("text", ["method.lr=interval(0,1)", "method.lr=glob(*)"])
def test_what_cannot_be_swept(text: str) -> None:
    with pytest.raises(ConfigErrors, match=r"cannot be swept: .*; write the values out, as in KEY=A,B$"):
        sweep([text])


def test_a_sweep_reports_what_it_cannot_read() -> None:
    with pytest.raises(ConfigErrors, match="cannot read 'nonsense'"):
        sweep(["method=dmt,dmat", "nonsense"])


# --- components of other packages ----------------------------------------------------------------------------


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
    entries["broken"] = Entry("broken", "", "no_such_module_here:Broken", "other 1.0", builtin=False)
    monkeypatch.setitem(METHODS.__dict__, "entries", entries)
    monkeypatch.setitem(METHODS._classes, "outside", Outside)
    yield


def test_a_component_without_yaml_takes_its_classs_defaults(outside: None) -> None:
    assert load(["method=outside"]).settings["method"] == {"name": "outside", "width": 3}
    assert load(["method=outside", "method.width=5"]).components["method"].width == 5
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
        experiment = load([choice, f"{where}.strength=0.25"])
        component = experiment.components["tasks"]["outside"] if kind == "task" else experiment.components[kind]
        assert component == Outside(0.25)


def test_a_component_that_cannot_be_imported_is_an_error_not_a_traceback(outside: None) -> None:
    assert errors_of("method=broken") == [
        "method 'broken' of other 1.0 cannot be loaded: ModuleNotFoundError: No module named 'no_such_module_here'"
    ]


def test_config_errors_are_one_line_each() -> None:
    error = ConfigErrors(["a", "b"])
    assert str(error) == "a\nb" and error.errors == ["a", "b"]
    assert isinstance(error, ValueError) and config.RERUN == ("never", "failed", "all")
