"""What components say of themselves, of other packages too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gclbench.component.registry import METHODS
from gclbench.run.abilities import able


@dataclass(frozen=True)
class Telling:
    """Its ability follows from a setting."""

    version: ClassVar[str] = "1"
    sparse: bool = True

    @property
    def takes_sparse(self) -> bool:
        return self.sparse


@dataclass(frozen=True)
class Asking:
    """Its ability follows from a setting that has no default."""

    sparse: bool
    version: ClassVar[str] = "1"

    @property
    def takes_sparse(self) -> bool:
        return self.sparse


def test_a_method_whose_settings_have_no_default_does_not_tell(register_method) -> None:
    register_method("telling", Telling)
    register_method("asking", Asking)
    found = able(METHODS, "takes_sparse")
    assert "telling" in found and "asking" not in found and "gcn" in found
