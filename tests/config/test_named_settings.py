"""`method=grace,dgi grace.tau=0.4`: a setting of one component in a sweep of several."""

from __future__ import annotations

import pytest

from gclbench.cli import main
from gclbench.config.named_settings import with_named_settings
from gclbench.config.overrides import ConfigErrors, sweep


def swept(*words: str) -> list[str]:
    return [" ".join(command) for command in with_named_settings(sweep(list(words)))]


def test_a_setting_goes_to_the_runs_that_have_its_component() -> None:
    assert swept("method=grace,dgi", "dataset=cora", "grace.tau=0.4") == [
        "method=grace dataset=cora method.tau=0.4",
        "method=dgi dataset=cora",
    ]
    assert swept("method=kmeans", "filter=none,gnnbp", "gnnbp.alpha=0.2") == [
        "method=kmeans filter=none",
        "method=kmeans filter=gnnbp filter.alpha=0.2",
    ]


def test_several_values_are_swept_for_it_alone() -> None:
    assert swept("method=grace,dgi", "grace.tau=0.2,0.4") == [
        "method=grace method.tau=0.2",
        "method=grace method.tau=0.4",
        "method=dgi",
    ]


def test_what_a_method_states_counts_too() -> None:
    assert swept("method=nml_gcl,grace", "nml.inner_steps=3") == [
        "method=nml_gcl negatives.inner_steps=3",
        "method=grace",
    ]


def test_other_words_stay() -> None:
    assert swept("method=grace,gracee", "method.lr=1,2", "clustering.n_init=3")[1:] == [
        "method=grace method.lr=2 clustering.n_init=3",
        "method=gracee method.lr=1 clustering.n_init=3",
        "method=gracee method.lr=2 clustering.n_init=3",
    ]


def test_a_name_that_is_not_known_is_left_to_the_command() -> None:
    """A misspelt dataset is answered when its command is composed; one of one's own file is none
    of the registered ones."""
    assert swept("method=grace,dgi", "dataset=cor", "grace.tau=0.2") == [
        "method=grace dataset=cor method.tau=0.2",
        "method=dgi dataset=cor",
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ("method=dgi,bgrl", "grace.tau=0.4"),
            "'grace.tau=0.4' is a setting of grace, which no run of the sweep has",
        ),
        (
            ("method=grace,dgi", "dgi.tau=0.2"),
            "^'dgi.tau' does not exist. Settings of dgi: activation, alpha, ",
        ),
        (
            ("method=grace,dgi", "grace.tua=0.2"),
            "^'grace.tua' does not exist. Did you mean 'grace.tau'\\? Settings of grace: ",
        ),
        (
            ("method=ssgc", "filter=ssgc,none", "ssgc.alpha=0.1"),
            "'ssgc.alpha=0.1' may mean filter=ssgc or method=ssgc",
        ),
        (
            ("method=grace,dgi", "graca.tau=0.2"),
            "^'graca.tau' does not exist. Did you mean 'grace.tau'\\?$",
        ),
        (
            ("method=grace,dgi", "method.grace.tau=0.2"),
            "^'method.grace.tau' does not exist. Did you mean 'grace.tau', which sets it of grace",
        ),
    ],
)
def test_what_has_no_run_or_two_meanings_is_an_error(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(ConfigErrors, match=text):
        swept(*words)


def test_a_name_that_stands_for_another_is_typed_as_before() -> None:
    words = ["method=gcn,gin", "dataset=mutag", "gcn_graphs.lr=0.1"]
    with pytest.raises(ConfigErrors, match=r"under that name; 'gcn' was typed: gcn\.lr=0\.1"):
        with_named_settings(sweep(words))
    (first, second) = with_named_settings(sweep([*words[:2], "gcn.lr=0.1"]))
    assert "method.lr=0.1" in first and "method.lr=0.1" not in second


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["-m", "method=grace,gca,dgi", "method.tau=0.2,0.4"],
            "'method.tau' is a setting of grace, gca, and of no other method here; write"
            " grace.tau=0.2,0.4 gca.tau=0.2,0.4 to set it there alone",
        ),
        (
            ["-m", "method=kmeans", "filter=gnnbp,none", "filter.alpha=0.2"],
            "'filter.alpha' is a setting of gnnbp, and of no other filter here; write"
            " gnnbp.alpha=0.2 to set it there alone",
        ),
        (
            ["sweep", "table=dmat/1", "dataset=cora", "method.tau=0.2"],
            "'method.tau' is a setting of gca, progcl, dmat_i, and of no other method here;"
            " method=gca,progcl,dmat_i chooses only those rows",
        ),
        (["-m", "method=kmeans,dgi", "method.tau=0.2"], ""),
        (["method=dgi", "method.tau=0.2"], ""),
    ],
)
def test_a_setting_that_only_some_have_is_answered_with_its_name(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "is a setting of" in line] == [
        f"gclbench: {told}" for told in [told] if told
    ]
    assert "'method.tau' does not exist" in lines[0] or "filter.alpha" in lines[0]
