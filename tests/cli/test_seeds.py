"""Seeds as typed: too large ones, several in a sweep, and numbers that could be meant as one."""

from __future__ import annotations

import time

import pytest
from own_graphs import recorded
from small_sweeps import KMEANS

from gclbench.cli import main

Printed = pytest.CaptureFixture[str]


def test_a_seed_that_no_record_holds_is_refused_before_the_run(capsys: Printed) -> None:
    assert main([*KMEANS, f"seeds=[{2**63}]"]) == 2
    assert f"the largest seed is {2**63 - 1} (2^63 - 1)" in capsys.readouterr().err
    assert main([*KMEANS, f"seeds=[{2**63 - 1}]"]) == 0
    assert [record.seed for record in recorded()] == [2**63 - 1]


def test_seeds_are_no_values_of_a_sweep(capsys: Printed) -> None:
    assert main(["-m", *KMEANS, "seeds=1,2"]) == 2
    assert "seeds of one command are a list: seeds=[1,2]" in capsys.readouterr().err
    assert recorded() == []


def test_too_many_seeds_are_answered_at_once(capsys: Printed) -> None:
    started = time.process_time()
    assert main([*KMEANS, "seeds=1000000000", "--dry-run"]) == 2
    assert time.process_time() - started < 60, "a billion runs were planned"
    assert "the one seed 1000000000 is seeds=[1000000000]" in capsys.readouterr().err


def test_a_number_of_seeds_says_which(capsys: Printed) -> None:
    for words in ([], ["--dry-run"]):
        assert main([*KMEANS, "seeds=3", *words]) == 0
        printed = capsys.readouterr()
        assert "3 runs: seeds 0 to 2\n" in (printed.out if words else printed.err)
    assert main([*KMEANS, "seeds=[0,1]", "rerun=all"]) == 0
