"""gensim, by which DeepWalk and graph2vec learn vectors of words."""

from __future__ import annotations

from types import ModuleType

from gclbench.graph import Unsupported


def gensim_models(method: str) -> ModuleType:
    """`gensim.models`.

    Args:
        method: who needs it, as typed.

    Raises:
        Unsupported: when gensim is not installed.
    """
    try:
        import gensim.models
    except ImportError as error:
        raise Unsupported(
            f"{method} needs gensim, which is not installed: pip install 'gclbench[deepwalk]'"
        ) from error
    return gensim.models
