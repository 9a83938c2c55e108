"""Named random streams."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from gclbench.training.streams import Streams


def test_pinned_numbers():
    """Published records were made with these; another derivation would change every result."""
    assert Streams(0).integer("views") == 46159907
    assert Streams(3).integer("kmeans") == 885658233


def test_same_seed_and_name_same_numbers():
    first, second = Streams(3), Streams(3)
    second.numpy("other").random(100)  # whichever other streams are read
    second.torch("views").seed()
    assert np.array_equal(first.numpy("views").random(5), second.numpy("views").random(5))
    assert torch.equal(
        torch.rand(5, generator=first.torch("views")),
        torch.rand(5, generator=second.torch("views")),
    )
    assert first.integer("views") == second.integer("views")


def test_a_stream_starts_afresh_each_time():
    streams = Streams(0)
    assert streams.numpy("a").random() == streams.numpy("a").random()
    generator = streams.torch("a")
    assert not torch.equal(torch.rand(3, generator=generator), torch.rand(3, generator=generator))


def test_names_and_seeds_do_not_collide():
    numbers = {
        Streams(seed).integer(name)
        for seed in range(50)
        for name in ("split", "views", "init", "batches", "kmeans", "1", "/")
    }
    assert len(numbers) == 350
    assert all(0 <= number < 2**31 for number in numbers)
    assert Streams(1).integer("1/x") != Streams(11).integer("/x")


def test_the_seeded_block_and_what_is_around_it():
    torch.manual_seed(7)
    wanted = torch.rand(4)
    torch.manual_seed(7)
    with Streams(0).seeded("init"):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(4), wanted), "the state outside is put back"
    with Streams(0).seeded("init"):
        assert torch.equal(torch.rand(3), inside)
    with Streams(0).seeded("other"):
        assert not torch.equal(torch.rand(3), inside)


def test_the_state_is_put_back_after_an_error():
    before = torch.random.get_rng_state()
    with pytest.raises(KeyError), Streams(0).seeded("init"):
        torch.rand(3)
        raise KeyError
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_same_in_another_process():
    """No hash randomisation, no global state."""
    script = (
        "from gclbench.training.streams import Streams; s = Streams(5); print(s.integer('views'),"
        " s.numpy('split').integers(10**9))"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [int(word) for word in out] == [
        Streams(5).integer("views"),
        int(Streams(5).numpy("split").integers(10**9)),
    ]


def test_repr():
    assert repr(Streams(4)) == "Streams(seed=4)"
