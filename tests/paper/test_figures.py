"""Figures as files and as a verb: the same bytes every time, readable, small, and never an
exception for what is missing."""

from __future__ import annotations

import itertools
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from figure_records import hard, mapped, run, together

from gclbench.cli import main
from gclbench.paper import drawing, figures
from gclbench.paper.figures import (
    FIGURES,
    MissingMatplotlib,
    UnknownFigure,
    caption,
    command,
    draw,
    find_figure,
    png,
    svg,
    write_all,
)
from gclbench.paper.sources import Collection
from gclbench.records import Record, Store

ROOT = Path(__file__).resolve().parents[2]
NML = {"name": "nml", "metric": "separable", "alpha": 0.1, "inner_steps": 3}
MMIX = {"name": "mmix", "variant": "mp", "scope": "wp", "diversity": True}


def everything() -> list[Record]:
    """Records that put something into every figure but dmat/2, or nearly."""
    records = [mapped(method="kmeans", filter=name) for name in ("none", "gnnbp")] + [
        mapped(),
        mapped(method="grace"),
    ]
    records += [
        run(
            epochs=epochs,
            metrics={"acc": 0.5 + epochs / 100, "nmi": 0.3},
            seconds={"fit": epochs + 0.1},
        )
        for epochs in (0, 9)
    ]
    records += [hard(seed, dataset=name) for seed in (0, 1) for name in ("cora", "acm")] + [
        hard(method="kmeans")
    ]
    for width in (32, 64):
        for seed in (0, 1):
            metrics = {"accuracy": 0.6 + width / 1000 + seed / 100}
            records.append(
                run(
                    "mmix_mp",
                    "classification",
                    "cora",
                    seed,
                    metrics,
                    MMIX,
                    protocol="public",
                    hidden=width,
                    subgraph_nodes=2000,
                    patience=0,
                )
            )
    records += [
        run(
            "nml_gcl",
            "classification",
            metrics={"accuracy": 0.7},
            negatives={**NML, "alpha": alpha},
        )
        for alpha in (0, 0.05)
    ]
    return records


# --- files


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("captioned", [False, True])
def test_svg_is_the_same_twice_and_has_nothing_that_changes(name: str, captioned: bool) -> None:
    collection = together(*everything())
    text = svg(FIGURES[name], collection, captioned=captioned)
    shuffled = Collection(tuple(reversed(collection.records)), collection.origin, collection.stores)
    assert svg(FIGURES[name], shuffled, captioned=captioned) == text
    assert text.startswith("<svg ") and ElementTree.fromstring(text).tag.endswith("svg")
    assert not re.search(r"\d{4}-\d{2}-\d{2}|[Mm]atplotlib v|<metadata|/home|/tmp|/work", text)
    assert ("Made from" in text or "Nothing of it" in text) == captioned


def test_png_is_the_same_twice_and_does_not_name_its_maker() -> None:
    collection = together(*everything())
    data = png(FIGURES["dmat/3"], collection)
    assert data == png(FIGURES["dmat/3"], collection) and data.startswith(b"\x89PNG")
    assert b"Software" not in data and b"atplotlib" not in data


@pytest.mark.slow
def test_the_same_svg_in_another_process_with_a_matplotlibrc_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "svg.fonttype: path\nfont.size: 20\nlines.linewidth: 9\nsvg.hashsalt: other\n"
    )
    store = Store(tmp_path / "runs")
    for record in everything():
        store.write(record)
    for folder, seed in (("one", "1"), ("two", "2")):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        environment |= {"MATPLOTLIBRC": str(tmp_path / "matplotlibrc")} if folder == "two" else {}
        code = (
            "from pathlib import Path; from gclbench.paper.sources import collect; from"
            " gclbench.paper.figures import write_all; import sys; write_all(collect(['runs']),"
            f" Path('{folder}')); assert 'torch' not in sys.modules; assert 'matplotlib.pyplot' not"
            " in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted([*(f"{name.replace('/', '-')}.svg" for name in FIGURES), "figures.md"])
    assert all(
        (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        for name in names
    )


def test_ids_of_several_figures_on_one_page_do_not_collide_and_every_reference_is_kept() -> None:
    collection = together(*everything())
    seen: set[str] = set()
    for figure in FIGURES.values():
        text = svg(figure, collection)
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert len(ids) == len(set(ids)) and not seen & set(ids)
        references = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"|aria-labelledby="([^"]+)"', text)
        assert {name for found in references for name in found if name} <= set(ids)
        seen |= set(ids)


def test_text_stays_text_and_numbers_are_short() -> None:
    text = svg(FIGURES["dmat/4"], together(*everything()))
    assert ">DMAT-i over epochs<" in text and ">percent<" in text and "<title id=" in text
    assert not re.search(r"=\"[^\"]*\d\.\d{3,}", text)


@pytest.mark.parametrize("name", FIGURES)
def test_title_and_caption_fit(name: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    made = draw(FIGURES[name], Collection(), captioned=True)
    FigureCanvasAgg(made)
    width = made.bbox.width
    assert made.texts and all(text.get_window_extent().x1 < width for text in made.texts), [
        text.get_text() for text in made.texts
    ]
    tops = sorted((text.get_window_extent().y0, text.get_window_extent().y1) for text in made.texts)
    assert all(lower[1] < upper[0] + 2 for lower, upper in itertools.pairwise(tops)), (
        "lines do not overlap"
    )


def test_a_map_of_three_thousand_nodes_is_small_and_has_a_dot_for_each() -> None:
    numbers = [((37 * k) % 997) / 10 for k in range(3000)]
    record = mapped(
        x=numbers,
        y=[100 - value * math.sin(k) for k, value in enumerate(numbers)],
        classes=[k % 10 for k in range(3000)],
    )
    text = svg(FIGURES["dmat/3"], together(record))
    assert len(text) < 100_000 and len(re.findall(r"M-?[\d.]+ -?[\d.]+h0", text)) == 3000
    colours = set(re.findall(r"stroke: (#[0-9a-f]{6})", text.split("axes_3")[1]))
    assert len(colours) >= 10, "one colour per class"
    assert all(f">{number}<" in text for number in range(10)), (
        "numbers tell the classes apart in grey"
    )


def test_lines_differ_in_colour_marker_and_style() -> None:
    drawn = draw(FIGURES["dmat/4"], together(*everything())).axes[0].get_lines()
    looks = [
        (line.get_color(), line.get_marker(), line.get_linestyle())
        for line in drawn
        if line.get_marker() != "None"
    ]
    assert (
        len({look[0] for look in looks})
        == len({look[1] for look in looks})
        == len({look[2] for look in looks})
        == 2
    )


def test_panels_to_be_compared_have_the_same_axis() -> None:
    records = everything()
    for record in records:
        if record.name("method") == "mmix_mp" and record.seed == 1:
            record.spec["negatives"] = {**MMIX, "diversity": False}
            record.metrics["accuracy"] -= 0.4
    without, with_diversity = draw(FIGURES["mmix/2"], together(*records)).axes
    assert (
        without.get_lines()[0].get_ydata().max() < with_diversity.get_lines()[0].get_ydata().min()
    )
    assert without.get_ylim() == with_diversity.get_ylim()


def test_a_narrow_logarithmic_axis_has_more_numbers_than_one() -> None:
    axes = draw(FIGURES["dmat/5"], Collection()).axes[0]
    assert {"1", "2", "5", "10", "20"} <= {label.get_text() for label in axes.get_yticklabels()}


def test_write_all_and_its_captions(tmp_path: Path) -> None:
    collection = together(*everything())
    paths = write_all(collection, tmp_path / "new" / "folder")
    assert [path.name for path in paths][-1] == "figures.md" and all(
        path.stat().st_size < 300_000 for path in paths
    )
    text = paths[-1].read_text(encoding="utf-8")
    for figure in FIGURES.values():
        assert f"## {figure.id}\n" in text and caption(figure, collection) in text
        assert all(line in text for line in command(figure))
        assert f"]({figure.id.replace('/', '-')}.svg)" in text


# --- what is missing or broken


@pytest.mark.parametrize("name", FIGURES)
def test_without_records_every_panel_says_not_run(name: str) -> None:
    text = svg(FIGURES[name], Collection())
    assert text.count(">not run<") == len(figures.content(FIGURES[name], Collection()).panels) - (
        name == "dmat/5"
    )
    if name != "dmat/5":  # the printed quartiles are there all the same
        assert (
            f"Nothing of it: not run. `gclbench figure {name} --command` prints what would make it."
            in caption(FIGURES[name], Collection())
        )


@pytest.mark.parametrize(
    "record", everything(), ids=lambda record: f"{record.name('method')}-{record.name('task')}"
)
def test_one_run_alone_is_drawn(record: Record) -> None:
    """Where it puts something into a figure. Figures of nothing are drawn above."""
    alone, nothing = together(record), Collection()
    changed = [
        figure
        for figure in FIGURES.values()
        if repr(figures.content(figure, alone)) != repr(figures.content(figure, nothing))
    ]
    assert changed
    for figure in changed:
        ElementTree.fromstring(svg(figure, alone, captioned=True))


def test_nan_statuses_and_empty_records_raise_nothing() -> None:
    broken = []
    for number, record in enumerate(everything()):
        match number % 4:
            case 0:
                record.metrics = dict.fromkeys(record.metrics, math.nan)
            case 1:
                record.metrics = {}
            case 2:
                record.status, record.metrics, record.data = "oom", {}, {}
            case _:
                record.seconds, record.data = (
                    {"fit": math.nan},
                    {"x": [math.inf] * 3, "y": [0.0] * 3, "classes": [0] * 3},
                )
        broken.append(record)
    for figure in FIGURES.values():
        ElementTree.fromstring(svg(figure, together(*broken), captioned=True))


def test_shares_that_are_negative_are_drawn_without_a_warning() -> None:
    record = hard(0)
    record.metrics.update(dict.fromkeys(record.metrics, -1.0))
    ElementTree.fromstring(svg(FIGURES["dmat/6"], together(record)))


def test_text_of_records_cannot_break_the_svg() -> None:
    records = [hard(dataset="<b>&amp;"), mapped(commit="</text><script>")]
    for figure in FIGURES.values():
        text = svg(
            figure,
            together(*records),
            ("<b>&amp;",) if not figure.of_one_dataset else (),
            captioned=True,
        )
        assert ElementTree.fromstring(text) is not None and "<script" not in text


def test_an_unknown_figure_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        UnknownFigure,
        match=(
            r"there is no figure 'dmat/33'. Did you mean 'dmat/3'\? Known figures: dmat/2, dmat/3"
        ),
    ):
        find_figure("dmat/33")


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [
        name
        for name in sys.modules
        if name.startswith(("matplotlib", "gclbench.paper.drawing.output"))
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delattr(drawing, "output", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        MissingMatplotlib, match=r"which is not installed; pip install 'matplotlib>=3.8'"
    ):
        svg(FIGURES["dmat/3"], Collection())
    assert caption(FIGURES["dmat/3"], Collection()) and command(FIGURES["dmat/3"])


# --- the verb


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for record in everything():
        Store(tmp_path / "runs").write(record)
    return tmp_path


def test_the_caption_names_the_command_for_the_datasets_that_were_asked_for() -> None:
    assert "`gclbench figure dmat/4 --command` prints" in figures.caption(
        FIGURES["dmat/4"], Collection()
    )
    assert "`gclbench figure dmat/4 --dataset digits --command` prints" in figures.caption(
        FIGURES["dmat/4"], Collection(), ["digits"]
    )


def test_verb_lists_and_prints_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figure"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FIGURES)
    assert all(len(line.split()) > 3 for line in lines)
    assert main(["figure", "dmat/3", "--dataset", "acm", "--command"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "gclbench method=kmeans filter=none dataset=acm task=tsne",
        "gclbench method=kmeans filter=gnnbp dataset=acm task=tsne",
        "gclbench method=dmat_i dataset=acm task=tsne",
    ]
    assert main(["figure", "dmat/3", "--command", "--output", str(tmp_path / "told")]) == 0
    assert (tmp_path / "told").read_text().count("task=tsne\n") == 3


def test_verb_writes_files_and_prints_the_caption(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figure", "dmat/3"]) == 0
    out = capsys.readouterr().out
    assert (
        out.startswith("wrote dmat-3.svg\n\n")
        and "Made from 3 runs of dmat_i, kmeans (cora; seed 0; commit abc)." in out
    )
    assert "Made from 3 runs" in (here / "dmat-3.svg").read_text()
    assert main(["figure", "dmat/4", "--runs", "runs", "--output", "new/training.png"]) == 0
    assert (here / "new" / "training.png").read_bytes().startswith(b"\x89PNG")
    assert main(["figure", "dmat/3", "--dataset", "acm", "--output", "acm.svg"]) == 0
    assert (here / "acm.svg").read_text().count(">not run<") == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dmat/9"], "there is no figure 'dmat/9'"),
        (["dmat/3", "--dataset", "coral"], "there is no dataset 'coral'. Did you mean 'cora'?"),
        (
            ["dmat/3", "--dataset", "cora", "acm"],
            "figure dmat/3 shows one dataset, and 2 were named; give one --dataset",
        ),
        (["dmat/2", "--dataset", "cora"], "figure dmat/2 shows rmat only; leave --dataset out"),
        (["dmat/3", "--output", "map.jpg"], "a figure is written as .svg or .png, not '.jpg'"),
        (["dmat/3", "--output", "map"], "a figure is written as .svg or .png, not 'map'"),
        (["dmat/3", "--runs", "nowhere"], "there is no folder 'nowhere'"),
        (["dmat/3", "--output", "file/x.svg"], "cannot write file/x.svg: "),
    ],
)
def test_verb_says_what_is_wrong(
    here: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "file").write_text("")

    assert main(["figure", *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(here.glob("*.svg"))
