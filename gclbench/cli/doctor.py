"""`gclbench doctor`: what this installation can do."""

from __future__ import annotations

import itertools
import os
import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from gclbench.cli.parser import Parser
from gclbench.component.registry import Entry, Registry


def main(argv: list[str]) -> int:
    Parser(
        "doctor", "Checks versions, devices, folders, configs and components of other packages."
    ).parse_args(argv)
    from gclbench.component.own_files import OwnFileError
    from gclbench.component.registry import KINDS, RegistryConflict
    from gclbench.data import mirror
    from gclbench.machine import precision, threads
    from gclbench.machine.environment import device_name, instructions, versions
    from gclbench.paper.discovery import faults
    from gclbench.paper.reference import row_faults

    for name, value in versions().items():
        print(f"{name:<16}{value}")
    import torch

    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            print(f"{'GPU ' + str(index):<16}{torch.cuda.get_device_name(index)}")
    else:
        print(f"{'GPU':<16}none visible to torch; runs use {device_name('cpu')}")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"{'precision':<16}{precision.described(device)}")
    print(f"{'instructions':<16}{instructions()}, which torch computes with on the processor")
    print(f"{'cores':<16}{threads.cores()}; runs use {threads.allowed()} of them at most")
    healthy = True
    configs = (
        find_spec("gclbench.configs") is not None
        and files("gclbench.configs").joinpath("config.yaml").is_file()
    )
    healthy &= configs
    print(f"{'configs':<16}{'found' if configs else 'missing: install gclbench again'}")
    registries: dict[str, tuple[Registry, int]] = {}
    told: set[str] = set()
    for kind, registry in KINDS.items():
        try:
            registries[kind] = (registry, len(registry.entries))
        except (RegistryConflict, OwnFileError) as error:
            healthy = False
            # A file that cannot be used is so for every kind.
            if str(error) not in told:
                print(f"{'component':<16}{error}")
            told.add(str(error))
    counts = ", ".join(f"{count} {kind}" for kind, (_, count) in registries.items())
    print(f"{'components':<16}{counts or 'none can be listed'}")
    for kind, (registry, _) in registries.items():
        for entry in registry.entries.values():
            if not entry.builtin:
                healthy &= _loads(kind, registry, entry)
    for fault in (*faults(), *itertools.chain(*row_faults().values())):
        healthy = False
        print(f"{'paper':<16}{fault}")
    cache = mirror.cache_folder()
    usable = _writable(cache)
    healthy &= usable
    print(f"{'cache':<16}{cache} ({'writable' if usable else 'not writable; set GCLBENCH_DATA'})")
    for place in mirror.mirrors():
        there = "://" in place or Path(place).is_dir()
        healthy &= there
        wrong = "" if there else " (there is no such folder; check GCLBENCH_MIRROR)"
        print(f"{'mirror':<16}{place}{wrong}")
    print(f"{'offline':<16}{'yes (GCLBENCH_OFFLINE)' if mirror.offline() else 'no'}")
    return 0 if healthy else 1


def _loads(kind: str, registry: Registry, entry: Entry) -> bool:
    """Whether another package's component can be imported; prints that it can, or why not."""
    try:
        registry.load(entry.name)
    except Exception as error:  # whatever the code of another package raises while it is imported
        print(
            f"{'component':<16}{kind}={entry.name} of {entry.origin} cannot be loaded:"
            f" {type(error).__name__}: {error}"
        )
        return False
    print(f"{'component':<16}{kind}={entry.name} of {entry.origin}")
    return True


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)
    except OSError:
        return False
    os.close(descriptor)
    Path(name).unlink()
    return True
