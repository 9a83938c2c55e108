"""What a search samples: files, braces, the common space, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.config.overrides import ConfigErrors
from gclbench.config.space import Dimension, space_of


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


def test_a_space_in_braces_is_for_all_methods() -> None:
    spaces = space_of("{tau:[0.2,0.4],lr:{from:1e-3,to:1e-2}}", ["grace", "bgrl"])
    assert list(spaces["grace"]) == ["method.tau", "method.lr"]
    assert list(spaces["bgrl"]) == ["method.lr"]
    assert spaces["bgrl"]["method.lr"] == Dimension(low=1e-3, high=1e-2)


def test_the_common_space_has_what_each_method_has() -> None:
    spaces = space_of("common", ["grace", "dgi"])
    assert set(spaces["grace"]) == {
        f"method.{name}" for name in ("lr", "weight_decay", "tau", "epochs")
    }
    assert "method.hidden" in spaces["dgi"] and "method.tau" not in spaces["dgi"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("none.yaml", "space=none.yaml: there is no such file; space=common needs none"),
        ("{tau:0.2}", "tau=0.2 is neither a list of values nor a range"),
        ("{tau:[]}", "neither a list of values"),
        ("{lr:{from:1,to:0.1}}", "is no range; from < to"),
        ("{lr:{from:0,to:1,log:true}}", "with log: true from > 0"),
        ("{lr:{from:0,to:1,lg:true}}", "neither a list of values nor a range"),
        ("{grace:{tau:[1]},tau:[2]}", "'tau' stands beside methods and is none"),
        ("{gracee:{tau:[1]},grace:{tau:[1]}}", "Did you mean 'grace'?"),
        ("{hidden:[1]}", "has no setting of method grace"),
        ("{tau", "cannot read 'space={tau'"),
    ],
)
def test_what_is_wrong_with_a_space_is_told(text: str, message: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        space_of(text, ["grace"])
    assert message in str(caught.value)
