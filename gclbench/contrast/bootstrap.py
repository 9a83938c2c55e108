"""The objective without negatives: a prediction of the other view."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import cosine_similarity


def bootstrap(prediction: Tensor, aim: Tensor) -> Tensor:
    """1 − the mean cosine of matching rows (BGRL, Eq. 3, made to start from 0).

    Args:
        prediction, aim: N×d.
    """
    return 1 - cosine_similarity(prediction, aim, dim=1).mean()
