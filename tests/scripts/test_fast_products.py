"""The emulation of fast products, and what the scripts make of it."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import emulated_bfloat16
import equivalence
import gradient_errors
import gradient_errors_in_training
import pytest
import torch
from example_records import SPEC, record

from gclbench.component.registry import NEGATIVES
from gclbench.contrast import short_factors
from gclbench.machine import precision
from gclbench.machine.environment import device_name, instructions
from gclbench.negatives.strategy import Pair
from gclbench.records import Store
from gclbench.training.loop import Step


def test_factors_are_rounded_and_sums_are_not() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b, c = (torch.randn(8, 8, generator=generator) for _ in range(3))
    expected = a.bfloat16().double() @ b.bfloat16().double()
    with emulated_bfloat16.emulated():
        assert torch.allclose(a @ b, expected.float(), atol=1e-5)
        assert torch.allclose(torch.addmm(c, a, b), c + expected.float(), atol=1e-5)
        assert torch.equal(c.clone().addmm_(a, b), torch.addmm(c, a, b))
        out = torch.empty(8, 8)
        torch.mm(a, b, out=out)
        assert torch.equal(out, a @ b)
        wide = a.double() @ b.double()
    assert torch.equal(wide, a.double() @ b.double()), "float64 is left alone"
    assert not torch.allclose(a @ b, expected.float(), atol=1e-5)


def test_products_of_a_backward_pass_are_rounded_too() -> None:
    a, b = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4)
    with emulated_bfloat16.emulated():
        (a @ b).sum().backward()
    expected = torch.ones(4, 4) @ b.bfloat16().float().T
    assert a.grad is not None and torch.allclose(a.grad, expected, atol=1e-5)


def test_fast_is_emulated_in_the_steps_of_a_training_alone() -> None:
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    with emulated_bfloat16.fast_is_emulated():
        made = precision.resolved("fast", {"name": "dgi"}, "uniform", "cpu")
        assert made == "emulated bfloat16"
        with precision.products():
            exact = a @ b
        with precision.trained_with(made):
            assert torch.equal(a @ b, exact)
            with precision.products():
                assert not torch.equal(a @ b, exact)
    assert precision.usual("meta") == "", "the package's own again"


def test_the_gradient_of_a_contrast_is_near_at_usual_temperatures() -> None:
    row = gradient_errors.row("uniform", 0.5, nodes=48, width=16)
    assert 1e-6 < row["relative_gradient_error"] < 5e-3
    assert row["relative_loss_error"] < 1e-3
    text = gradient_errors.markdown([row], 48, 16)
    assert "| uniform |" in text and "τ = 0.5" in text


def test_the_gradient_with_fast_contrasts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: False)
    row = gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.CONTRASTS)
    assert 1e-6 < row["relative_gradient_error"] < 5e-3
    assert not short_factors.factors_for(torch.zeros(1), torch.float32), "after it nothing is"
    text = gradient_errors.markdown([row], 48, 16, gradient_errors.CONTRASTS)
    assert "Fast is bfloat16 factors of panels' products" in text

    monkeypatch.setattr(short_factors, "torch_shortens", lambda: True)
    with pytest.raises(RuntimeError, match="torch shortens all factors here"):
        gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.CONTRASTS)


def test_of_nearly_parallel_rows_only_centred_products_keep_the_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: False)
    centred, plain = (
        gradient_errors.row("uniform", 0.5, 48, 16, where, common=30.0)
        for where in (gradient_errors.CONTRASTS, gradient_errors.UNCENTRED)
    )
    assert 50 * centred["relative_gradient_error"] < plain["relative_gradient_error"]
    text = gradient_errors.markdown([centred], 48, 16, gradient_errors.CONTRASTS, common=30.0)
    assert "Rows share 30 in each column, and differ by about 1." in text
    assert centred != gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.CONTRASTS)


def test_the_gradients_of_a_training_are_compared_at_its_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: False)
    listening = gradient_errors_in_training.Listening((2,))
    u, v, _ = gradient_errors.views(48, 16, common=30.0)
    for scale in (1.0, 2.0, 3.0):
        listening.loss(Pair(scale * u, (v,), 0.5, Step(1, 3)))
    (step,) = listening.kept
    assert step == 2 and torch.equal(listening.kept[2].u, 2.0 * u)
    found = gradient_errors_in_training.row(step, listening.kept[step])
    assert found["mean_length"] > 0.99
    assert found["float32"] < found["centred"] < 0.01 < found["uncentred"]


def test_the_gradient_with_what_this_processor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "ways", lambda device: (precision.IN_CONTRASTS,))
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: False)
    row = gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.HERE)
    assert row == gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.CONTRASTS)
    text = gradient_errors.markdown([row], 48, 16, gradient_errors.HERE, "a processor: bfloat16")
    assert "is usually fast on this processor, a processor: bfloat16 (" in text
    monkeypatch.setattr(precision, "ways", lambda device: ())
    with pytest.raises(SystemExit, match="torch makes no bfloat16.*--where everywhere"):
        gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.HERE)
    with pytest.raises(SystemExit, match="needs a processor with AMX"):
        gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.FACTORS_HERE)


def test_the_gradient_with_fast_factors_in_contrasts(monkeypatch: pytest.MonkeyPatch) -> None:
    real = short_factors.matmul_precision
    monkeypatch.setattr(
        short_factors,
        "matmul_precision",
        lambda name: emulated_bfloat16.emulated() if name == "medium" else real(name),
    )
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: True)
    row = gradient_errors.row("uniform", 0.5, 48, 16, gradient_errors.FACTORS_HERE)
    assert 1e-6 < row["relative_gradient_error"] < 5e-3


def test_below_the_least_temperature_gradients_are_not_near() -> None:
    """Why `precision.LEAST_TEMPERATURE` is there."""
    row = gradient_errors.row("uniform", precision.LEAST_TEMPERATURE / 5, nodes=48, width=16)
    assert row["relative_gradient_error"] > 1e-2


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([0.0] * 10, "equivalent"),
        ([0.001, -0.001] * 5, "equivalent"),
        ([0.004] * 10, "differs"),
        ([0.004, 0.005] * 5, "differs"),
        ([0.002, 0.0021] * 5, "equivalent"),  # a difference, and a small one
        ([0.005, -0.005] * 5, "not shown; about 35 seeds would tell"),
    ],
)
def test_verdicts_on_accuracies(differences: list[float], said: str) -> None:
    exact = [0.8 + 0.01 * seed for seed in range(len(differences))]
    fast = [a + b for a, b in zip(exact, differences, strict=True)]
    found = equivalence.judged(exact, fast)
    assert equivalence.said(found) == said and found["seeds"] == 10
    assert (found["equivalent"], found["differs"]) == (said == "equivalent", said == "differs")
    assert found["mean_difference"] == pytest.approx(sum(differences) / len(differences))


def test_one_seed_tells_nothing() -> None:
    with pytest.raises(SystemExit, match="--seeds 10 is enough"):
        equivalence.judged([0.8], [0.8])


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str]]:
    """The precision, number of seeds and folder of what was run; accuracy 0.8 in float32, and
    by turns 0.5 points more and less in fast precision."""
    calls: list[tuple[str, int, str]] = []

    def accuracies(
        words: list[str], chosen: str, seeds: int | list[int], folder: str, device: str
    ) -> list[float]:
        which = list(range(seeds)) if isinstance(seeds, int) else seeds
        calls.append((chosen, len(which), Path(folder).name))
        apart = 0.005 if chosen == precision.FAST else 0.0
        return [0.8 + apart * (-1) ** seed for seed in which]

    monkeypatch.setattr(equivalence, "accuracies", accuracies)
    return calls


def test_runs_of_other_products_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ran(fast_products: str, device: str) -> None:
        environment = {"precision": precision.FAST, "fast_products": fast_products}
        found = record(environment=environment, device=device, metrics={"accuracy": 0.8})
        monkeypatch.setattr(equivalence, "execute", lambda experiment: [found])

    monkeypatch.setattr(precision, "ways", lambda device: ("bfloat16",))
    words = ["method=kmeans", "dataset=sbm", "task=classification"]
    ran("bfloat16", device_name("cpu"))
    assert equivalence.accuracies(words, precision.FAST, 1, str(tmp_path)) == [0.8]
    for products, device in (("emulated", device_name("cpu")), ("bfloat16", "another")):
        ran(products, device)
        with pytest.raises(SystemExit, match="--runs takes a folder for each"):
            equivalence.accuracies(words, precision.FAST, 1, str(tmp_path))


def test_only_the_products_that_are_asked_for_are_fast() -> None:
    grace = {"name": "grace"}
    with equivalence.one_way(precision.FACTORS_IN_CONTRASTS):
        found = precision.resolved("fast", grace, "uniform", "cpu")
        assert found == precision.usual("cpu") == precision.FACTORS_IN_CONTRASTS
    with equivalence.one_way(""):
        assert precision.resolved("fast", grace, "uniform", "cpu") == ""


def test_the_products_that_are_typed_are_those_of_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, ...]] = []

    def row(method: str, dataset: str, options: Namespace) -> dict[str, Any]:
        asked.append(precision.ways("cpu"))
        return {"method": method, "dataset": dataset, **equivalence.judged([0.8] * 10, [0.8] * 10)}

    both = (precision.EVERYWHERE, precision.FACTORS_IN_CONTRASTS)
    monkeypatch.setattr(precision, "ways", lambda device: both)
    monkeypatch.setattr(equivalence, "row", row)
    words = ["equivalence.py", "--methods", "grace", "--output", str(tmp_path / "found.json")]
    for products, expected in (((), both[:1]), (("--products", both[1]), both[1:])):
        monkeypatch.setattr("sys.argv", [*words, *products])
        equivalence.main()
        assert asked == [expected] * len(equivalence.DATASETS)
        assert json.loads((tmp_path / "found.json").read_text())["hardware"] == expected[0]
        asked.clear()
    for wrong, told in (
        (["--products", "TF32"], f"--products TF32: on cpu it can be {' or '.join(both)}"),
        (["--products", both[1], "--emulate"], "all products; leave --products out"),
    ):
        monkeypatch.setattr("sys.argv", [*words, *wrong])
        with pytest.raises(SystemExit):
            equivalence.main()
        assert told in capsys.readouterr().err
    assert not asked


def test_undecided_seeds_are_tested_once_more(ran: list[tuple[str, int, str]]) -> None:
    options = Namespace(
        device="cpu", settings=[], records=None, runs=None, emulate=False, seeds=10, most=40
    )
    found = equivalence.row("dgi", "cora", options)
    assert [(chosen, seeds) for chosen, seeds, _ in ran] == [
        *(("float32", 10), ("fast", 10)),
        *(("float32", 35), ("fast", 35)),
    ]
    assert found["looks"] == [10, 35] and len(found["fast"]) == 35
    options.most = 34
    assert equivalence.row("dgi", "cora", options)["looks"] == [10]


@pytest.mark.parametrize("accuracy", [0.8, 0.79])
def test_records_count_where_this_machine_repeats_them(
    accuracy: float,
    ran: list[tuple[str, int, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    records = [
        record(replace(SPEC, seed=seed), metrics={"accuracy": accuracy}, device=device_name("cpu"))
        for seed in range(4)
    ]
    known = Store(tmp_path / "known")
    of_another_command = record(replace(SPEC, seed=9), device=device_name("cpu"))
    for one in (*records, of_another_command):
        known.write(one)
    plan = Namespace(ids=[one.id for one in records])
    monkeypatch.setattr(equivalence, "expand", lambda experiments, store: plan)
    words = ["method=dgi", "dataset=sbm"]
    exact, taken = equivalence.exact_accuracies(words, 4, known.root, str(tmp_path / "runs"))
    assert len(exact) == 4
    copied = {one.spec["seed"] for one in Store(tmp_path / "runs" / "float32").scan()}
    assert [(chosen, seeds) for chosen, seeds, _ in ran] == [("float32", 2), ("float32", 4)]
    assert copied == {*taken} == ({2, 3} if accuracy == 0.8 else set())

    known.write(replace(records[3], device="another processor"))
    assert len(equivalence.recorded(words, 4, known.root)) == 3
    for vectors, left in ((instructions(), 3), ("NARROWER", 2)):
        environment = {**records[2].environment, "instructions": vectors}
        known.write(replace(records[2], environment=environment))
        assert len(equivalence.recorded(words, 4, known.root)) == left


def shown(
    path: Path,
    emulated: bool = False,
    settings: Any = (),
    hardware: str = "amx_bf16",
    **changes: Any,
) -> Path:
    alike = {"float32": [0.8] * 10, "fast": [0.8] * 10, "equivalent": True}
    rows = [{"method": "dgi", "dataset": name, **alike, **changes} for name in equivalence.DATASETS]
    facts = {"emulated": emulated, "hardware": hardware, "settings": settings, "rows": rows}
    path.write_text(json.dumps(facts))
    return path


def test_what_hardware_showed_is_adopted_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "list.json"
    listed.write_text('{"TF32": {"dgi": {"seeds": 12}}}')
    monkeypatch.setattr(equivalence, "LIST", listed)
    file = tmp_path / "found.json"
    assert equivalence.adopt(shown(file)) == ["dgi"]
    assert json.loads(listed.read_text())["amx_bf16"]["dgi"] == {
        "datasets": ["citeseer", "cora"],
        "negatives": "uniform",
        "seeds": 10,
        "margin": 0.003,
        "evidence": str(file),
    }
    assert equivalence.adopt(shown(file, equivalent=False)) == []
    elsewhere = {"TF32": {"dgi": {"seeds": 12}}}
    assert json.loads(listed.read_text()) == elsewhere, "other hardware keeps what it showed"
    assert equivalence.adopt(shown(file, fast=[0.8] * 9)) == []
    assert equivalence.adopt(shown(file, settings=["method.epochs=5"])) == []
    with pytest.raises(SystemExit, match="of an emulation"):
        equivalence.adopt(shown(file, emulated=True))


def test_what_has_no_contrast_is_not_shown_in_contrasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On that list it would lose the products that are fast for it."""
    listed = tmp_path / "list.json"
    listed.write_text("{}")
    monkeypatch.setattr(equivalence, "LIST", listed)
    of = {"path": tmp_path / "found.json", "hardware": precision.FACTORS_IN_CONTRASTS}
    assert equivalence.adopt(shown(**of)) == []
    assert equivalence.adopt(shown(**of, fast=[0.8] * 9 + [0.801])) == ["dgi"]


def test_files_are_merged_beside_those_of_another_processor(tmp_path: Path) -> None:
    facts = {"emulated": False, "hardware": "bfloat16", "margin": 0.003, "settings": []}

    def file(name: str, device: str, method: str, float32: list[float]) -> Path:
        row = {"method": method, "dataset": "cora", "float32": float32, "fast": [0.8, 0.901]}
        place = tmp_path / name
        of = {"device": device, "environment": {"commit": name}, "rows": [row]}
        place.write_text(json.dumps({**facts, **of}))
        return place

    first, second = file("a", "one", "dgi", [0.8, 0.9]), file("b", "one", "grace", [0.7, 0.9])
    elsewhere = file("c", "other", "dgi", [0.79, 0.88])
    found = equivalence.merged([first, second], elsewhere)["rows"]
    assert [(row["method"], row["commit"]) for row in found] == [("dgi", "a"), ("grace", "b")]
    assert [row["mean_difference"] for row in found] == pytest.approx([0.0005, 0.0505])
    assert found[0]["float32_elsewhere"]["device"] == "other"
    assert found[0]["float32_elsewhere"]["mean_difference"] == pytest.approx(0.015)
    assert "float32_elsewhere" not in found[1]
    with pytest.raises(SystemExit, match="agree in emulated, hardware, device"):
        equivalence.merged([second, elsewhere], None)
    with pytest.raises(SystemExit, match="share no row"):
        equivalence.merged([first, first], None)


@pytest.mark.parametrize("name", sorted({*NEGATIVES.names()} - {"uniform"}))
def test_a_strategy_is_at_work_where_its_gradient_errors_are_taken(name: str) -> None:
    _, plain = gradient_errors.gradient(
        "uniform", 0.5, nodes=48, width=16, fast=gradient_errors.EXACT
    )
    _, its = gradient_errors.gradient(name, 0.5, nodes=48, width=16, fast=gradient_errors.EXACT)
    assert not torch.allclose(its, plain, rtol=1e-3, atol=1e-6)
