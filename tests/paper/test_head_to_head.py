"""Two settings over the same seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scipy.stats import ttest_rel

from gclbench.component.registry import METHODS, UnknownName
from gclbench.config.overrides import ConfigErrors
from gclbench.paper.head_to_head import NothingToCompare, head_to_head
from gclbench.paper.head_to_head_rows import FIELDS, HEAD, legend, numbers, texts
from gclbench.paper.run_words import of_seeds, of_task
from gclbench.paper.significance import seeds_needed
from gclbench.paper.sources import Collection
from gclbench.paper.verdict import ABOVE, BELOW, EQUIVALENT, FAILED, UNDETERMINED
from gclbench.records import flatten

UNTRAINED = "method=dmat_i method.epochs=0"
OURS = [0.70, 0.72, 0.71, 0.74, 0.69]


def runs(record, values, metric: str = "acc", **settings):
    return [
        record(seed=seed, metrics={metric: value}, **settings) for seed, value in enumerate(values)
    ]


def against(record, values, metric: str = "acc"):
    ours = runs(record, OURS, metric)
    return only(ours + runs(record, values, metric, epochs=0))


def only(records, other: str = UNTRAINED):
    (line,) = head_to_head(("dmat_i", other), Collection(tuple(records))).lines
    return line


def test_the_difference_is_paired_over_common_seeds(record) -> None:
    line = against(record, [0.60, 0.63, 0.60])
    assert (line.dataset, line.task, line.shown.name) == ("cora", "clustering", "acc")
    assert line.settled.n == 3 and line.settled.difference == pytest.approx(0.1)
    assert [cell.mean for cell in line.cells] == pytest.approx([0.71, 0.61])
    expected = ttest_rel(OURS[:3], [0.60, 0.63, 0.60])
    low, high = expected.confidence_interval(0.9)
    assert line.settled.outcome.interval == pytest.approx((low, high))
    assert line.settled.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    ("metric", "others", "verdict"),
    [
        ("acc", [value - 0.1 for value in OURS], ABOVE),
        ("acc", [value + 0.1 for value in OURS], BELOW),
        ("conductance", [value - 0.1 for value in OURS], BELOW),
        ("acc", [0.701, 0.719, 0.711, 0.741, 0.69], EQUIVALENT),
        ("acc", [0.75, 0.66, 0.72, 0.76, 0.67], UNDETERMINED),
        ("seconds", [0.701, 0.719, 0.711, 0.741, 0.69], UNDETERMINED),  # it has no point
        ("acc", [0.7], UNDETERMINED),
    ],
)
def test_verdicts(record, metric: str, others, verdict: str) -> None:
    line = against(record, others, metric)
    assert line.settled.verdict == verdict
    assert (line.settled.needed is not None) == (verdict == UNDETERMINED and len(others) > 1)


def test_the_seeds_that_are_needed_are_those_of_all_lines_together(record) -> None:
    both = [
        record(seed=seed, metrics=dict.fromkeys(("acc", "nmi"), values[seed]), epochs=epochs)
        for epochs, values in ((300, OURS), (0, [0.69, 0.66, 0.72, 0.66, 0.67]))
        for seed in range(5)
    ]
    found = head_to_head(("dmat_i", UNTRAINED), Collection(tuple(both)))
    assert found.tests == 2
    for line in found.lines:
        alone, together = (seeds_needed(line.settled.outcome, tests) for tests in (1, 2))
        assert line.settled.needed == together and together != alone


def test_a_failed_seed_shows_and_nothing_is_tested(record) -> None:
    records = runs(record, OURS) + runs(record, OURS[:4], epochs=0)
    line = only([*records, record(seed=4, status="oom", epochs=0)])
    assert line.settled.verdict == FAILED and line.settled.outcome is None
    assert texts_of(line, records)[4] == "71.75 ± 1.71 (OOM ×1)"


def texts_of(line, records):
    found = head_to_head(("dmat_i", UNTRAINED), Collection(tuple(records)))
    return texts(type(found)(found.sides, (line,), 0, ()))[0]


def test_rows_have_a_text_per_heading_and_signs(record) -> None:
    collection = Collection((*runs(record, OURS), *runs(record, [0.6] * 5, epochs=0)))
    found = head_to_head(("dmat_i", UNTRAINED), collection)
    (row,), (fields,) = texts(found), numbers(found)
    assert len(row) == len(HEAD) and len(fields) == len(FIELDS)
    assert row[3:6] == ["71.20 ± 1.92", "60.00 ± 0.00", "+11.20"] and row[8] == "A better ‡"
    assert any(sentence.startswith("‡ chosen after") for sentence in legend(found))
    assert dict(zip(FIELDS, fields, strict=True))["difference"] == "0.112000"


def test_a_difference_that_rounds_to_nothing_has_no_minus(record) -> None:
    records = [*runs(record, OURS), *runs(record, [value + 1e-5 for value in OURS], epochs=0)]
    (row,) = texts(head_to_head(("dmat_i", UNTRAINED), Collection(tuple(records))))
    assert row[5] == "+0.00"


def test_protocols_and_tasks_are_lines_of_their_own(record) -> None:
    records = []
    for protocol in ("public", "random_10_10_80"):
        settings = {"task": "classification", "task_settings": {"protocol": protocol}}
        records += runs(record, OURS, "accuracy", **settings)
        records += runs(record, OURS[::-1], "accuracy", epochs=0, **settings)
    found = head_to_head(("dmat_i", UNTRAINED), Collection(tuple(records)))
    assert [line.task for line in found.lines] == [
        "classification (public)",
        "classification (random_10_10_80)",
    ]
    public = head_to_head(
        ("dmat_i", UNTRAINED), Collection(tuple(records)), tasks=["classification_public"]
    )
    assert [line.task for line in public.lines] == ["classification (public)"]


def test_two_graphs_of_a_name_are_told_apart(record) -> None:
    records = []
    for nodes in (100, 200):
        where = {"dataset": {"name": "sbm", "nodes": nodes}, "method": "kmeans"}
        records += runs(record, OURS, **where) + runs(record, OURS[::-1], filter="ssgc", **where)
    found = head_to_head(("kmeans", "kmeans filter=ssgc"), Collection(tuple(records)))
    assert {line.dataset for line in found.lines} == {"sbm [nodes=100]", "sbm [nodes=200]"}


def test_a_name_is_its_shipped_settings_alone(record) -> None:
    records = runs(record, [0.1] * 5, epochs=3) + runs(record, OURS, epochs=0)
    with pytest.raises(NothingToCompare) as error:
        only(records)
    assert str(error.value) == (
        "'dmat_i' has no runs. Recorded runs of dmat_i have: method.epochs=0 (cora);"
        " method.epochs=3 (cora). `gclbench method=dmat_i dataset=cora seeds=10` makes them"
    )


@pytest.mark.parametrize(
    ("side", "error", "text"),
    [
        ("dmat_j", UnknownName, "Did you mean 'dmat_i'?"),
        ("method=dmat_i", NothingToCompare, "are the same settings; name two that differ"),
        ("method=dmat_i method.epoch=0", ConfigErrors, "Did you mean 'method.epochs'?"),
        ("method.epochs=0", ConfigErrors, "names no method"),
        ("method=gca dataset=cora", ConfigErrors, "'dataset' is no part of"),
        ("gca", NothingToCompare, "'gca' has no runs. `gclbench method=gca dataset=cora"),
    ],
)
def test_what_is_no_side(record, side: str, error, text: str) -> None:
    with pytest.raises(error) as found:
        head_to_head(("dmat_i", side), Collection(tuple(runs(record, OURS))))
    assert text in str(found.value)


@pytest.mark.parametrize(
    ("sides", "dataset", "text"),
    [
        (("infograph", "gae"), "mutag", "'gae' cannot run there: gae embeds nodes, and mutag has"),
        (("gae", "histogram"), "cora", "histogram embeds graphs, and cora has nodes to embed"),
        (("kmeans", "kmeans"), "cora", "name two that differ, such as 'kmeans' and 'dgi'"),
        (("histogram",) * 2, "mutag", "such as 'histogram' and 'graph_statistics'"),
        (("gcn", "gcn"), "mutag", "such as 'gcn' and 'method=gcn method.epochs=0'"),
    ],
)
def test_advice_is_a_command_that_runs_there(record, sides, dataset: str, text: str) -> None:
    there = {"cora": "gae", "mutag": "infograph"}[dataset]
    records = (record(method=there, dataset=dataset),)
    with pytest.raises(NothingToCompare) as found:
        head_to_head(sides, Collection(records), datasets=[dataset])
    assert text in str(found.value)


def test_what_a_method_cannot_run_on_is_not_advised(record) -> None:
    """The other side's collections are no gap of a method on nodes."""
    both = runs(record, OURS, method="dgi") + runs(record, OURS, method="dgi", epochs=0)
    alone = [
        one for name in ("acm", "mutag") for one in runs(record, OURS, dataset=name, method="dgi")
    ]
    sides = ("dgi", "dgi method.epochs=0")
    (remark,) = head_to_head(sides, Collection((*both, *alone))).remarks
    assert "was not run on acm" in remark and "mutag" not in remark


def test_no_common_seeds(record) -> None:
    records = runs(record, OURS) + [record(seed=7, metrics={"acc": 0.6}, epochs=0)]
    with pytest.raises(NothingToCompare) as error:
        only(records)
    assert str(error.value) == (
        "the two have no seeds in common. No common seeds on cora, clustering: 'dmat_i' has"
        " seeds=5; 'method=dmat_i method.epochs=0' has seeds=[7]; `gclbench method=dmat_i"
        " method.epochs=0 dataset=cora task=clustering seeds=5`."
    )


def test_what_only_one_was_run_on_is_said(record) -> None:
    records = runs(record, OURS) + runs(record, OURS[::-1], epochs=0)
    acm = runs(record, OURS[:2], dataset="acm", method="kmeans")
    assert not head_to_head(("dmat_i", UNTRAINED), Collection((*records, *acm))).remarks
    more = runs(record, OURS, "auc", task="link_prediction")
    (remark,) = head_to_head(("dmat_i", UNTRAINED), Collection((*records, *more))).remarks
    assert remark == (
        "'method=dmat_i method.epochs=0' was not run on cora (link_prediction), 'dmat_i' was:"
        " `gclbench method=dmat_i method.epochs=0 dataset=cora task=link_prediction seeds=5`."
    )


def test_runs_that_would_show_no_metric_are_not_advised(record) -> None:
    both = runs(record, OURS) + runs(record, OURS[::-1], epochs=0)
    more = runs(record, OURS, "auc", task="link_prediction")
    undirected = runs(record, OURS, "silhouette", dataset="acm")
    sides, collection = ("dmat_i", UNTRAINED), Collection((*both, *more, *undirected))
    (remark,) = head_to_head(sides, collection).remarks
    assert "on cora (link_prediction)" in remark and "acm" not in remark
    assert not head_to_head(sides, collection, metrics=["acc"]).remarks


def test_runs_that_could_only_end_as_unsupported_are_not_advised(record) -> None:
    both = runs(record, OURS) + runs(record, OURS[::-1], epochs=0)
    link = {"task": "link_prediction", "status": "unsupported"}
    refused = [record(seed=seed, **link) for seed in range(3)]
    assert not head_to_head(("dmat_i", UNTRAINED), Collection((*both, *refused))).remarks
    failed = record(seed=3, task="link_prediction", status="oom")
    (remark,) = head_to_head(("dmat_i", UNTRAINED), Collection((*both, *refused, failed))).remarks
    assert "was not run on cora (link_prediction)" in remark


def test_metrics_asked_for(record) -> None:
    collection = Collection((*runs(record, OURS), *runs(record, OURS[::-1], epochs=0)))
    with pytest.raises(NothingToCompare, match="no metric nmi that both have; they have acc"):
        head_to_head(("dmat_i", UNTRAINED), collection, metrics=["nmi"])
    with pytest.raises(NothingToCompare, match=r"they have acc\. Did you mean 'acc'\?$"):
        head_to_head(("dmat_i", UNTRAINED), collection, metrics=["accu"])


def test_an_unknown_metric_beside_a_known_one_is_refused(record) -> None:
    collection = Collection((*runs(record, OURS), *runs(record, OURS[::-1], epochs=0)))
    with pytest.raises(NothingToCompare) as refused:
        head_to_head(("dmat_i", UNTRAINED), collection, metrics=["acc", "typo", "accu"])
    assert str(refused.value) == (
        "there is no metric typo, accu that both have; they have acc. Did you mean 'acc'?"
    )


def test_metrics_without_a_better_direction_are_to_be_named(record) -> None:
    both = [each for epochs in (300, 0) for each in runs(record, OURS, "silhouette", epochs=epochs)]
    with pytest.raises(NothingToCompare) as refused:
        head_to_head(("dmat_i", UNTRAINED), Collection(tuple(both)))
    assert str(refused.value) == (
        "none of the metrics that both have is better in one direction; choose with --metric of"
        " silhouette"
    )
    asked = head_to_head(("dmat_i", UNTRAINED), Collection(tuple(both)), metrics=["silhouette"])
    assert len(asked.lines) == 1


def test_a_dataset_that_neither_was_run_on_is_told(record) -> None:
    both = Collection((*runs(record, OURS), *runs(record, OURS[::-1], epochs=0)))
    (said,) = head_to_head(("dmat_i", UNTRAINED), both, datasets=["cora", "acm", "dblp"]).remarks
    assert said == (
        f"Neither 'dmat_i' nor '{UNTRAINED}' was run on acm, dblp:"
        " `gclbench -m method=dmat_i dataset=acm,dblp seeds=10`,"
        " `gclbench -m method=dmat_i method.epochs=0 dataset=acm,dblp seeds=10`."
    )


def test_what_neither_was_run_on_is_run_as_asked_and_where_it_can_be(record) -> None:
    there = [*runs(record, OURS, method="grace"), *runs(record, OURS[::-1], method="dgi")]
    other = record(dataset={"name": "mine", "from": "custom"}, method="kmeans")
    other = replace(other, command="gclbench dataset=custom dataset.path=m.npz dataset.name=mine")
    (said,) = head_to_head(
        ("grace", "dgi"), Collection((*there, other)), ["cora", "mutag", "mine"], ["clustering"]
    ).remarks
    graph = "dataset=custom dataset.path=m.npz dataset.name=mine task=clustering seeds=10"
    assert said == (
        "Neither 'grace' nor 'dgi' was run on mutag, mine:"
        f" `gclbench method=grace {graph}`, `gclbench method=dgi {graph}`."
    )
    (said,) = head_to_head(("grace", "dgi"), Collection(tuple(there)), ["cora", "mutag"]).remarks
    assert said == "Neither 'grace' nor 'dgi' was run on mutag."


def test_a_user_s_graph_is_one_under_two_names(record) -> None:
    def of(name: str, values, hash: str = "a", **settings):
        made = runs(record, values, dataset={"name": name, "from": "custom"}, **settings)
        return [replace(each, spec={**each.spec, "dataset_hash": hash * 64}) for each in made]

    first, second = of("mine", OURS, method="grace"), of("graph", OURS[::-1], method="dgi")
    for datasets in ([], ["mine"], ["graph"]):
        found = head_to_head(("grace", "dgi"), Collection((*first, *second)), datasets)
        assert [line.dataset for line in found.lines] == ["graph"]
        assert found.lines[0].settled.n == 5
        assert found.remarks == ("Graph 'graph' is also called 'mine'.",)
    other = of("graph", OURS, "b", method="dgi")
    with pytest.raises(NothingToCompare, match="no dataset and task of which both have runs"):
        head_to_head(("grace", "dgi"), Collection((*first, *other)))


def test_one_line_is_no_lines(record) -> None:
    both = Collection((*runs(record, OURS), *runs(record, OURS[::-1], epochs=0)))
    told = legend(head_to_head(("dmat_i", UNTRAINED), both))[1]
    assert "Holm-corrected over 1 line; equivalent" in told


def test_a_metric_of_one_side_is_not_said_to_be_of_both(record) -> None:
    runs = [record("gin", metrics={"acc": 0.5, "nmi": 0.5}), record("kmeans", metrics={"acc": 0.4})]
    with pytest.raises(NothingToCompare, match="no metric nmi that both have; they have acc$"):
        head_to_head(("gin", "kmeans"), Collection(tuple(runs)), metrics=["nmi"])


def test_sides_whose_runs_all_ended_without_a_value_say_how(record) -> None:
    runs = [
        record("bgrl", seed=seed, negatives="imix", status="unsupported", reason="no negatives")
        for seed in range(2)
    ] + [record("kmeans", seed=seed) for seed in range(2)]
    with pytest.raises(NothingToCompare) as error:
        head_to_head(("method=bgrl negatives=imix", "kmeans"), Collection(tuple(runs)))
    assert str(error.value) == (
        "no run of 'method=bgrl negatives=imix' has a value: unsupported ×2. no negatives"
    )


def test_words_of_runs(record) -> None:
    task = {"protocol": "public", "normalize": "auto"}
    flat = flatten(record(task="classification", task_settings=task).spec)
    assert of_task(flat) == ["task=classification", "task.classification.protocol=public"]
    assert (of_seeds([2, 0, 1]), of_seeds([3, 7])) == ("seeds=3", "seeds=[3,7]")


def of_version(records, version: str):
    return [
        replace(
            one,
            id=f"{one.id}-{version}",
            spec={**one.spec, "versions": {**one.spec["versions"], "method": version}},
        )
        for one in records
    ]


def test_the_newest_version_counts_and_another_than_the_codes_is_told(record) -> None:
    code = METHODS.load("dmat_i").version
    ours, other = runs(record, OURS[:3]), runs(record, OURS, epochs=0)
    old = of_version(runs(record, [0.1] * 5), "0")
    both = [*of_version(ours, code), *of_version(other, code)]
    found = head_to_head(("dmat_i", UNTRAINED), Collection((*old, *both)))
    assert found.lines[0].cells[0].mean == pytest.approx(0.71) and found.lines[0].settled.n == 3
    assert not found.remarks
    older = head_to_head(("dmat_i", UNTRAINED), Collection((*old, *both[3:])))
    assert older.remarks == (
        "Runs of other versions than the code has: dmat_i 0"
        f" (here {code}): dmat_i on cora, clustering.",
    )


def test_more_runs_of_an_older_version_that_did_not_say_all_settings_do_not_count(record) -> None:
    code = METHODS.load("dmat_i").version
    old = of_version(runs(record, [0.1] * 5), "0")
    for one in old:
        del one.spec["method"]["unit_input"]
    new = of_version(runs(record, OURS[:3]), code)
    other = of_version(runs(record, OURS, epochs=0), code)
    (line,) = head_to_head(("dmat_i", UNTRAINED), Collection((*old, *new, *other))).lines
    assert line.cells[0].values == dict(enumerate(OURS[:3]))


def test_an_interrupted_run_of_the_newest_version_hides_none_of_the_one_before(record) -> None:
    code = METHODS.load("dmat_i").version
    old = of_version([*runs(record, OURS), *runs(record, OURS, epochs=0)], "0")
    begun = of_version([record(seed=0, status="interrupted")], code)
    (line,) = head_to_head(("dmat_i", UNTRAINED), Collection((*old, *begun))).lines
    assert line.cells[0].values == dict(enumerate(OURS))


def test_sides_that_were_not_computed_alike_are_told(record) -> None:
    ours, other = runs(record, OURS), runs(record, OURS, epochs=0)
    ours = [replace(one, environment={**one.environment, "code": "a"}) for one in ours]
    fast = [
        replace(one, environment={**one.environment, "precision": "fast", "code": "b"})
        for one in other
    ]
    found = head_to_head(("dmat_i", UNTRAINED), Collection((*ours, *fast)))
    assert found.remarks[-1] == (
        "Runs of the two sides, or of one of them, differ in precision: cora, clustering"
        " (gclbench show ID)."
    )
