"""What stands in a YAML, and how class, YAML, row and command line make a component's values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import pytest
from yaml import safe_load

from gclbench.component.declared import STATEMENTS, declared
from gclbench.component.registry import DATASETS, GROUPS
from gclbench.config import composition
from gclbench.config.composition import all_names, composed, nodes, stated_names, yaml_of
from gclbench.config.validation import ConfigErrors, experiment_of, resolved

CONFIGS = Path(str(files("gclbench.configs")))
YAMLS = [
    (path.parent.name, path.stem)
    for path in sorted(CONFIGS.glob("*/*.yaml"))
    if path.parent.name != "rows"
]


def method(*command: str) -> dict[str, Any]:
    """The method's settings that a command composes."""
    found: dict[str, Any] = resolved(list(command))["method"]
    return found


# --- what stands in the files


@pytest.mark.parametrize("kind,name", YAMLS)
def test_a_yaml_holds_settings_of_its_component_and_rows_of_datasets(kind: str, name: str) -> None:
    assert name in GROUPS[kind].entries
    yaml, settings = yaml_of(kind, name), set(declared(GROUPS[kind], name).defaults)
    stated = {"paper", *(STATEMENTS if kind == "method" else ())}
    values = {key for key in yaml if key not in stated and "." not in key}
    assert values <= settings
    assert set(yaml.get("paper", {})) <= set(DATASETS.names())
    for dataset, row in yaml.get("paper", {}).items():
        assert {key for key in row if "." not in key} <= settings
        assert_names_settings_of_others(kind, row, dataset)
    assert_names_settings_of_others(kind, yaml)


def assert_names_settings_of_others(kind: str, values: dict[str, Any], dataset: str = "") -> None:
    """A key with a dot is a setting of a component of another kind; of a dataset only in the row of
    that dataset, for it counts nowhere else."""
    for key in values:
        owner, dot, setting = key.partition(".")
        kinds = [
            other for other, group in GROUPS.items() if other != kind and owner in group.entries
        ]
        if dot:
            assert len(kinds) == 1, key
            assert setting in declared(GROUPS[kinds[0]], owner).defaults, key
            assert kinds != ["dataset"] or owner == dataset, key


def inherited(kind: str, name: str) -> dict[str, Any]:
    """What the YAML of a component starts from, without what it says itself."""
    text = (CONFIGS / kind / f"{name}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    for base in safe_load(text).get("defaults", []):
        if base != "_self_" and not base.startswith("/rows/"):
            found |= yaml_of(kind, base)
    return found


@pytest.mark.parametrize("kind,name", YAMLS)
def test_a_default_stands_in_the_class_alone(kind: str, name: str) -> None:
    yaml, said = yaml_of(kind, name), declared(GROUPS[kind], name)
    of_base = inherited(kind, name)
    repeated = [
        key
        for key, value in said.defaults.items()
        # Where its base's YAML says otherwise, the default must be said again.
        if yaml.get(key, ...) == value and of_base.get(key, value) == value
    ]
    assert not repeated, f"{kind}/{name}.yaml repeats the class"
    usual = {**said.defaults, **yaml}
    idle = [
        dataset
        for dataset, row in yaml.get("paper", {}).items()
        if all(usual.get(key, ...) == value for key, value in row.items())
    ]
    # Coauthor CS's values of the filter are the class's defaults; the printed table stays whole.
    assert idle == (["coauthor_cs"] if name == "gnnbp" else []), "rows that change nothing"
    for key in ("filter", "negatives"):
        assert yaml.get(key) is None or getattr(said, key) is None, "stated twice"


def test_rows_that_methods_share_are_no_component_and_are_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in CONFIGS.glob("method/*.yaml"))
    shared = [path.stem for path in CONFIGS.glob("rows/*.yaml")]
    assert shared and all(text.count(f"/rows/{name}@_here_") > 1 for name in shared)


# --- a method starts from its base


def test_the_family_of_grace_has_its_rows() -> None:
    for dataset in ("cora", "citeseer", "pubmed", "dblp_citation"):
        base = {**method("method=grace", f"dataset={dataset}"), "name": ""}
        for name in ("augcl", "gca", "progcl"):
            found = {**method(f"method={name}", f"dataset={dataset}"), "name": ""}
            assert {key: found[key] for key in base} == base
        mixed = method("method=mmix_grace", f"dataset={dataset}")
        assert mixed["lr"] == 3e-4 and mixed["epochs"] == 2000 and mixed["architecture"] == [256]
        for drops in ("edge_drop", "feature_drop"):
            assert mixed[drops] == base[drops]


def test_a_row_is_extended_and_overridden_setting_by_setting() -> None:
    gca, progcl = (method(f"method={name}", "dataset=coauthor_cs") for name in ("gca", "progcl"))
    assert (gca["lr"], gca["tau"]) == (5e-4, 0.4)
    assert progcl == {
        **gca, "name": "progcl", "centrality": "eigenvector", "lr": 1e-4, "tau": 0.2
    }  # fmt: skip
    assert method("method=progcl", "dataset=amazon_photo")["epochs"] == 2500
    assert method("method=gca", "dataset=amazon_photo")["epochs"] == 2000


def test_dmat_adds_its_views_to_dmts_rows() -> None:
    dmt, dmat, dmat_i = (
        {**method(f"method={name}", "dataset=pubmed"), "name": ""}
        for name in ("dmt", "dmat", "dmat_i")
    )
    assert "views" not in dmt and dmat == {**dmt, "mask_fraction": 0.2, "views": 2}
    assert dmat["epoch_by"] == "validation"
    assert dmat_i == {**dmat, "epoch_by": "last", "train_on": "all"}


# --- what a method is run with


@pytest.mark.parametrize(
    "command,filter_name,strategy",
    [
        (["method=augcl"], "none", "augcl"),
        (["method=augcl", "negatives=uniform"], "none", "uniform"),
        (["method=dmat_i"], "gnnbp", "uniform"),
        (["method=dmat_i", "filter=none"], "none", "uniform"),
        (["method=dmat_i", "negatives=nml", "filter=agc"], "agc", "nml"),
        (["negatives=nml", "method=progcl"], "none", "nml"),
        (["method=age"], "laplacian", "uniform"),
        (["method=grace"], "none", "uniform"),
    ],
)
def test_the_command_then_the_method_then_the_usual_names(
    command: list[str], filter_name: str, strategy: str
) -> None:
    found = resolved([*command, "dataset=cora"])
    assert (found["filter"]["name"], found["negatives"]["name"]) == (filter_name, strategy)
    for kind in ("filter", "negatives", "method"):
        settings = declared(GROUPS[kind], found[kind]["name"]).defaults
        assert set(found[kind]) == {"name", *settings}, "no stray keys"


def test_a_setting_for_another_component_counts_where_that_one_is_chosen() -> None:
    assert resolved(["method=mmix_mo"])["negatives"]["variant"] == "mo"
    assert resolved(["method=mmix_mo", "negatives=mmix"])["negatives"]["variant"] == "mo"
    assert resolved(["method=mmix_mp"])["negatives"]["variant"] == "mp"
    assert resolved(["method=grace", "negatives=mmix"])["negatives"]["variant"] == "mp"
    assert resolved(["method=mmix_mo", "negatives=uniform"])["negatives"] == {"name": "uniform"}
    assert "variant" not in resolved(["method=mmix_mo", "negatives=nml"])["negatives"]
    assert not [key for key in method("method=mmix_mo") if "." in key]
    changed = resolved(["method=mmix_mo", "negatives.variant=mp"])
    assert changed["negatives"]["variant"] == "mp", "the command line wins"


# --- class against YAML


@dataclass(frozen=True)
class Stating:
    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    filter: ClassVar[str] = "agc"
    negatives: ClassVar[str] = "imix"
    paper: ClassVar[dict[str, dict[str, Any]]] = {
        "cora": {"lr": 0.5, "width": 9, "imix.alpha": 2.0},
        "acm": {"lr": 0.25},
    }

    lr: float = 0.1
    width: int = 3


@pytest.fixture
def stating(register_method: Callable[[str, type], None]) -> None:
    register_method("stating", Stating)


@pytest.fixture
def with_yaml(stating: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Gives the method a YAML too."""

    def add(yaml: dict[str, Any]) -> None:
        monkeypatch.setattr(
            composition, "yaml_of", lambda kind, name: yaml if name == "stating" else {}
        )

    return add


def test_a_class_says_all_that_a_yaml_can(stating: None) -> None:
    assert stated_names("stating") == {"filter": "agc", "negatives": "imix"}
    names = {"method": "stating", "dataset": "cora"}
    found = composed(names, {})
    assert found["method"] == {"name": "stating", "lr": 0.5, "width": 9}
    assert found["filter"]["name"] == "agc"
    assert found["negatives"] == {"name": "imix", "alpha": 2.0}
    other = composed({**names, "dataset": "citeseer", "negatives": "uniform"}, {"method.lr": 7})
    assert other["method"] == {"name": "stating", "lr": 7, "width": 3}
    assert other["negatives"] == {"name": "uniform"}


def test_where_both_say_something_the_yaml_wins(
    with_yaml: Callable[[dict[str, Any]], None],
) -> None:
    with_yaml({"negatives": "nml", "width": 5, "paper": {"cora": {"lr": 0.75}}})
    assert stated_names("stating") == {"filter": "agc", "negatives": "nml"}
    lr_and_width = {
        dataset: (node["lr"], node["width"])
        for dataset in ("cora", "acm", "dblp")
        for node in [nodes({"dataset": dataset, "method": "stating"})["method"]]
    }
    assert lr_and_width == {"cora": (0.75, 5), "acm": (0.25, 5), "dblp": (0.1, 5)}


def test_a_stated_name_that_nothing_has_is_an_error(
    with_yaml: Callable[[dict[str, Any]], None],
) -> None:
    with_yaml({"negatives": "nlm"})
    with pytest.raises(ConfigErrors) as raised:
        experiment_of(["method=stating"])
    (error,) = raised.value.errors
    assert error.startswith(
        "method 'stating' states negatives=nlm for itself: there is no negatives strategy 'nlm'."
        " Did you mean 'nml'? Known negatives strategies: "
    )
    assert resolved(["method=stating", "negatives=nml"])["negatives"]["name"] == "nml"


def test_a_misspelt_setting_in_a_table_is_an_error(
    with_yaml: Callable[[dict[str, Any]], None],
) -> None:
    with_yaml({"paper": {"dblp": {"widht": 4}}})
    with pytest.raises(ConfigErrors, match="'method.widht' does not exist. Did you mean 'method.w"):
        experiment_of(["method=stating", "dataset=dblp"])


# --- settings that refer to others


def test_a_setting_may_refer_to_another() -> None:
    found = resolved(["method=sdcn", "method.code=${method.n_init}", "method.n_init=7"])
    assert found["method"]["code"] == 7
    assert resolved(["method=nml_gcl", "method.lr=${negatives.lr}"])["method"]["lr"] == 5e-4
    assert method("method.architecture=[${method.views},3]")["architecture"] == [3, 3]


def test_a_yaml_may_refer_to_a_setting_that_the_command_sets(
    with_yaml: Callable[[dict[str, Any]], None],
) -> None:
    with_yaml({"width": "${method.lr}"})
    assert composed({"method": "stating"}, {"method.lr": 4})["method"]["width"] == 4


# --- in a long sweep


def test_files_are_read_once_however_many_runs_there_are() -> None:
    experiment_of(["dataset=cora"])
    before = composition._read_once.cache_info().misses
    for lr in range(1, 200):
        resolved(["method=dmat_i", "dataset=cora", f"method.lr={lr}e-5"])
    assert composition._read_once.cache_info().misses == before


def test_what_is_composed_may_be_changed_by_its_owner() -> None:
    first = composed({"method": "dmat_i", "dataset": "cora"}, {})
    first["method"]["architecture"].append(3)
    first["filter"]["alpha"] = 2.0
    again = composed({"method": "dmat_i", "dataset": "cora"}, {})
    assert again["method"]["architecture"] == [256, 128] and again["filter"]["alpha"] == 0.1


def test_usual_names_are_those_of_the_main_file() -> None:
    names = all_names({})
    assert names["dataset"] == "digits" and names["method"] == "dmat_i"
    assert names["filter"] == "gnnbp", "the method's"
    assert all_names({"method": "kmeans"})["filter"] == "none"
    assert names["task"] == ["clustering", "classification", "link_prediction"]
