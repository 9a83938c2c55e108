"""What training adds: controls, verdicts, where they are shown, what runs those that lack."""

from __future__ import annotations

import csv
import io
import shlex
from dataclasses import asdict, replace

import pytest
from rich.console import Console
from scipy.stats import ttest_rel

from gclbench.component.registry import FILTERS, METHODS
from gclbench.config.validation import experiment_of
from gclbench.launch.specification import specification
from gclbench.paper import run_words
from gclbench.paper.comparison import compare
from gclbench.paper.gains import CONTROLS, commands
from gclbench.paper.render import as_csv, html, latex, markdown, terminal
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES
from gclbench.paper.verdict import ABOVE, BELOW, EQUIVALENT, FAILED, NOT_RUN, UNDETERMINED
from gclbench.records import flatten

OURS = [0.70, 0.72, 0.71, 0.74, 0.69]
LOWER = [0.60, 0.61, 0.60, 0.65, 0.57]


def runs(record, values, metric: str = "acc", **settings):
    return [
        record(seed=seed, metrics={metric: value}, **settings) for seed, value in enumerate(values)
    ]


def filled(records, table: str = "dmat/1"):
    return compare(TABLES[table], Collection(tuple(records)))


def gains_of(comparison, column: str = "dmat_i", metric: str = "acc", dataset: str = "cora"):
    (entry,) = (
        entry
        for entry in comparison.entries
        if (entry.dataset, entry.metric, entry.column) == (dataset, metric, column)
    )
    return {gain.control: gain for gain in entry.gains}


def with_controls(record):
    return [
        *runs(record, OURS),
        *runs(record, LOWER, epochs=0),
        *runs(record, [0.8, 0.8, 0.8, 0.81, 0.8], method="kmeans"),
        *runs(record, [value + 0.001 for value in OURS], method="kmeans", filter=GNNBP),
        *runs(record, LOWER, method="kmeans", task_settings={"normalize": "l2"}),
        *runs(record, LOWER, method="kmeans", filter=GNNBP, task_settings={"normalize": "l2"}),
    ]


GNNBP = {"name": "gnnbp", "alpha": 0.1, "rrz": 0.4, "r_max": 1e-6}


def test_controls_paired_over_equal_seeds(record) -> None:
    comparison = filled(with_controls(record))
    gains = gains_of(comparison)
    assert tuple(gains) == CONTROLS
    verdicts = [gains[control].settled.verdict for control in CONTROLS]
    assert verdicts == [ABOVE, BELOW, ABOVE, EQUIVALENT, ABOVE]
    found = gains["untrained"].settled
    assert found.difference == pytest.approx(0.106) and found.n == 5
    # dmat_i against five, the untrained encoder against four, of which two are itself: no test.
    tests = comparison.gain_tests
    alone = ttest_rel(OURS, LOWER).pvalue
    assert tests == 9 and alone < found.p_value <= tests * alone
    assert gains["untrained"].show(100) == "+10.60 (5) ▲" and not commands(comparison.entries)


def test_which_columns_have_which_controls(record) -> None:
    comparison = filled([*with_controls(record), *runs(record, OURS, method="deepwalk")])
    assert [*gains_of(comparison, "untrained encoder")] == [*CONTROLS[1:]]
    assert [*gains_of(comparison, "deepwalk")] == [*CONTROLS[1:]]
    assert not gains_of(comparison, "kmeans")
    assert not gains_of(comparison, "k-means on filtered [task.normalize=l2]")
    assert not gains_of(comparison, "dmat_i", "nmi") and not gains_of(comparison, "gca")


def test_a_control_has_the_settings_of_its_column_and_task(record) -> None:
    other = [
        *runs(record, OURS),
        *runs(record, LOWER, epochs=0, tau=0.5),
        *runs(record, LOWER, method="kmeans", task_settings={"clusters": 5}),
        *runs(record, LOWER, method="kmeans", filter={**GNNBP, "alpha": 0.9}),
    ]
    gains = gains_of(filled(other))
    assert {gain.settled.verdict for gain in gains.values()} == {NOT_RUN}
    assert gains["untrained"].show(100) == "not run"


def test_without_epochs_it_does_not_matter_what_one_is(record) -> None:
    passes = [*runs(record, OURS, epoch_is="pass"), *runs(record, LOWER, epochs=0)]
    gain = gains_of(filled(passes), "dmat_i (passes)")["untrained"]
    assert gain.settled.verdict == ABOVE and gain.settled.n == 5


def test_without_epochs_it_does_not_matter_which_would_be_taken(record) -> None:
    untrained = runs(record, LOWER, epochs=0, epoch_by="validation")
    gains = gains_of(filled([*runs(record, OURS), *untrained]))
    assert gains["untrained"].settled.verdict == ABOVE


def test_what_an_epoch_is_is_no_word_of_an_untrained_control(record) -> None:
    for said in ({"epoch_is": "pass"}, {"epoch_by": "last"}):
        lines = commands(filled(runs(record, OURS, **said)).entries)
        untrained = [line for line in lines if "method.epochs=0" in line]
        expected = "gclbench method=dmat_i method.epochs=0 task=clustering dataset=cora seeds=5"
        assert untrained == [expected]


def test_of_several_settings_of_a_control_the_one_with_the_most_runs_is_taken(record) -> None:
    for many, few in (("a", "b"), ("b", "a")):
        controls = [
            *runs(record, LOWER, method="kmeans", extra=many),
            *runs(record, OURS[:2], method="kmeans", extra=few),
        ]
        found = gains_of(filled([*runs(record, OURS), *controls]))["raw features"].settled
        assert found.n == 5 and found.difference == pytest.approx(0.106)


def test_notes_tell_of_other_versions_and_of_columns_of_another_precision(record) -> None:
    here = {name: METHODS.load(name).version for name in ("dmat_i", "kmeans")}
    ours = of_data(runs(record, OURS), method=here["dmat_i"])
    other = of_data(runs(record, LOWER, method="kmeans"), method=here["kmeans"])
    fast = [replace(one, environment={**one.environment, "precision": "fast"}) for one in ours]
    told = markdown(filled([*of_data(fast, method="0"), *other]))
    assert (
        f"Runs of other versions than the code has: dmat_i 0 (here {here['dmat_i']}):"
        " dmat_i on cora.\n"
    ) in told
    assert "Columns that are ranked together differ in precision: cora (gclbench show ID)." in told
    told = markdown(filled([*ours, *other]))
    assert "other versions" not in told and "ranked together" not in told


def test_a_column_that_has_no_part_in_the_ranks_is_not_told_for_its_precision(record) -> None:
    ranked = [*runs(record, OURS), *runs(record, LOWER, method="kmeans")]
    other = [
        replace(one, environment={**one.environment, "precision": "fast"})
        for one in runs(record, OURS, method="dgi", epochs=3, normalize_features=False)
    ]
    comparison = filled([*ranked, *other])
    dgi = next(entry for entry in comparison.entries if entry.records and entry.method == "dgi")
    assert dgi.ours.n == 5 and not dgi.faithful
    assert "ranked together" not in markdown(comparison)


def test_notes_tell_of_columns_that_were_computed_on_a_gpu(record) -> None:
    there = [replace(one, memory={"gpu_allocated": 5}) for one in runs(record, OURS)]
    here = runs(record, LOWER, method="kmeans")
    said = "Computed on a GPU, in whole or in part: dmat_i on cora.\n"
    assert said in markdown(filled([*there, *here]))
    assert "on a GPU" not in markdown(filled([*runs(record, OURS), *here]))


def test_lower_is_better_undetermined_and_failed(record) -> None:
    records = runs(record, OURS, "conductance") + runs(record, LOWER, "conductance", epochs=0)
    assert gains_of(filled(records), metric="conductance")["untrained"].settled.verdict == BELOW
    wide = [0.75, 0.66, 0.72, 0.76, 0.67]
    gain = gains_of(filled(runs(record, OURS) + runs(record, wide, epochs=0)))["untrained"]
    assert gain.settled.verdict == UNDETERMINED and gain.show(100).endswith(
        f"~{gain.settled.needed}"
    )
    failed = record(seed=4, status="oom", epochs=0)
    gain = gains_of(filled([*runs(record, OURS), *runs(record, LOWER[:4], epochs=0), failed]))[
        "untrained"
    ]
    assert gain.settled.verdict == FAILED and gain.show(100) == "+10.25 (4) failed seeds"


def test_the_commands_of_missing_controls(record) -> None:
    records = runs(record, OURS) + runs(record, LOWER[:2], epochs=0)
    assert commands(filled(records).entries) == [
        "gclbench method=dmat_i method.epochs=0 task=clustering dataset=cora seeds=2-4",
        "gclbench method=kmeans task=clustering dataset=cora seeds=5",
        "gclbench method=kmeans task=clustering task.clustering.normalize=l2 dataset=cora seeds=5",
        "gclbench method=kmeans filter=gnnbp task=clustering dataset=cora seeds=5",
        "gclbench method=kmeans filter=gnnbp task=clustering task.clustering.normalize=l2"
        " dataset=cora seeds=5",
    ]
    many = runs(record, [*OURS, *OURS, *OURS]) + runs(record, LOWER, epochs=0)
    assert commands(filled(many).entries)[:2] == [
        "gclbench method=dmat_i method.epochs=0 task=clustering dataset=cora seeds=5-9",
        "gclbench method=kmeans task=clustering dataset=cora seeds=10",
    ], "ten seeds are enough of a control"
    public = {"task": "classification", "task_settings": {"protocol": "public"}}
    two = [
        item
        for dataset in ("cora", "citeseer")
        for item in runs(
            record, OURS, "accuracy", method="grace", dataset=dataset, epochs=200, **public
        )
    ]
    lines = commands(filled(two, "nml/1").entries)
    assert any(
        line.startswith("gclbench -m method=grace method.epochs=0")
        and "task.classification.protocol=public dataset=" in line
        for line in lines
    )


def test_a_graph_that_changed_in_its_file_is_named_once(record) -> None:
    one = [item for name in ("cora", "acm") for item in runs(record, OURS, dataset=name)]
    lines = commands(filled(one).entries, lambda _: ["custom", "dataset.path=g.npz"])
    assert lines[0] == (
        "gclbench method=dmat_i method.epochs=0 task=clustering dataset=custom dataset.path=g.npz"
        " seeds=5"
    )


def test_every_command_composes(record) -> None:
    from gclbench.config.validation import resolved

    records = [*runs(record, OURS), *runs(record, OURS, method="gca", epochs=200)]
    for line in commands(filled(records).entries):
        assert resolved(shlex.split(line)[1:])


def test_gains_in_every_format(record) -> None:
    comparison = filled(with_controls(record)).restrict(["cora"])
    page = markdown(comparison)
    assert "## Gain over controls: acc" in page
    gains = "+10.60 (5) ▲ | −9.00 (5) ▼ | +10.60 (5) ▲ | −0.10 (5) ✓ | +10.60 (5) ▲"
    assert f"| cora | dmat_i‡ | {gains} |" in page
    assert "such features with rows of length 1 (unit rows)" in page
    assert "Gain over controls" not in markdown(comparison, "paper")
    assert "<caption>Gain over controls: acc</caption>" in html(comparison)
    assert r"+10.60 (5) $\blacktriangle$" in latex(comparison)
    console = Console(file=io.StringIO(), width=190)
    terminal(comparison, console)
    assert "+10.60 (5) ▲" in console.file.getvalue()
    row = next(
        row
        for row in csv.DictReader(io.StringIO(as_csv(comparison)))
        if (row["column"], row["metric"]) == ("dmat_i", "acc")
    )
    assert row["gain_over_untrained"] == "0.106000" and row["gain_seeds_filter_alone"] == "5"
    assert row["gain_verdict_raw_features"] == "below"


def test_tables_without_controls_have_no_grid(record) -> None:
    assert "Gain over controls" not in markdown(filled(runs(record, OURS), "dmat/4"))
    page = markdown(filled(runs(record, OURS)))
    assert "Gain over controls" not in page
    assert "Controls that are not run: gclbench method=dmat_i method.epochs=0" in page


def of_data(records, dataset_hash: str = "f" * 64, **versions: str):
    """The same records of another graph, or of other versions."""
    return [
        replace(
            one,
            id=f"{one.id}-other",
            spec={
                **one.spec,
                "dataset_hash": dataset_hash,
                "versions": {**one.spec["versions"], **versions},
            },
        )
        for one in records
    ]


def test_a_setting_that_is_left_out_at_its_default_tells_a_control_apart(record) -> None:
    """DGI on diffusion has settings that DGI's records leave out."""
    raw, diffusion = {"normalize_features": False}, {"propagation": "diffusion", "alpha": 0.2}
    records = [
        *runs(record, OURS, method="dgi", **raw),
        *runs(record, LOWER[:4], method="dgi", epochs=0, **raw),
        *runs(record, OURS, method="dgi", epochs=0, **raw, **diffusion),
    ]
    untrained = gains_of(filled(records), "dgi")["untrained"].settled
    assert untrained.n == 4 and untrained.difference == pytest.approx(0.1025)
    alone = gains_of(filled([*records[:5], *records[9:]]), "dgi")["untrained"]
    assert alone.settled.verdict == NOT_RUN and alone.lacking == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "other", [{"dataset_hash": "e" * 64}, {"protocol": "2"}, {"method": "2"}], ids=str
)
def test_controls_are_of_the_same_graph_protocol_and_encoder(record, other) -> None:
    ours = runs(record, OURS)
    controls = [*runs(record, LOWER, epochs=0), *runs(record, LOWER, method="kmeans")]
    gains = gains_of(filled([*ours, *of_data(controls, **other)]))
    assert gains["untrained"].settled.verdict == NOT_RUN
    # The version of k-means has nothing to do with that of a method.
    expected = ABOVE if "method" in other else NOT_RUN
    assert gains["raw features"].settled.verdict == expected


def test_raw_features_are_not_unit_rows(record) -> None:
    """Records from before the setting do not name it."""
    unit = runs(record, LOWER, method="kmeans", task_settings={"normalize": "l2"})
    gains = gains_of(filled([*runs(record, OURS), *unit]))
    assert gains["raw features"].settled.verdict == NOT_RUN
    assert gains["raw unit rows"].settled.verdict == ABOVE


def test_an_interrupted_control_is_asked_for_again(record) -> None:
    records = with_controls(record)
    broken = [
        replace(each, status="interrupted", metrics={})
        if each.spec["method"].get("epochs") == 0 and each.spec["seed"]
        else each
        for each in records
    ]
    assert gains_of(filled(records))["untrained"].lacking == ()
    assert gains_of(filled(broken))["untrained"].lacking == (1, 2, 3, 4)


def test_a_control_of_the_newest_version_is_taken_and_an_older_one_is_told(record) -> None:
    """The filter's version tells; that more seeds are recorded of the older one does not."""
    here = FILTERS.load("gnnbp").version
    filtered = {"filter": GNNBP}
    older = of_data(runs(record, LOWER, epochs=0, **filtered), filter="0")
    newer = of_data(runs(record, OURS[:2], epochs=0, **filtered), filter=here)
    ours = of_data(runs(record, OURS, **filtered), filter=here)
    gain = gains_of(filled([*ours, *older, *newer]))["untrained"]
    assert gain.settled.n == 2 and gain.settled.difference == 0 and gain.older == ()
    assert gain.lacking == (2, 3, 4)
    comparison = filled([*ours, *older])
    assert gains_of(comparison)["untrained"].older == (f"gnnbp 0 (here {here})",)
    told = f"Controls of other versions than the code has: gnnbp 0 (here {here}): untrained of"
    assert f"{told} dmat_i on cora." in markdown(comparison)


def test_the_words_of_a_control_set_a_default_that_is_not_what_is_shipped() -> None:
    """A record leaves `batch_size` out at its default, and the configs ship another."""

    def flat(*words: str):
        experiment = experiment_of([*words, "task=graph_classification"])
        return flatten(asdict(specification(experiment, "graph_classification", 0, "ab" * 32)))

    asked = flat("method=mvgrl", "dataset=imdb_binary", "method.batch_size=128", "method.epochs=0")
    assert "method.batch_size" not in asked
    words = run_words.of_method(asked)
    assert "method.batch_size=128" in words
    assert flat(*words, "dataset=imdb_binary") == asked
    form = {"dataset.name": "amazon_photo", "method.name": "dmat_i"}
    assert run_words.of_dataset(form) == ["dataset.edges=simple"]


def test_cells_of_uncommitted_code_are_told(record) -> None:
    first, *rest = runs(record, OURS)
    changed = replace(first, environment={**first.environment, "commit": "abc+changes"})
    told = "Made with code that had changes which its commit (+changes) does not hold"
    assert f"{told}, in whole or in part: dmat_i on cora." in markdown(filled([changed, *rest]))
    assert told not in markdown(filled([first, *rest]))


def test_a_control_of_an_older_version_without_common_seeds_is_not_told(record) -> None:
    filtered = {"filter": GNNBP}
    ours = of_data(runs(record, OURS, **filtered), filter=FILTERS.load("gnnbp").version)
    apart = [record(seed=seed, metrics={"acc": 0.6}, epochs=0, **filtered) for seed in (7, 8)]
    comparison = filled([*ours, *of_data(apart, filter="0")])
    gain = gains_of(comparison)["untrained"]
    assert (gain.settled.verdict, gain.older) == (NOT_RUN, ())
    assert "Controls of other versions" not in markdown(comparison)
