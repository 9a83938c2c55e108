"""Words that are read without Hydra's grammar mean what it says they mean."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from gclbench.config.plain_override import plain_override

PLAIN = [
    "method=grace",
    "method.tau=0.4",
    "a_b.c_1=x_2",
    "seeds=10",
    "seeds=0",
    "seeds=[3,7]",
    "seeds=[0]",
    "seeds=10-37",
    "seeds=0-2",
    "seeds=[9,10-37]",
    "task=[clustering,classification]",
    "x=1.50",
    "x=1e-4",
    "x=1E3",
    "x=12.5e+07",
    "x=0.0",
    "dataset.path=npz/x.npz",
    "dataset.path=./npz/x-1.npz",
    "dataset.path=../a/b.npz",
    "dataset.path=/tmp/a_b/c.npz",
    "x=dmat/1",
    "x=null_",
    "x=inf.x",
    "x=e5",
    "x=a.5",
    "x=a-1",
    "x=[a,1,0.5]",
]

LEFT_TO_THE_GRAMMAR = [
    "x=null",
    "x=True",
    "x=INF",
    "x=nan",
    "x=[a,null]",
    "x=[]",
    "x=[a,]",
    "x=[[1]]",
    "x=",
    "x",
    "=x",
    "x=a,b",
    "x=01",
    "x=-1",
    "x=1_000",
    "x='a'",
    "x=a b",
    "x= a",
    "x=a=b",
    "x=~/a",
    "x=glob(a*)",
    "x=${y}",
    "x={a:1}",
    "+x=1",
    "~x",
    "x@y=1",
    "größe=1",
    "x=größe",
    "x=1²",
    "x=1\n",
]


@pytest.mark.parametrize("word", PLAIN)
def test_a_plain_word_means_what_hydra_says(word: str) -> None:
    found, meant = plain_override(word), OverridesParser.create().parse_override(word)
    assert found is not None
    assert found.input_line == meant.input_line
    assert found.key_or_group == meant.key_or_group
    assert repr(found.value()) == repr(meant.value())
    assert found.package == meant.package
    assert not (meant.is_add() or meant.is_delete() or meant.is_sweep_override())


@pytest.mark.parametrize("word", LEFT_TO_THE_GRAMMAR)
def test_any_other_word_is_left_to_the_grammar(word: str) -> None:
    assert plain_override(word) is None
