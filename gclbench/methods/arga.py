"""ARGA: adversarially regularised graph auto-encoder (Pan et al. 2018)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, Positive, Range
from gclbench.graph.carrier import Data
from gclbench.methods.gae import AutoencoderModel, Gae
from gclbench.negatives.strategy import Strategy
from gclbench.nn.graph_encoder import GraphEncoder
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams, drawing_from

DISCRIMINATOR_SPREAD = 0.01
"""Standard deviation of the discriminator's weights at the start; its biases are 0."""


@METHODS.register("arga")
@dataclass(frozen=True)
class Arga(Gae):
    """ARGA: GAE whose embeddings a discriminator cannot tell from a normal distribution.

    In each iteration the encoder learns to rebuild, in several steps, then the discriminator takes
    a step, then the encoder one to fool it; each of the three has an Adam of its own.

    Attributes:
        epochs: iterations. lr: of the steps that rebuild. discriminator_lr: of the other two.
        reconstruction_steps: in an iteration.
        discriminator: widths of the discriminator's hidden layers.
        noise: standard deviation of the normal noise on the hidden layer, in training.
    """

    epochs: Annotated[int, Range(least=0)] = 50
    lr: Positive = 5e-4
    dimension: Count = 32
    reconstruction_steps: Count = 5
    discriminator_lr: Positive = 1e-3
    discriminator: tuple[Count, ...] = (64, 32)
    noise: NonNegative = 0.1

    def encoder(self, inputs: int) -> GraphEncoder:
        """From F features to d, without biases."""
        return GraphEncoder(inputs, self.hidden, self.dimension, self.noise)

    def network(self) -> nn.Module:
        """The discriminator: d to one logit."""
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise([self.dimension, *self.discriminator, 1]):
            layer = nn.Linear(before, after)
            nn.init.normal_(layer.weight, std=DISCRIMINATOR_SPREAD)
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return AdversarialModel(self, graph, rng)

    def optimiser(self, model: Model) -> torch.optim.Optimizer:
        """Three Adams, of which the model says whose turn it is."""
        assert isinstance(model, AdversarialModel)

        def adam(module: nn.Module, lr: float) -> torch.optim.Optimizer:
            decay = self.weight_decay
            return self.optimiser_class(module.parameters(), lr=lr, weight_decay=decay, fused=True)

        adams = {
            "reconstruction": adam(model.encoder, self.lr),
            "discriminator": adam(model.discriminator, self.discriminator_lr),
            "generator": adam(model.encoder, self.discriminator_lr),
        }
        return Turns(adams, lambda: model.turn)


class Turns(torch.optim.Optimizer):
    """Several optimisers, one of which takes a step.

    The loop sets one rate for all parameters; here it is a share of each optimiser's own.

    Args:
        optimisers: by name; several may move the same parameters. whose: names the one whose turn
            it is.
    """

    def __init__(
        self, optimisers: Mapping[str, torch.optim.Optimizer], whose: Callable[[], str]
    ) -> None:
        self.optimisers, self.whose = optimisers, whose
        groups = [group for each in optimisers.values() for group in each.param_groups]
        moved = {id(one): one for group in groups for one in group["params"]}
        super().__init__(list(moved.values()), {"lr": 1.0})

    def step(self, closure: Any = None) -> Any:
        """A step of the optimiser whose turn it is."""
        chosen = self.optimisers[self.whose()]
        (share,) = (group["lr"] for group in self.param_groups)
        for group in chosen.param_groups:
            group["lr"] = chosen.defaults["lr"] * share
        return chosen.step(closure)

    def state_dict(self) -> dict[str, Any]:
        """Those of the optimisers, by name."""
        return {name: each.state_dict() for name, each in self.optimisers.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave."""
        for name, each in self.optimisers.items():
            each.load_state_dict(state_dict[name])


class AdversarialModel(AutoencoderModel):
    """An auto-encoder and its discriminator.

    Attributes:
        turn: whose step follows: `reconstruction`, `discriminator` or `generator`.
        generator_reconstructs: whether the encoder also rebuilds in the step that fools.
    """

    generator_reconstructs: ClassVar[bool] = True

    def __init__(self, settings: Arga, graph: Data, rng: Streams):
        super().__init__(settings, graph, rng)
        self.steps, self.turn = settings.reconstruction_steps, "reconstruction"
        with rng.seeded("discriminator"):
            self.discriminator = settings.network()

    def losses(self, step: Step) -> Iterator[Loss]:
        self.turn = "reconstruction"
        for number in range(self.steps):
            loss = self.reconstructed(*self.coded())
            # Patience compares iterations, so it sees one of their losses.
            yield replace(loss, final=number == 0, noted=loss.value.detach() / self.steps)
        self.turn = "discriminator"
        found = self.discriminator_loss()
        yield Loss(found, {"discriminator": found.detach()}, final=False)
        self.turn = "generator"
        z, further = self.coded()
        generator = softplus(-self.discriminator(z)).mean()
        terms = {**loss.terms, "discriminator": found.detach(), "generator": generator.detach()}
        value = generator + self.reconstruction(z) if self.generator_reconstructs else generator
        yield Loss(value, terms, final=False, noted=generator.detach())

    def discriminator_loss(self) -> Tensor:
        """How badly the discriminator tells z from as many rows of the normal distribution."""
        with torch.no_grad():
            z, _ = self.coded()
        with drawing_from(self.state["noise"]):
            normal = torch.randn_like(z)
        return softplus(-self.discriminator(normal)).mean() + softplus(self.discriminator(z)).mean()
