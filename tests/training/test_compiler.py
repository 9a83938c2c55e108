"""torch's compiler is put off, and there when something is compiled."""

from __future__ import annotations

import subprocess
import sys

import pytest

STEPS = """
import sys, torch
from gclbench.training import loop
layer = torch.nn.Linear(3, 3)
adam = torch.optim.Adam(layer.parameters(), fused=True)
before = layer.weight.clone()
layer(torch.ones(1, 3)).sum().backward()
adam.step()
adam.zero_grad()
adam.load_state_dict(adam.state_dict())
assert not torch.equal(before, layer.weight)
assert "torch._dynamo.utils" not in sys.modules
for module in list(sys.modules.values()):
    hasattr(module, "__file__")  # as `inspect` asks of all of them
assert "torch._dynamo.utils" not in sys.modules
assert "torch_geometric.datasets.planetoid" not in sys.modules
compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
assert torch.equal(compiled(torch.ones(2)), torch.ones(2).sin() + 1)
assert "torch._dynamo.utils" in sys.modules
adam.step()
from torch_geometric.nn import GCNConv
from torch_geometric.datasets import Planetoid
print("well")
"""


@pytest.mark.slow
def test_optimisers_do_without_the_compiler_and_compiling_does_not() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STEPS], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "well\n", done.stderr
