"""The random generators that a process has once: of torch on the CPU and on every GPU, of NumPy, of
Python."""

from __future__ import annotations

import random
from typing import Any


def states() -> dict[str, Any]:
    """Where each of them is, in plain values and tensors; of the GPUs where they are in use."""
    import numpy as np
    import torch

    name, keys, *rest = np.random.get_state()
    found: dict[str, Any] = {
        "cpu": torch.random.get_rng_state(),
        "numpy": [name, np.asarray(keys).tolist(), *rest],
        "python": random.getstate(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        found["cuda"] = torch.cuda.get_rng_state_all()
    return found


def put_back(found: dict[str, Any]) -> None:
    """Puts them where `states` found them.

    GPUs that came into use since then start where torch's seed puts them, as if they had not been.
    Of fewer GPUs than then the states of the others are left out.
    """
    import numpy as np
    import torch

    torch.random.set_rng_state(found["cpu"])
    name, keys, *rest = found["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    version, internal, gauss = found["python"]
    random.setstate((version, tuple(internal), gauss))
    if not (torch.cuda.is_available() and (torch.cuda.is_initialized() or "cuda" in found)):
        return
    if "cuda" not in found:
        torch.cuda.manual_seed_all(torch.initial_seed())
        return
    for device, state in enumerate(found["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(state, device)


def seed_all(seed: int) -> None:
    """Starts them at a seed, from 0 and below 2³²."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.random.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
