"""torch_geometric's `Data`, without the rest of torch_geometric.

Importing any part of torch_geometric imports all of it, pandas and torch's compiler with it, which
takes longer than torch itself. Its large parts that `Data` does not need are put off here until
something of them is asked for: `import torch_geometric.nn` works as ever, a little later.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

LATER = ("datasets", "explain", "loader", "nn", "profile", "sampler", "transforms")
"""Parts of torch_geometric that are put off."""


class _Later(ModuleType):
    """A module that imports itself when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_imported(self.__name__, self), name)


class _Instances(ModuleType):
    """`torch_geometric.isinstance`, put off: it is the part that needs torch's compiler. The module
    itself takes over where that is there."""

    def is_torch_instance(self, obj: Any, cls: Any) -> bool:
        if "torch._dynamo" not in sys.modules:
            return isinstance(obj, cls)  # nothing has been compiled
        return bool(_imported(self.__name__, self).is_torch_instance(obj, cls))


def _imported(name: str, placeholder: ModuleType) -> ModuleType:
    """The module itself, which takes its placeholder's place."""
    if sys.modules.get(name) is placeholder:
        del sys.modules[name]
    module = importlib.import_module(name)
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)
    return module


def _data() -> type:
    spec = importlib.util.find_spec("torch_geometric")
    if "torch_geometric" in sys.modules or spec is None:
        from torch_geometric.data import Data

        return Data
    placeholders = [_Later(f"torch_geometric.{part}") for part in LATER]
    for placeholder in placeholders:
        name = placeholder.__name__
        found = importlib.machinery.PathFinder.find_spec(name, spec.submodule_search_locations)
        if found is not None:
            placeholder.__spec__ = found
            sys.modules[name] = placeholder
    instances = _Instances("torch_geometric.isinstance")
    sys.modules[instances.__name__] = instances
    import torch_geometric
    from torch_geometric.data import Data

    put_off: list[ModuleType] = [*placeholders, instances]
    for module in put_off:
        if sys.modules.get(module.__name__) is module:
            setattr(torch_geometric, module.__name__.rpartition(".")[2], module)
    return Data


if TYPE_CHECKING:
    from torch_geometric.data import Data
else:
    Data = _data()
