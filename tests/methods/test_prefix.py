"""A run with fewer epochs is the longer one stopped early: what the figures over epochs rest on."""

from __future__ import annotations

import pytest
import torch

from gclbench.config.validation import experiment_of
from gclbench.graph import with_features, without_labels
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SMALL = ["dataset=sbm", "dataset.nodes=200", "device=cpu"]
CASES = [
    ["method=dmat_i", "method.batch_size=64"],
    ["method=mmix_mp", "method.patience=0", "method.hidden=8", "method.subgraph_nodes=50"],
    [
        "method=mmix_mp",
        "method.patience=0",
        "method.hidden=8",
        "method.subgraph_nodes=50",
        "negatives.diversity=false",
    ],
]


@pytest.mark.parametrize("overrides", CASES, ids=lambda words: words[0])
def test_a_shorter_training_is_the_beginning_of_a_longer_one(overrides: list[str]) -> None:
    """Three iterations of a training of five leave the parameters of a training of three."""

    def trained(epochs: int, stop: int) -> tuple[list[float], list[torch.Tensor]]:
        experiment = experiment_of([*SMALL, *overrides, f"method.epochs={epochs}", "filter=none"])
        graph = experiment.components.dataset.load()
        losses: list[float] = []
        kept: list[torch.Tensor] = []

        class Stopping(Watch):
            def iterations(self, total: int, **state):  # type: ignore[no-untyped-def]
                for iteration in super().iterations(total, **state):
                    yield iteration
                    if iteration == stop:
                        modules = [
                            part for part in state.values() if isinstance(part, torch.nn.Module)
                        ]
                        kept.extend(
                            tensor.detach().clone()
                            for module in modules
                            for tensor in module.parameters()
                        )

            def __call__(self, done: int, total: int, loss, terms=None) -> None:  # type: ignore[no-untyped-def]
                losses.append(float(loss))
                super().__call__(done, total, loss, *(() if terms is None else (terms,)))

        seen = without_labels(with_features(graph, graph.x))
        labels = torch.full((graph.num_nodes,), -1)
        negatives = experiment.components.negatives
        experiment.components.method.fit(seen, labels, Streams(0), Stopping(), negatives=negatives)
        return losses, kept

    short, short_state = trained(3, 3)
    long, long_state = trained(5, 3)
    assert len(short) == 3 and len(long) == 5 and short == long[:3] and short[0] != short[2]
    assert short_state and all(
        torch.equal(a, b) for a, b in zip(short_state, long_state, strict=True)
    )
