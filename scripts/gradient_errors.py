"""How far `precision=fast` moves the gradient of each objective: a table.

The fast products are those of all, which are emulated, those of contrasts alone, which are what a
processor with AVX512-BF16 and no AMX makes, or what the processor at hand makes: usually, or with
AMX in contrasts alone.

Every strategy for negatives, temperatures from 0.02 to 4: below 0.025 the row-block engine's tiles
are float64. The rows compared are unit rows around group centres, as an encoder gives them; with
`--common 30` they point nearly one way, as at the beginning of a training. What a strategy learns
by itself (`update`) is computed in the same precision as its loss.

    python scripts/gradient_errors.py [--nodes 512] [--width 128]
        [--output results/bench/gradient_errors.json]
    python scripts/gradient_errors.py --where contrasts
        --output results/bench/gradient_errors_in_contrasts.json
    python scripts/gradient_errors.py --where contrasts --common 30 --objectives uniform
        --output results/bench/gradient_errors_parallel.json
    python scripts/gradient_errors.py --where uncentred --common 30 --objectives uniform
        --output results/bench/gradient_errors_parallel_uncentred.json
    python scripts/gradient_errors.py --where here     # on a processor with fast products
        --output results/bench/gradient_errors_amx.json
    python scripts/gradient_errors.py --where factors  # on a processor with AMX
        --output results/bench/gradient_errors_amx_contrasts.json
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import bench_facts
import torch
from emulated_bfloat16 import emulated, in_contrasts, in_uncentred_contrasts
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.machine import precision
from gclbench.machine.environment import device_name, instructions
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
GROUPS = 7
STEP = Step(600, 1000)
"""Past every warm-up."""


def views(nodes: int, width: int, common: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """Two views of nodes in groups, and edges within the groups (2×E).

    Args:
        common: what every entry has besides; groups, nodes and views differ by about 1.
    """
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    group = torch.arange(nodes) % GROUPS
    node = normal(GROUPS, width)[group] + normal(nodes, width) + common
    near = (group[:, None] == group) & (torch.rand(nodes, nodes, generator=generator) < 0.05)
    edges = (near | near.T).fill_diagonal_(False).nonzero().T
    return node + 0.5 * normal(nodes, width), node + 0.5 * normal(nodes, width), edges


EXACT, EVERYWHERE, CONTRASTS, HERE = "exact", "everywhere", "contrasts", "here"
UNCENTRED, FACTORS_HERE = "uncentred", "factors"
ABOUT = {
    EVERYWHERE: "emulated: bfloat16 factors of all products, float32 sums",
    CONTRASTS: "bfloat16 factors of panels' products, about their mean, which are rounded to"
    " bfloat16 too",
    UNCENTRED: "as in contrasts, but of the vectors as they are, which nothing computes",
    HERE: "what is usually fast on this processor",
    FACTORS_HERE: "bfloat16 factors of panels' products, about their mean, with float32 sums,"
    " on this processor",
}
"""Which products are fast, and how a table says it."""

FLOAT64 = "float64 tiles are not shortened."
REMARKS = {
    EVERYWHERE: [],
    CONTRASTS: [FLOAT64],
    UNCENTRED: [FLOAT64],
    HERE: ["A training computes in float32 for τ < 0.1, whatever is asked."],
    FACTORS_HERE: [FLOAT64],
}
"""What a reader should know besides."""


def gradient(
    name: str, tau: float, nodes: int, width: int, fast: str, common: float = 0.0
) -> tuple[float, Tensor]:
    """The loss of a strategy, and its gradient with respect to both views (2N×d).

    Args:
        fast: `EXACT`, or a key of `ABOUT`. common: as of `views`.
    """
    of = {
        EXACT: contextlib.nullcontext,
        EVERYWHERE: emulated,
        CONTRASTS: in_contrasts,
        UNCENTRED: in_uncentred_contrasts,
        HERE: fast_here,
        FACTORS_HERE: factors_here,
    }
    u, v, edges = views(nodes, width, common)
    u.requires_grad_()
    v.requires_grad_()
    settings: Any = NEGATIVES.load(name)()
    # At work in this one step: no warm-up, and what is learned now and then is learned now.
    known = {field.name for field in fields(settings)}
    settings = replace(
        settings, **{name: 1 for name in ("start_epoch", "interval") if name in known}
    )
    strategy = settings.build(width, nodes, Streams(0), torch.device("cpu"))
    with of[fast]():
        strategy.mixture(nodes, torch.device("cpu"))
        # Some strategies read the nodes' features: what both views have of a node will do.
        features = (u + v).detach() / 2
        pair = Pair(u, (v,), tau, STEP, edge_index=edges, features=features)
        strategy.update(pair.detached())
        loss = strategy(pair)
        loss.value.backward()
    assert u.grad is not None and v.grad is not None
    return float(loss.value.detach()), torch.cat([u.grad, v.grad])


@contextlib.contextmanager
def fast_here() -> Iterator[None]:
    """Within the block products are what a training's usually are with `precision=fast`: those of
    a method that is on no list.

    Raises:
        SystemExit: on a processor without fast products.
    """
    if not precision.usual("cpu"):
        raise SystemExit(f"{precision.described('cpu')}; --where everywhere emulates them")
    with precision.trained_with(precision.usual("cpu")), precision.products():
        yield


@contextlib.contextmanager
def factors_here() -> Iterator[None]:
    """Within the block products are those of `FACTORS_IN_CONTRASTS`.

    Raises:
        SystemExit: on a processor without AMX.
    """
    if precision.FACTORS_IN_CONTRASTS not in precision.ways("cpu"):
        raise SystemExit("--where factors needs a processor with AMX, and torch finds none here")
    with precision.trained_with(precision.FACTORS_IN_CONTRASTS), precision.products():
        yield


def row(
    name: str, tau: float, nodes: int, width: int, where: str = EVERYWHERE, common: float = 0.0
) -> dict[str, Any]:
    """Relative errors of the loss and of the gradient, and the angle between the gradients."""
    exact_loss, exact = gradient(name, tau, nodes, width, EXACT, common)
    fast_loss, fast = gradient(name, tau, nodes, width, where, common)
    cosine = torch.nn.functional.cosine_similarity(
        exact.flatten().double(), fast.flatten().double(), dim=0
    )
    return {
        "objective": name,
        "tau": tau,
        "relative_gradient_error": float((fast - exact).norm() / exact.norm()),
        "one_minus_cosine": 1.0 - float(cosine),
        "relative_loss_error": abs(fast_loss - exact_loss) / max(abs(exact_loss), 1e-12),
    }


def markdown(
    rows: list[dict[str, Any]],
    nodes: int,
    width: int,
    where: str = EVERYWHERE,
    on: str = "",
    common: float = 0.0,
) -> str:
    """The gradient errors, objectives by temperature.

    Args:
        on: the processor and its fast products, where it makes them. common: as of `views`.
    """
    taus = list(dict.fromkeys(one["tau"] for one in rows))
    exempt = where in (CONTRASTS, FACTORS_HERE) and any(
        one["objective"] == "phases" for one in rows
    )
    found = {(one["objective"], one["tau"]): one["relative_gradient_error"] for one in rows}
    lines = [
        "# Gradient errors of fast products",
        "",
        "‖fast − float32‖ / ‖float32‖ of the gradient with respect to both views.",
        f"Fast is {ABOUT[where]}{on and f', {on}'} (`scripts/gradient_errors.py`).",
        f"{nodes} nodes, {width} columns. Tiles are float64 for τ < 0.025.",
        *REMARKS[where],
        *(["PHASES is 0, since its masked loss is not shortened."] if exempt else []),
        *([f"Rows share {common:g} in each column, and differ by about 1."] if common else []),
        "",
        f"| objective | {' | '.join(f'τ = {tau:g}' for tau in taus)} |",
        f"|---|{'---:|' * len(taus)}",
    ]
    for name in dict.fromkeys(one["objective"] for one in rows):
        cells = " | ".join(f"{found[name, tau]:.1e}" for tau in taus)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=512)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--objectives", nargs="+", default=NEGATIVES.names())
    parser.add_argument("--temperatures", nargs="+", type=float, default=TEMPERATURES)
    parser.add_argument(
        "--common", type=float, default=0.0, help="what all rows share, in each column"
    )
    parser.add_argument(
        "--where", choices=ABOUT, default=EVERYWHERE, help="the products that are fast"
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    begun = bench_facts.begun("gradient_errors")
    rows = [
        row(name, tau, options.nodes, options.width, options.where, options.common)
        for name in options.objectives
        for tau in options.temperatures
    ]
    products = {HERE: precision.usual("cpu"), FACTORS_HERE: precision.FACTORS_IN_CONTRASTS}
    made = products.get(options.where, precision.usual("cpu"))
    on = f"{device_name('cpu')}: {made}" if options.where in products else ""
    text = markdown(rows, options.nodes, options.width, options.where, on, options.common)
    print(text)
    facts = {
        **begun,
        "emulated": options.where == EVERYWHERE,
        "where": options.where,
        "common": options.common,
        "nodes": options.nodes,
        "width": options.width,
        "hardware": made,
        "instructions": instructions(),
        "rows": rows,
    }
    bench_facts.write(options.output, facts, lambda _: text)


if __name__ == "__main__":
    main()
