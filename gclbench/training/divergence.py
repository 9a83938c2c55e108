"""Which settings may keep a loss finite after it became NaN or infinite."""

from __future__ import annotations

from typing import Any


def steadier(method: Any, strategy: Any, stepped: bool) -> str:
    """Which settings in use may keep a loss finite, as the end of a sentence; or "".

    A smaller learning rate (`lr`) does, and a larger temperature (`tau`): these settings have the
    same names in every method and strategy.

    Args:
        method: its settings. A method that says that it takes no negatives (MVGRL against a
            summary) reads no temperature.
        strategy: its settings. One whose `learns` is false uses no learning rate.
        stepped: whether the training had made a step before. The first loss is that of the
            initial weights, whatever the rate; a strategy may have learnt before it.
    """
    contrasts = getattr(method, "takes_negatives", False)
    learns = hasattr(strategy, "lr") and getattr(strategy, "learns", True)
    rates = ["method.lr"] * (stepped and hasattr(method, "lr"))
    rates += ["negatives.lr"] * (learns and contrasts)
    advice = [f"a smaller {' or '.join(rates)}"] * bool(rates)
    reads_tau = hasattr(method, "tau") and getattr(method, "takes_negatives", True)
    advice += ["a larger method.tau"] * reads_tau
    return f"; {' or '.join(advice)} may help" if advice else ""
