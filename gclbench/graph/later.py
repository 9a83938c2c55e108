"""Modules that are imported when something of them is asked for."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

ASKED_FOR = ("__path__", "__all__")
"""Names with underscores that take the module itself: of its parts, and of `import *`. Others, such
as `__file__`, are asked of every module there is by whoever looks for the source of some code."""


class Later(ModuleType):
    """Stands for a module until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        part = name == "__path__" and (spec is None or spec.submodule_search_locations is None)
        if part or (name.startswith("__") and name not in ASKED_FOR):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self.itself(), name)

    def itself(self) -> ModuleType:
        """The module, which takes this one's place."""
        name = self.__name__
        if sys.modules.get(name) is self:
            del sys.modules[name]
        module = importlib.import_module(name)
        parent, _, child = name.rpartition(".")
        setattr(sys.modules[parent], child, module)
        return module


def put_off(placeholder: Later, folders: Sequence[str] | None) -> bool:
    """Puts a placeholder where a module of these folders will be looked for; False where there is
    no such module, or it is imported already."""
    name = placeholder.__name__
    found = importlib.machinery.PathFinder.find_spec(name, folders)
    if found is None or name in sys.modules:
        return False
    placeholder.__spec__, placeholder.__file__ = found, found.origin
    sys.modules[name] = placeholder
    return True
