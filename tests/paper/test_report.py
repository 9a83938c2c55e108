"""The report as text: what is in it, what is escaped, the same bytes twice, bad input."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from report_reading import Reading, words

from gclbench.paper import figures, report
from gclbench.paper.comparison import compare
from gclbench.paper.report import drawings
from gclbench.paper.sources import Collection, collect
from gclbench.paper.summary import summary
from gclbench.paper.tables import NOT_BUILT, TABLES
from gclbench.records import Record

Make = Callable[..., Record]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> & \"quoted\" 'too' \x00\x1b[31m"


def of(*records: Record) -> Collection:
    return Collection(tuple(records), {record.id: "runs" for record in records}, ("runs",))


def article(document: str, anchor: str) -> str:
    """The page with an id."""
    found = re.search(rf'<article[^>]*id="{re.escape(anchor)}".*?</article>', document, re.DOTALL)
    assert found, anchor
    return found[0]


@pytest.fixture(autouse=True)
def few_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes most of the time: only tests of the figures have them."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(drawings, "FIGURES", {})


@pytest.fixture
def runs(record: Make) -> Collection:
    first = [
        record(seed=seed, metrics={"acc": 0.7 + 0.01 * seed, "nmi": 0.55}) for seed in range(3)
    ]
    for seed, item in enumerate(first):
        item.seconds = {"load": 0.5, "fit": 10.0 + seed, "evaluate": 0.25}
        item.memory = {"rss_peak": 600 << 20}
        item.device = "a processor"
        item.shared = ["load", "fit"]
        item.environment = {"python": "3.11", "commit": "abc" if seed else "def"}
        item.command = f"gclbench method=dmat_i dataset=cora 'seeds=[{seed}]'"
        item.repairs = ["2 self-loops dropped."]
    failed = record("kmeans", "acm", status="oom", reason="MemoryError: <b>too</b> much")
    return of(*first, failed)


def test_every_table_is_there_with_caption_and_scopes(runs: Collection) -> None:
    reading = Reading(report.page(runs))
    for name in TABLES:
        anchor = "table-" + re.sub(r"[^a-z0-9.]+", "-", name)
        assert anchor in reading.ids
        assert f"#{anchor}" in [attributes.get("href") for attributes in reading.all("a")]
    assert len(reading.all("caption")) == len(reading.all("table"))
    assert all(
        attributes.get("scope") in ("col", "row", "rowgroup") for attributes in reading.all("th")
    )


@pytest.fixture
def drawn(runs: Collection) -> str:
    """A report with its figures."""
    return report.page(runs)


def test_ids_are_unique_and_every_link_leads_somewhere(drawn: str) -> None:
    reading = Reading(drawn)
    assert not [name for name, count in Counter(reading.ids).items() if count > 1]
    targets = {str(attributes["href"]) for attributes in reading.all("a")}
    assert targets <= {f"#{name}" for name in reading.ids}
    references = set(re.findall(r"url\(#([^)]+)\)", drawn)) | {
        str(attributes["href"])[1:] for attributes in reading.all("use") if "href" in attributes
    }
    assert references, "the figures have no clip paths or markers: this test sees nothing"
    assert references <= set(reading.ids)


def test_nothing_is_loaded_from_anywhere(drawn: str) -> None:
    document = drawn
    reading = Reading(document)
    assert not {"link", "img", "iframe", "object", "embed", "base", "image"} & {
        name for name, _ in reading.elements
    }
    assert not [attributes for _, attributes in reading.elements if "src" in attributes]
    assert "@import" not in document
    assert set(re.findall(r"url\(([^)]{0,9})", document)) <= {
        "#" + name[:8] for name in reading.ids
    }
    assert "default-src 'none'" in str(
        next(item["content"] for item in reading.all("meta") if "http-equiv" in item)
    )


def test_a_page_holds_the_runs_behind_a_cell(runs: Collection) -> None:
    page = article(report.page(runs), "cell-dmat-1-cora-dmat-i")
    shown = words(page)
    assert "dmat_i on cora" in shown and "3 runs" in shown
    assert "71.00 ± 1.00 (3)" in shown and "70.57 ± 1.28" in shown and "+0.43" in shown
    for item in runs.records:
        if item.name("method") == "dmat_i":
            assert item.id in shown and f"{100 * item.metrics['acc']:.2f} 55.00" in shown
    assert "11 s 12 s 600 MiB" in shown, "training, all phases, memory of seed 1"
    assert "gclbench sweep table=dmat/1 dataset=cora method=dmat_i" in shown
    assert "gclbench method=dmat_i dataset=cora 'seeds=[0]'" in shown
    assert "abc (×2), def (×1)" in shown and "3.11" in shown and "a processor" in shown
    assert "load, fit" in shown and "2 self-loops dropped." in shown
    assert "all phases of all runs : 35 s" in shown.replace("runs 35", "runs : 35")


def test_a_page_says_what_the_tests_found_and_what_was_fitted(runs: Collection) -> None:
    document = report.page(runs)
    page = article(document, "cell-dmat-1-cora-dmat-i")
    shown = words(page)
    assert "~83 undetermined: 83 seeds would decide" in shown, "of two tests"
    assert "▲ significantly above the paper" in shown and "ari no value ×3" in shown
    assert "failed seeds" in shown
    seen = "DMAT-i: activation and self-loops; DMAT-i: biases"
    assert f"‡ Chosen after these labels had been seen: {seen}." in shown
    assert '<a href="#cell-dmat-1-cora-dmat-i">71.00 ± 1.00 (3)‡</a>' in document
    assert "‡" not in article(document, "cell-dmat-1-acm-kmeans")


def test_settings_are_written_once_as_typed(runs: Collection) -> None:
    page = article(report.page(runs), "cell-dmat-1-cora-dmat-i")
    assert page.count("method.mask_fraction") == 1
    shown = words(page)
    assert (
        "method.architecture [256,128]" in shown
        and "task.clusters null" in shown
        and "method.lr 0.0001" in shown
    )
    assert "seed" not in re.findall(r"<dt>([^<]*)</dt>", page)


def test_a_cell_without_a_value_says_why(runs: Collection) -> None:
    document = report.page(runs)
    page = article(document, "cell-dmat-1-acm-kmeans")
    assert "oom : MemoryError: <b>too</b> much" in words(page)
    row = re.search(r'<tr data-method="kmeans">.*?</tr>', document, re.DOTALL)
    assert row and "OOM ×1" in words(row[0])


def test_cells_without_runs_have_a_command_and_no_page(runs: Collection) -> None:
    document = report.page(runs)
    assert "cell-dmat-1-dblp-dmat-i" not in document
    assert "<code>gclbench sweep table=dmat/1 dataset=dblp method=deepwalk</code>" in document
    assert 'data-method="deepwalk" data-unrun>' in document


def test_summary_counts_are_those_of_the_tables(runs: Collection) -> None:
    document = report.page(runs)
    total = summary([compare(definition, runs) for definition in TABLES.values()]).total
    tiles = dict(re.findall(r"<div><dt>([a-z ]+)</dt><dd>([\d,]+)</dd></div>", document))
    assert tiles == {
        "equivalent": f"{total.equivalent:,}",
        "above": f"{total.above:,}",
        "below": f"{total.below:,}",
        "undetermined": f"{total.undetermined:,}",
        "failed seeds": f"{total.failed_seeds:,}",
        "not comparable": f"{total.not_comparable:,}",
        "not run": f"{total.not_run:,}",
    }
    assert (total.undetermined, total.above, total.failed_seeds) == (1, 1, 4 + 6)
    assert total.equivalent == total.below == 0 and total.not_run > 500


def test_figures_stand_in_it_with_captions_and_commands(drawn: str, runs: Collection) -> None:
    assert figures.FIGURES
    for figure in figures.FIGURES.values():
        part = re.search(
            rf'<figure id="figure-{re.sub("[/_]", "-", figure.id)}">.*?</figure>', drawn, re.DOTALL
        )
        assert part and figure.title in words(part[0])
        # Blanks of a caption stay blanks, and its quotes are escaped as text is.
        assert " ".join(figures.caption(figure, runs).split()) in words(part[0])
        assert all(command in words(part[0]) for command in figures.command(figure))
        empty = all(panel.empty for panel in figures.content(figure, runs).panels)
        assert ("<svg" in part[0]) != empty, "nothing is drawn of a figure without runs"
    assert "<svg" in drawn


def test_without_matplotlib_the_report_says_so_in_the_figures_place(
    runs: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object) -> str:
        raise figures.MissingMatplotlib("install it <so>")

    monkeypatch.setattr(drawings, "FIGURES", figures.FIGURES)
    monkeypatch.setattr(drawings, "svg", absent)
    document = report.page(runs)
    assert '<p class="note">install it &lt;so&gt;</p>' in document and "<svg" not in document


def test_tables_that_are_not_built_are_listed_with_why(runs: Collection) -> None:
    shown = words(
        report.page(runs)
        .partition('id="not-built"')[2]
        .partition("</section>")[0]
        .partition(">")[2]
    )
    assert NOT_BUILT
    for name, why in NOT_BUILT.items():
        assert f"{name} {why}" in shown


def test_the_matrix_has_settings_that_differ_below_each_other(record: Make) -> None:
    def run(seed: int, **settings: float) -> Record:
        task = {"protocol": "random_10_10_80"}
        return record(
            "grace",
            task="classification",
            seed=seed,
            negatives="nml",
            metrics={"accuracy": 0.8},
            task_settings=task,
            **settings,
        )

    document = report.page(of(run(0, tau=0.5), run(1, tau=0.5), run(0, tau=1.0)))
    cells = (
        "<div>80.00 ± 0.00 (2)†<small>method.<wbr>tau=<wbr>0.5</small></div>",
        "<div>80.00 (1)†<small>method.<wbr>tau=<wbr>1.0</small></div>",
    )
    assert cells[0] + cells[1] in document or cells[1] + cells[0] in document
    assert "No base method with another strategy" not in document


def test_the_matrix_without_runs_says_how_to_begin(runs: Collection) -> None:
    assert (
        "No base method with another strategy is recorded. To begin: <code>gclbench -m method=grace"
        in report.page(runs)
    )


def test_text_of_records_is_never_markup(record: Make) -> None:
    bad = record(status="failed", reason=HOSTILE, seed=1)
    bad.traceback = f"Traceback\n{HOSTILE}"
    bad.device = HOSTILE
    bad.command = HOSTILE
    bad.environment = {HOSTILE: HOSTILE, "commit": HOSTILE}
    bad.repairs = [HOSTILE]
    bad.shared = [HOSTILE]
    odd = record(
        seed=0,
        activation=HOSTILE,
        filter={"name": "gnnbp", "alpha": 0.1, "rrz": 0.4, "r_max": 1e-6, HOSTILE: [HOSTILE]},
    )
    matrix = record(
        "grace", "cora", "classification", negatives="nml", metrics={"accuracy": 0.5}, note=HOSTILE
    )
    collection = Collection((bad, odd, matrix), {}, (HOSTILE,), (HOSTILE,))
    plain = Reading(report.page(of(record())))
    reading = Reading(report.page(collection))
    assert len(reading.all("script")) == len(plain.all("script")) == 1
    assert not reading.all("img")
    assert not [
        key for _, attributes in reading.elements for key in attributes if key.startswith("on")
    ]
    assert "alert(2)" in "".join(reading.text), "it is shown, as text"
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", report.page(collection))


def test_half_a_surrogate_pair_can_be_written(record: Make, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report.write(of(record(status="failed", reason="no such file: \udcff\ud800")), path)
    assert "no such file: \ufffd\ufffd" in path.read_text(encoding="utf-8")


def test_the_same_records_give_the_same_bytes(runs: Collection) -> None:
    again = Collection(
        tuple(reversed(runs.records)), dict(reversed(list(runs.origin.items()))), runs.stores
    )
    assert report.page(runs) == report.page(runs)
    tables = re.compile(r"<article.*</article>", re.DOTALL)
    assert tables.findall(report.page(runs)) == tables.findall(report.page(again)), (
        "the order of reading does not matter"
    )


def test_columns_of_similar_names_have_pages_of_their_own(record: Make) -> None:
    """Two settings of one column, both not the paper's."""
    document = report.page(of(record("kmeans", note="a b"), record("kmeans", note="a-b")))
    titles = re.findall(
        r'<article id="(cell-dmat-1-cora-kmeans[^"]*)" class="cell">.*?<h3 tabindex="-1">([^<]*)',
        document,
        re.DOTALL,
    )
    assert len({anchor for anchor, _ in titles}) == len({title for _, title in titles}) == 2


def test_very_many_warnings_are_counted(record: Make) -> None:
    collection = Collection(
        (record(),), {}, ("runs",), tuple(f"warning {number}" for number in range(1234))
    )
    document = report.page(collection)
    assert (
        "1,234 warnings" in document
        and "and 1,134 more" in document
        and "warning 100<" not in document
    )


@pytest.mark.parametrize(("count", "folded"), [(2, False), (30, True)])
def test_many_commits_are_folded(record: Make, count: int, folded: bool) -> None:
    runs = [record(seed=seed, commit=f"abc{seed:03d}") for seed in range(count)]
    document = report.page(of(*runs))
    assert ("<summary>made by 30 commits</summary>" in document) is folded
    assert ("Commits: abc000, abc001." in document) is not folded
    assert "abc000" in document and f"abc{count - 1:03d}" in document


def test_one_run_has_no_spread_and_nan_is_no_number(record: Make) -> None:
    document = report.page(of(record(metrics={"acc": 0.7, "nmi": math.nan, "ari": math.inf})))
    shown = words(article(document, "cell-dmat-1-cora-dmat-i"))
    assert "70.00 (1)" in shown and "70.00 ±" not in shown
    assert "nmi not finite ×1" in shown and "ari not finite ×1" in shown
    assert "macro_f1 no value ×1" in shown


def test_costs_that_are_no_numbers_are_left_out(record: Make) -> None:
    item = record()
    item.seconds = {"fit": math.nan, "load": 2.0}
    item.memory = {}
    shown = words(article(report.page(of(item)), "cell-dmat-1-cora-dmat-i"))
    assert "all phases of all runs 2.0 s" in shown and "nan" not in shown.lower().replace(
        "finance", ""
    )


def test_settings_not_the_papers_are_said(record: Make) -> None:
    document = report.page(of(record(epochs=3)))
    shown = words(article(document, "cell-dmat-1-cora-dmat-i"))
    assert (
        "† cora: dmat_i was not run at the paper's settings: method.epochs=3 (paper: 300)." in shown
    )
    assert re.search(
        r'<td data-value="70"><a href="#cell-dmat-1-cora-dmat-i">70.00 \(1\)†‡</a>', document
    )


@pytest.mark.slow
def test_committed_records_make_a_report_of_reasonable_size() -> None:
    root = Path(__file__).resolve().parents[2]
    collection = collect([str(root / "results" / "records")])
    document = report.page(collection)
    assert len(collection.records) > 500
    # What 4 MB were for the 3,200 records of the first release.
    assert len(document.encode()) < 1_250 * len(collection.records)
    Reading(document)
    assert json.dumps(document)  # no text that cannot be encoded
