"""What a search samples: files, braces, the common space, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.component.registry import LAUNCHERS, METHODS, Entry
from gclbench.config.overrides import ConfigErrors
from gclbench.config.space import Dimension, space_of, unfit_values
from gclbench.config.validation import experiment_of


def test_a_file_has_settings_for_all_methods_and_for_one(tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(
        "all:\n  lr: {from: 1e-4, to: 1e-2, log: true}\n  tau: [0.2, 0.4]\n"
        "grace:\n  epochs: {from: 10, to: 50, step: 10}\n  filter.alpha: [0.1]\n"
    )
    spaces = space_of(str(path), ["grace", "dgi"])
    lr = Dimension(low=1e-4, high=1e-2, log=True)
    assert spaces["dgi"] == {"method.lr": lr}, "dgi has no tau, so it does without"
    assert spaces["grace"] == {
        "method.lr": lr,
        "method.tau": Dimension(choices=(0.2, 0.4)),
        "method.epochs": Dimension(low=10, high=50, step=10, whole=True),
        "filter.alpha": Dimension(choices=(0.1,)),
    }


def test_a_step_may_be_as_long_as_its_range() -> None:
    found = space_of("{epochs:{from:1,to:10,step:9}}", ["grace"])["grace"]
    assert found == {"method.epochs": Dimension(low=1, high=10, step=9, whole=True)}


def test_a_space_in_braces_is_for_all_methods() -> None:
    spaces = space_of("{tau:[0.2,0.4],lr:{from:1e-3,to:1e-2}}", ["grace", "bgrl"])
    assert list(spaces["grace"]) == ["method.tau", "method.lr"]
    assert list(spaces["bgrl"]) == ["method.lr"]
    assert spaces["bgrl"]["method.lr"] == Dimension(low=1e-3, high=1e-2)


def test_a_name_that_is_read_as_a_number_stays_a_name() -> None:
    assert list(space_of("{grace:{1:[2],null:[3]}}", ["grace"])["grace"]) == [
        "method.1",
        "method.None",
    ]


def test_the_common_space_has_what_each_method_has() -> None:
    spaces = space_of("common", ["grace", "dgi"])
    assert set(spaces["grace"]) == {
        f"method.{name}" for name in ("lr", "weight_decay", "tau", "epochs")
    }
    assert "method.hidden" in spaces["dgi"] and "method.tau" not in spaces["dgi"]


def test_a_package_that_cannot_be_imported_leaves_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = Entry("rotten", "", "no_such_module:Rotten", "a test", builtin=False)
    monkeypatch.setitem(METHODS.entries, "rotten", broken)
    with pytest.raises(ConfigErrors, match="no method has a setting 'lrr'. Did you mean 'lr'?"):
        space_of("{lrr:[0.1]}", ["grace"])
    monkeypatch.setitem(LAUNCHERS.entries, "rotten", broken)
    with pytest.raises(ConfigErrors, match="Did you mean launcher=slurm, with that setting?"):
        experiment_of(["launcher.partition=gpu"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("none.yaml", "space=none.yaml: there is no such file; space=common needs none"),
        ("{tau:0.2}", "tau=0.2 is neither a list of values nor a range"),
        ("{tau:[]}", "neither a list of values"),
        ("{lr:{from:1,to:0.1}}", "is no range; from < to"),
        ("{lr:{from:0.1,to:1,log:maybe}}", "is no range; from < to"),
        ("{tau:{from:1,to:10,step:100}}", "is no range; from < to"),
        ("{tau:{from:1,to:10,step:10}}", "a step > 0 and within it"),
        ("{tau:{from:1,to:10,step:0}}", "a step > 0 and within it"),
        (
            "{lrr:[0.1],tau:[0.2]}",
            "no method has a setting 'lrr'. Did you mean 'lr'? Those of grace",
        ),
        ("{grace:3}", "'grace' holds 3, and no settings"),
        ("{all:[1,2]}", "'all' holds [1, 2], and no settings"),
        ("{lr:{from:0,to:1,log:true}}", "with log: true from > 0"),
        ("{lr:{from:0,to:1,lg:true}}", "neither a list of values nor a range"),
        ("{grace:{tau:[1]},tau:[2]}", "'tau' stands beside methods and is none"),
        ("{gracee:{tau:[1]},grace:{tau:[1]}}", "Did you mean 'grace'?"),
        ("{hidden:[1]}", "has no setting of method grace"),
        ("{tau", "cannot read 'space={tau'"),
        ("{negatives.bug:[nan,none]}", "negatives.bug=nan is no value of a setting: a number has"),
        ("{filter.alpha:[[1,inf]]}", "filter.alpha=[1, inf] is no value of a setting"),
        ("{tau:[{a:nan}]}", "no value of a setting"),
    ],
)
def test_what_is_wrong_with_a_space_is_told(text: str, message: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        space_of(text, ["grace"])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{epochs:[2,-1,3]}", ["method.epochs=-1 is out of range: it must be ≥ 0"]),
        (
            "{epochs:[a,3,2.5]}",
            ["method.epochs='a' must be a", "method.epochs=2.5 must be a whole"],
        ),
        ("{tau:{from:0.001,to:1}}", ["method.tau=0.001 is out of range"]),
        ("{epochs:{from:-2,to:5}}", ["method.epochs=-2 is out of range"]),
        ("{epochs:{from:1,to:4.0}}", ["method.epochs=1.968 must be a whole number"]),
        ("{epochs:{from:1,to:5.0,step:1},tau:{from:0.1,to:1}}", []),
        ("{filter.alpha:[0.1,x]}", ["filter.alpha='x' must be a number"]),
        ("{task.classification.max_iter:[0]}", ["task.classification.max_iter=0 is out of range"]),
        ("{activation:[relu,relux]}", ["method.activation='relux' must be one of"]),
        ("{no.such:[1],filter.such:[1]}", []),
        ("common", []),
    ],
)
def test_every_value_of_a_space_is_looked_at(text: str, told: list[str]) -> None:
    words = ["method=grace", "dataset=cora", "filter=gnnbp", "task=classification"]
    errors = unfit_values(space_of(text, ["grace"])["grace"], experiment_of(words).components)
    assert len(errors) == len(told)
    assert all(error.startswith(f"space: {start}") for error, start in zip(errors, told))
