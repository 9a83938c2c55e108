"""M-Mix's Table 6: which branch is evaluated."""

from __future__ import annotations

from gclbench.paper.comparison import compare
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table


def test_a_run_of_one_branch_is_in_its_column_alone(record) -> None:
    public = {"task": "classification", "task_settings": {"protocol": "public"}}
    settings = {"mmix_mp": {}, "branch a": {"branch": "a"}, "branch b": {"branch": "b"}}
    made = {
        label: record(
            method="mmix_mp", negatives="mmix", metrics={"accuracy": 0.8}, **public, **setting
        )
        for label, setting in settings.items()
    }
    of_table = {
        name: compare(find_table(name), Collection(tuple(made.values())))
        for name in ("mmix/6", "mmix/2")
    }
    six = {each.column: each for each in of_table["mmix/6"].entries if each.records}
    assert {label: entry.records for label, entry in six.items()} == {
        label: (run,) for label, run in made.items()
    }
    assert all(entry.faithful for entry in six.values())
    two = [each for each in of_table["mmix/2"].entries if each.records]
    assert [(each.column, each.records) for each in two] == [("mmix_mp", (made["mmix_mp"],))]
