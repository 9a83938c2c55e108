"""The components of a user's own files, made known and forgotten.

The registry is imported when it is needed: `import gclbench` does not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gclbench.component import own_files


def use(place: str | Path) -> None:
    """Makes components of your own known: those that a file registers, or the files of a folder.

        gclbench.use("my_method.py")
        gclbench.run(method="my_method", dataset="cora", seeds=3)

    Worker processes and jobs of a cluster read it too. After a change of the file call this again.
    A class that a notebook registers itself needs no call, and no other process knows it.

    Raises:
        OwnFileError: when there is none, or one cannot be read.
        RegistryConflict: when a name is taken.
    """
    from gclbench.component.registry import GROUPS

    if not str(place):
        raise own_files.OwnFileError(
            "name a file of components, or a folder of them; '' names none"
        )
    with own_files.added(str(place)) as paths:
        try:
            forget(paths)
            registries = GROUPS.values()
            known = {
                Path(entry.file).resolve()
                for registry in registries
                for entry in registry.entries.values()
                if entry.file
            }
            if not {path.resolve() for path in paths} & known:
                raise own_files.OwnFileError(
                    f'{place} registers no component: `@METHODS.register("name")`, with the name in'
                    " quotes, above a class makes one (docs/extending.md)"
                )
        except ValueError:
            forget(paths)
            raise


def forget(paths: Iterable[Path]) -> None:
    """Has the lists of components made anew; a user's files, and what they imported from beside
    them, are imported anew."""
    from gclbench.component.registry import GROUPS

    places = list(paths)
    for registry in GROUPS.values():
        registry.forget({path.resolve() for path in places})
    for path in places:
        own_files.leave_out(path)
