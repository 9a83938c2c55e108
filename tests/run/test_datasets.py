"""What becomes of a dataset whose `load` raises or returns something else than a graph."""

from __future__ import annotations

import errno
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gclbench.data.mirror import DataUnavailable
from gclbench.graph import GraphError
from gclbench.run.datasets import Datasets


class Mine:
    """A dataset that does as it is told."""

    def __init__(self, does: Any):
        self.does = does

    def load(self) -> Any:
        if isinstance(self.does, BaseException):
            raise self.does
        return self.does


@pytest.mark.parametrize(
    ("returned", "kind"),
    [(None, "NoneType"), (3, "int"), (torch.ones(2), "Tensor"), (Data(x=torch.ones(2)), "Data")],
)
def test_what_is_no_graph_is_told(returned: Any, kind: str) -> None:
    with pytest.raises(GraphError, match=rf"Mine.load\(\) must return .*, and returned {kind}$"):
        Datasets()(Mine(returned))


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (KeyError("labels"), "KeyError: 'labels'"),
        (MemoryError("no room"), "MemoryError: no room"),
        (OSError(errno.ENOSPC, "full"), r"OSError: \[Errno 28\] full"),
        (ZeroDivisionError("a\nb"), "ZeroDivisionError: a"),
        (SystemExit(4), "SystemExit: 4"),
    ],
)
def test_what_a_load_raises_is_told_with_its_place(raised: BaseException, text: str) -> None:
    told = rf"^Mine.load\(\) raised {text} \(test_datasets.py, line \d+\)$"
    with pytest.raises(GraphError, match=told) as caught:
        Datasets()(Mine(raised))
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize("raised", [DataUnavailable("gone"), GraphError("bad")])
def test_what_is_told_already_stays(raised: Exception) -> None:
    with pytest.raises(type(raised)) as caught:
        Datasets()(Mine(raised))
    assert caught.value is raised
