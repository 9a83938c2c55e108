from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from gclbench.paper.run_summary import closing_table, print_closing_table, row

SEEN = (
    "‡ settings chosen after these labels had been seen (docs/choices.md):"
    " DMAT-i: activation and self-loops; DMAT-i: biases"
)
"""What stands under cora's numbers of DMAT-i."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_text(record) -> None:
    runs = [
        record(seed=seed, metrics={"acc": 0.70 + 0.01 * seed, "inertia": 12.0}) for seed in range(2)
    ]
    file = io.StringIO()
    print_closing_table(runs, file)
    heading, line, units, fitted = file.getvalue().splitlines()
    assert (
        " ".join(heading.split())
        == "dataset method task metric ours (n) paper difference printed in"
    )
    assert (
        " ".join(line.split())
        == "cora dmat_i clustering acc 70.50 ± 0.71 (2) 70.57 ± 1.28 -0.07 dmat Table 1"
    )
    assert heading.index("printed in") == line.index("dmat Table 1")
    assert units == "in percent, mean ± standard deviation over n seeds"
    assert fitted == f"dmat_i · cora · clustering: {SEEN}"


def test_what_is_no_percentage_is_named(record) -> None:
    run = record(task="contrast", metrics={"mix_self": 0.0718, "mix_entropy": 2.66, "tau0_q1": 1.2})
    table = closing_table([run])
    assert row(table.entries[-1])[-4:] == ("1.20 (1)", "1.06", "+0.14", "dmat Table 5")
    assert [row(entry)[4] for entry in table.entries] == [
        "7.18 (1)",
        "2.66 (1)",
        "1.20 (1)",
    ]
    assert (
        "in percent, mean ± standard deviation over n seeds; mix_entropy, tau0_q1: no percentages\n"
        in table.plain()
    )


def test_numbers_of_another_quantity_have_no_difference(record) -> None:
    table = closing_table(
        [
            record(
                method="siamese",
                dataset="coil_del",
                task="similarity",
                task_settings={"protocol": "honest", "triplets": 1000},
                metrics={"pair_auc_n10": 0.67},
            )
        ]
    )
    assert row(table.entries[0])[-4:] == ("67.00 (1)", "83.2 ± 1.1", "", "mmix Table 10")
    assert table.notes == (
        "siamese · coil_del · similarity: no difference is shown, because the paper's numbers are"
        " of another quantity; `gclbench table mmix/10` says what they are",
    )


def test_a_failed_run_tells_where_its_traceback_is(record) -> None:
    run = replace(record(status="failed", reason="TypeError: no"), traceback="Traceback …")
    assert closing_table([run]).troubles == (
        (
            "failed ×1: dmat_i · cora · clustering · seed 0: TypeError: no (the traceback:"
            f" gclbench show {run.id})"
        ),
    )


def test_a_run_no_paper_has(record) -> None:
    file = io.StringIO()
    print_closing_table([record(dataset="digits", metrics={"acc": 0.5})], file)
    assert (
        " ".join(file.getvalue().splitlines()[1].split())
        == "digits dmat_i clustering acc 50.00 (1)"
    )


def test_troubles_are_listed_with_seeds_and_reason(record) -> None:
    runs = [
        record(seed=0),
        record(seed=1, status="diverged", reason="the loss is nan"),
        record(seed=2, status="diverged", reason="the loss is nan"),
        record(task="link_prediction", status="oom", reason="out of memory"),
    ]
    table = closing_table(runs)
    assert table.entries[0].ours.show(100) == "70.00 (1; diverged ×2)"
    assert table.troubles == (
        "diverged ×2: dmat_i · cora · clustering · seeds 1, 2: the loss is nan",
        "oom ×1: dmat_i · cora · link_prediction · seed 0: out of memory",
    )
    assert table.plain().endswith(
        "seed 0: out of memory\nin percent, mean ± standard deviation over n seeds\n"
        f"dmat_i · cora · clustering: {SEEN}\n"
    )


def test_only_troubles(record) -> None:
    table = closing_table([record(status="unsupported", reason="needs labels")])
    assert table.plain() == "unsupported ×1: dmat_i · cora · clustering · seed 0: needs labels\n"


def test_settings_are_named_not_averaged(record) -> None:
    table = closing_table([record(metrics={"acc": 0.5}), record(epochs=3, metrics={"acc": 0.6})])
    shown = {entry.column: entry.ours.values for entry in table.entries}
    assert shown == {"dmat_i [method.epochs=300]": {0: 0.5}, "dmat_i [method.epochs=3]": {0: 0.6}}
    assert table.notes == (
        f"dmat_i [method.epochs=300] · cora · clustering: {SEEN}",
        "dmat_i [method.epochs=3] · cora: not the paper's settings: method.epochs=3 (paper: 300)",
        f"dmat_i [method.epochs=3] · cora · clustering: {SEEN}",
    )


def test_another_strategy_is_named_and_its_version_is_not(record) -> None:
    runs = [record("grace", negatives=name, metrics={"acc": 0.5}) for name in ("uniform", "phases")]
    for run, version in zip(runs, ("1", "2"), strict=True):
        run.spec["versions"]["negatives"] = version
    both = {entry.column for entry in closing_table(runs).entries}
    assert both == {"grace [negatives.name=uniform]", "grace [negatives.name=phases]"}
    for run, shown in zip(runs, ("grace", "grace [negatives.name=phases]"), strict=True):
        assert {entry.column for entry in closing_table([run]).entries} == {shown}
    for strategy, shown in (("phases", "phases"), ("uniform", "phases [negatives.name=uniform]")):
        run = record("phases", negatives=strategy, metrics={"acc": 0.5})
        assert {entry.column for entry in closing_table([run]).entries} == {shown}


def test_what_no_paper_states_is_not_called_the_papers(record) -> None:
    run = record(
        "phases",
        negatives="phases",
        epochs=3,
        metrics={"accuracy": 0.5},
        task="classification",
        task_settings={"protocol": "public"},
    )
    assert any(
        note == "phases · cora: not the shipped settings: method.epochs=3 (shipped: 100)"
        for note in closing_table([run]).notes
    )


def test_rich_on_a_terminal(record, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")  # rich takes it to be 80 columns wide, without colours
    file = Terminal()
    print_closing_table(
        [record(), record(seed=1, status="failed", reason="[bold] is no markup")], file
    )
    text = file.getvalue()
    assert (
        "70.00 (1; failed ×1)" in text and "70.57 ± 1.28" in text and "[bold] is no markup" in text
    )


def test_a_grid_per_dataset_method_and_task(record) -> None:
    file = io.StringIO()
    closing_table([record(metrics={"acc": 0.5, "nmi": 0.4}), record(dataset="acm")]).show(
        Console(file=file, width=80)
    )
    titles = [
        line.strip()
        for line in file.getvalue().splitlines()
        if "·" in line and "‡" not in line and "paper's" not in line
    ]
    assert titles == ["cora · dmat_i · clustering", "acm · dmat_i · clustering"], "in their order"
    assert "nmi" in file.getvalue()


def test_the_analyses_of_negatives_are_not_all_percent(record) -> None:
    table = closing_table(
        [
            record(
                task="contrast",
                metrics={"tau0_median": 2.32, "weight_auc": 0.61, "hardness_01": 0.2},
            )
        ]
    )
    assert {entry.metric: row(entry)[4] for entry in table.entries} == {
        "weight_auc": "61.00 (1)",
        "tau0_median": "2.32 (1)",
    }


def test_trainings_that_spread_nothing_are_told(record) -> None:
    def ended(task: str, seed: int, cosine: float, iterations: int = 200):
        made = record(
            method="grace",
            task=task,
            seed=seed,
            metrics={"auc": 0.2} if task == "link_prediction" else {"acc": 0.6},
        )
        return replace(made, fit={"iterations": iterations, "mean_cosine": cosine})

    shared = [
        ended(task, seed, (0.9996, 0.991, 0.989)[seed])
        for task in ("clustering", "classification")
        for seed in (0, 1, 2)
    ]
    apart = [ended("link_prediction", 0, 0.9999)]
    assert closing_table([*shared, *apart]).notes[-2:] == (
        (
            "grace · cora · clustering, classification · seeds 0, 1: after training all nodes point"
            " one way (mean cosine 0.9910): too few steps, or collapsed"
        ),
        (
            "grace · cora · link_prediction · seed 0: after training all nodes point one way"
            " (mean cosine 0.9999): too few steps, or collapsed"
        ),
    )
    for silent in (ended("clustering", 0, 1.0, iterations=0), record(method="grace")):
        assert not [note for note in closing_table([silent]).notes if "one way" in note], (
            "no training, or not measured"
        )


def test_of_a_run_that_failed_it_is_not_told_where_its_training_points(record) -> None:
    cosine = {"iterations": 200, "mean_cosine": 0.9999}
    runs = [
        replace(record(method="grace", seed=seed, status=status), fit=cosine)
        for seed, status in enumerate(("ok", "failed"))
    ]
    (note,) = (note for note in closing_table(runs).notes if "one way" in note)
    assert note.startswith("grace · cora · clustering · seed 0: ")


def test_a_collection_has_graphs_that_point_one_way(record) -> None:
    made = record(
        method="graphcl",
        dataset="mutag",
        task="graph_clustering",
        metrics={"acc": 0.6},
    )
    notes = closing_table([replace(made, fit={"iterations": 9, "mean_cosine": 0.999})]).notes
    assert notes[-1] == (
        "graphcl · mutag · graph_clustering · seed 0: after training all graphs point one way (mean"
        " cosine 0.9990): too few steps, or collapsed"
    )


def test_what_a_strategy_remarks_on_its_trainings_is_told_once_with_all_its_seeds(record) -> None:
    def ended(task: str, seed: int, remarks: object):
        metrics = {"acc": 0.6, "accuracy": 0.6, "auc": 0.6}
        return replace(
            record(method="augcl", negatives="augcl", task=task, seed=seed, metrics=metrics),
            fit={"iterations": 9, "remarks": remarks},
        )

    runs = [
        ended(task, seed, ["noise"] * (seed != 1))
        for task in ("clustering", "classification")
        for seed in (0, 1, 2)
    ]
    alone = ended("link_prediction", 5, ["noise"])
    damaged = [ended("clustering", 6, remarks) for remarks in (3, "noise", [None])]
    notes = closing_table([*runs, alone, *damaged]).notes
    assert [note for note in notes if "noise" in note] == ["augcl · cora · seeds 0, 2, 5: noise"]


def test_settings_of_the_printed_number_are_told(record) -> None:
    def links(name: str, **settings: object) -> tuple[str, ...]:
        filter = (
            {"name": "laplacian", "order": settings.pop("order")}
            if "order" in settings
            else settings.pop("filter", "none")
        )
        return closing_table(
            [
                record(
                    method=name,
                    task="link_prediction",
                    filter=filter,
                    metrics={"auc": 0.9},
                    **settings,
                )
            ]
        ).notes

    assert links("ssgc", output="projected") == (
        (
            "ssgc · cora · link_prediction: the number printed in dmat Table 3 is for"
            " method=kmeans filter=ssgc filter.order=16 filter.alpha=0.05 filter.self_loops=True"
            " filter.normalize_features=False"
        ),
    )
    elsewhere = links("ssgc", dataset="coauthor_cs", output="projected")
    assert elsewhere[0].endswith(" filter.normalize_features=True"), "the column's form there"
    assert links("dmat_i", filter=None) == (
        f"dmat_i · cora · link_prediction: {SEEN}",
        (
            "dmat_i · cora · link_prediction: the number printed in dmat Table 3 is for"
            " method.epochs=2000 method.epoch_by=validation"
        ),
    )
    clustering = {"order": 8, "upper_start": 0.011, "lower_start": 0.1, "lower_end": 0.5}
    assert links("age", **clustering) == (
        (
            "age · cora · link_prediction: the number printed in dmat Table 3 is for "
            "filter.order=1 method.upper_start=0.0011 method.epoch_by=validation"
        ),
    )
    script = {**clustering, "order": 1, "upper_start": 0.0011}
    assert links("age", **script) == (
        (
            "age · cora · link_prediction: the number printed in dmat Table 3 is for"
            " method.epoch_by=validation"
        ),
    )
    assert not [
        note for note in links("age", **script, epoch_by="validation") if "printed in" in note
    ], "it is this run's"


def test_a_setting_that_no_override_names_is_not_told(record) -> None:
    # The untrained encoder is a control of ours: the table asks for any number of epochs but its
    # own.
    assert closing_table([record(epochs=0, metrics={"acc": 0.6})]).notes == (
        f"dmat_i · cora · clustering: {SEEN}",
    )
    assert not closing_table(
        [record(dataset="digits", method="ssgc", output="projected", metrics={"acc": 0.6})]
    ).notes
    told = closing_table([record(method="kmeans", filter="gnnbp", metrics={"acc": 0.6})]).notes
    assert told == (
        "kmeans · cora · clustering: the number printed in dmat Table 1 is for filter=none",
    )
