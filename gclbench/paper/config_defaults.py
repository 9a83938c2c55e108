"""The settings that the configs here give a method on a dataset, read from their YAML without
Hydra."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from gclbench.data.catalog import CATALOG

CONFIGS = "gclbench.configs"
KINDS = ("dataset", "method", "filter", "negatives")
LOOK_UP = re.compile(r"^\$\{paper:(?P<key>\w+)(?:,(?P<default>.*))?\}$")
"""`${paper:epochs,300}`: the row of the dataset in `paper`, else its default row, else this."""


def shipped_settings(flat: Mapping[str, Any]) -> dict[str, Any]:
    """What the configs give for the dataset, method, filter and negatives of flattened settings,
    flattened alike.

    Empty for a method without a config of its own. Left out are keys whose values are computed from
    others, and the settings of graphs that are generated or the user's, of which none is the right
    one.
    """
    return dict(_shipped(tuple(str(flat.get(f"{kind}.name", "")) for kind in KINDS)))


def own_negatives(method: str) -> str:
    """The strategy for negatives that a method's config chooses: `nml` of nml_gcl; `uniform` where
    it names none."""
    chosen = [
        item
        for item in (_yaml("method", method) or {}).get("defaults", [])
        if isinstance(item, dict)
    ]
    return str(
        next(
            (item["override /negatives"] for item in chosen if "override /negatives" in item),
            "uniform",
        )
    )


@functools.cache
def _shipped(names: tuple[str, ...]) -> dict[str, Any]:
    chosen = dict(zip(KINDS, names, strict=True))
    if _yaml("method", chosen["method"]) is None:
        return {}
    page = CATALOG.get(chosen["dataset"])
    left_out = () if page is not None and page.files else ("dataset",)
    documents = {
        kind: _yaml(kind, name) or {} for kind, name in chosen.items() if kind not in left_out
    }
    rows: dict[str, dict[str, Any]] = {}
    for document in documents.values():
        for name, row in document.get("paper", {}).items():
            rows.setdefault(name, {}).update(row)
    row = {**rows.get("default", {}), **rows.get(chosen["dataset"], {})}
    found: dict[str, Any] = {}
    for kind, document in documents.items():
        for key, value in document.get(kind, document).items():
            match = LOOK_UP.match(value) if isinstance(value, str) else None
            if match:
                value = row.get(match["key"], _parsed(match["default"]))
            computed = isinstance(value, str) and "${" in value
            if key not in ("name", "paper", "defaults") and not computed:
                found[f"{kind}.{key}"] = value
    return found


@functools.cache
def _yaml(kind: str, name: str) -> dict[str, Any] | None:
    """The YAML of a component as plain values, its interpolations as they are; None without a file."""
    path = files(CONFIGS).joinpath(kind, f"{name}.yaml")
    if not re.fullmatch(r"\w+", name) or not path.is_file():
        return None
    return _plain(path.read_text(encoding="utf-8"))


def _parsed(text: str | None) -> Any:
    """The default of a look-up, such as `[256,128]` or `1e-3`."""
    return None if text is None else _plain(f"value: {text}")["value"]


def _plain(text: str) -> dict[str, Any]:
    """A YAML mapping as OmegaConf reads it, for which 1e-3 is a number."""
    from omegaconf import OmegaConf

    values = OmegaConf.to_container(OmegaConf.create(text), resolve=False)
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else {}
