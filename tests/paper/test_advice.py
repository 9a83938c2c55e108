"""What `gclbench compare` tells to type next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gclbench.cli.advised_store import with_store
from gclbench.paper.head_to_head import NothingToCompare, head_to_head
from gclbench.paper.sources import Collection


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_a_run_that_can_be_repeated_names_its_command(record, status: str) -> None:
    why = "the run was interrupted; its command repeats it"
    words = "gclbench dataset=cora method=bgrl"
    ended = replace(record("bgrl", status=status, reason=why), command=words)
    runs = Collection((ended, record("kmeans")))
    with pytest.raises(NothingToCompare) as error:
        head_to_head(("bgrl", "kmeans"), runs)
    told = f"no run of 'bgrl' has a value: {status} ×1. the run was interrupted. `{words}"
    assert str(error.value) == f"{told}` repeats it"
    found = with_store(str(error.value), ["other"])
    assert found == f"{told} runs_dir=other` repeats it", "the store that was looked in"
