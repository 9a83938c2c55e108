"""What `gclbench compare` tells to type next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gclbench.paper.head_to_head import NothingToCompare, head_to_head
from gclbench.paper.sources import Collection


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_a_run_that_can_be_repeated_names_its_command(record, status: str) -> None:
    why = "the run was interrupted; its command repeats it"
    ended = replace(record("bgrl", status=status, reason=why), command="gclbench method=bgrl")
    runs = Collection((ended, record("kmeans")))
    with pytest.raises(NothingToCompare) as error:
        head_to_head(("bgrl", "kmeans"), runs)
    told = "the run was interrupted. `gclbench method=bgrl` repeats it"
    assert str(error.value) == f"no run of 'bgrl' has a value: {status} ×1. {told}"
