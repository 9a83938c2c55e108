"""torch_geometric's `Data`, without the rest of torch_geometric.

Importing any part of torch_geometric imports all of it, pandas and torch's compiler with it, which
takes longer than torch itself. Its large parts that `Data` does not need are put off here until
something of them is asked for: `import torch_geometric.nn` works as ever, a little later.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from gclbench.graph.later import Later, put_off

LATER = ("datasets", "explain", "loader", "nn", "profile", "sampler", "transforms")
"""Parts of torch_geometric that are put off."""


class _Instances(Later):
    """`torch_geometric.isinstance`, put off: it is the part that needs torch's compiler. The module
    itself takes over where that is there."""

    def is_torch_instance(self, obj: Any, cls: Any) -> bool:
        if isinstance(sys.modules.get("torch._dynamo"), (Later, type(None))):
            return isinstance(obj, cls)  # nothing has been compiled
        return bool(self.itself().is_torch_instance(obj, cls))


def _data() -> type:
    spec = importlib.util.find_spec("torch_geometric")
    if "torch_geometric" in sys.modules or spec is None:
        from torch_geometric.data import Data

        return Data
    folders = spec.submodule_search_locations
    later: list[Later] = [Later(f"torch_geometric.{part}") for part in LATER]
    later.append(_Instances("torch_geometric.isinstance"))
    put = [module for module in later if put_off(module, folders)]
    import torch_geometric
    from torch_geometric.data import Data

    for module in put:
        if sys.modules.get(module.__name__) is module:
            setattr(torch_geometric, module.__name__.rpartition(".")[2], module)
    return Data


if TYPE_CHECKING:
    from torch_geometric.data import Data
else:
    Data = _data()


def batch_class() -> Any:
    """torch_geometric's `Batch`: several graphs as one block-diagonal `Data`."""
    from torch_geometric.data import Batch

    return Batch


def dataset_class() -> Any:
    """torch_geometric's `Dataset`: several graphs, read one by one."""
    from torch_geometric.data import Dataset

    return Dataset
