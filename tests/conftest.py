"""What every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tests run next to long computations, and the order of sums must not depend on the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def mirror() -> Path:
    """The folder of original dataset files, from the environment variable GCLBENCH_MIRROR."""
    folder = os.environ.get("GCLBENCH_MIRROR")
    if not folder:
        pytest.skip("GCLBENCH_MIRROR is not set; it names a folder with the original dataset files")
    if not Path(folder).is_dir():
        pytest.skip(f"GCLBENCH_MIRROR={folder} is not a folder")
    return Path(folder)
