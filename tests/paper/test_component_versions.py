"""Versions of components in records, beside the code's."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gclbench.component.declared import declared
from gclbench.component.registry import KINDS
from gclbench.paper.component_versions import PARTS, age, others, sentence

OLD = {"method.name": "grace", "versions.method": "0", "negatives.name": "uniform"}


@pytest.mark.parametrize("part", PARTS)
def test_the_source_says_the_version_that_the_class_has(part: str) -> None:
    kind = KINDS[part]
    ours = [name for name, entry in kind.entries.items() if entry.builtin]
    assert ours
    for name in ours:
        assert declared(kind, name).version == kind.load(name).version


def test_a_version_is_read_without_importing_what_takes_seconds() -> None:
    code = (
        "import sys\nfrom gclbench.paper.component_versions import others\n"
        f"assert others({OLD})\nsys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_ten_is_newer_than_nine() -> None:
    assert age({"method": "10"}) > age({"method": "9", "negatives": "2"}) > age({"method": "9"})
    assert age({"method": "9", "filter": "2"}, ("method",)) == age({"method": "9"}, ("method",))


def test_only_other_versions_of_ours_are_told() -> None:
    here = KINDS["method"].load("grace").version
    assert others(OLD) == [f"grace 0 (here {here})"]
    assert others({**OLD, "versions.method": here}) == []
    assert others({"method.name": "of_another_package", "versions.method": "0"}) == []
    assert others({"method.name": "grace"}) == []
    told = sentence([("grace on cora", OLD), ("grace on acm", OLD), ("dgi on cora", {})])
    assert told == (
        f"Runs of other versions than the code has: grace 0 (here {here}): grace on cora,"
        " grace on acm."
    )
