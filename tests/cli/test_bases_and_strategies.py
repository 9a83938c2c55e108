"""Base methods against strategies for negatives, from the command to the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.cli import main
from gclbench.component.registry import NEGATIVES
from gclbench.records import Record, Store

SMALL = (
    "dataset=sbm",
    "dataset.nodes=60",
    "dataset.classes=2",
    "dataset.features=6",
    "task=classification",
)
BASES = {
    "grace": ("method.epochs=4", "method.architecture=[8,6]", "method.projector=5"),
    "gca": ("method.epochs=4", "method.architecture=[8,6]", "method.projector=5"),
    "mvgrl": ("method.epochs=4", "method.hidden=6", "method.objective=nodes"),
    "dmat_i": ("method.epochs=4", "method.architecture=[8,6]", "method.batch_size=24"),
}


def recorded(here: Path) -> list[Record]:
    return list(Store(here / "runs").scan())


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
def test_any_base_runs_against_any_strategy(base: str, here: Path) -> None:
    strategies = NEGATIVES.names()
    assert (
        main(["-m", f"method={base}", *BASES[base], f"negatives={','.join(strategies)}", *SMALL])
        == 0
    )
    found = {record.spec["negatives"]["name"]: record for record in recorded(here)}
    assert sorted(found) == strategies
    assert {record.status for record in found.values()} == {"ok"}
    losses = {name: record.fit["loss"] for name, record in found.items()}
    assert len(set(losses.values())) > 1, "the strategies make a difference"


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("bgrl", "it predicts a node's embedding from its other view and has no negatives at all"),
        ("cca_ssg", "it compares the columns of two views, not pairs of nodes"),
        ("dgi", "it compares nodes with one summary of the graph, not with other nodes"),
        ("dmt", "labels say which of its pairs are negatives"),
        (
            "mvgrl",
            (
                "its objective compares nodes with one summary of the graph, not with other nodes;"
                " method.objective=nodes contrasts nodes"
            ),
        ),
    ],
)
def test_a_method_without_negatives_refuses_a_strategy_with_the_reason(
    method: str, reason: str, here: Path
) -> None:
    main([f"method={method}", "negatives=nml", "method.epochs=1", *SMALL])
    (record,) = recorded(here)
    assert record.status == "unsupported"
    assert (
        record.reason
        == f"method={method} has no negatives for negatives=nml to weight: {reason}; try it with"
        " method=grace or method=dmat_i"
    )


@pytest.mark.parametrize("method", ["bgrl", "cca_ssg", "dgi", "mvgrl", "gca"])
def test_a_base_runs_alone(method: str, here: Path) -> None:
    assert main([f"method={method}", "method.epochs=3", *SMALL]) == 0
    (record,) = recorded(here)
    assert record.status == "ok" and record.fit["iterations"] == 3
