"""Filtered features on disk: found again, damage seen and repaired, never half an entry."""

from __future__ import annotations

import json
import logging
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

from gclbench.filters import cache
from gclbench.filters.cache import cached, uncached
from gclbench.filters.filtered import Filtered
from gclbench.graph import Graph, make_graph
from gclbench.machine.limits import TimeLimit
from gclbench.machine.memory_map import create

SETTINGS = {"name": "doubling", "version": "1", "alpha": 0.1}


@dataclass
class Doubling:
    calls: list[str] = field(default_factory=list)

    def apply(self, graph, device="cpu", folder=None):
        self.calls.append(graph.name)
        return Filtered(graph.x * 2, {"solver": "doubling", "error_bound": 1e-6})


@pytest.fixture
def graph() -> Graph:
    return make_graph(
        torch.arange(12.0).reshape(4, 3),
        torch.tensor([[0, 1], [1, 2]]),
        None,
        "toy",
        undirected=True,
    )


def entry(folder: Path) -> tuple[Path, Path]:
    (features,) = folder.glob("*.npy")
    (sidecar,) = folder.glob("*.json")
    return features, sidecar


def test_the_second_time_comes_from_disk(graph, tmp_path, caplog):
    doubling = Doubling()
    first, hit = cached(doubling, SETTINGS, graph, tmp_path / "new" / "folder")
    assert not hit
    second, hit = cached(doubling, SETTINGS, graph, tmp_path / "new" / "folder")
    assert hit
    assert doubling.calls == ["toy"]
    assert torch.equal(first.x, second.x)
    assert second.x.dtype == torch.float32
    assert second.report == first.report == {"solver": "doubling", "error_bound": 1e-6}
    assert not caplog.records
    assert sorted(path.suffix for path in (tmp_path / "new" / "folder").iterdir()) == [
        ".json",
        ".npy",
    ]


def test_what_makes_the_key(graph, tmp_path):
    doubling = Doubling()
    cached(doubling, SETTINGS, graph, tmp_path)
    assert cached(doubling, dict(reversed(SETTINGS.items())), graph, tmp_path)[1], (
        "the order of settings is no setting"
    )
    renamed = make_graph(graph.x, graph.edge_index, None, "another name", undirected=True)
    assert cached(doubling, SETTINGS, renamed, tmp_path)[1], "the key is the content, not the name"
    other_x = make_graph(graph.x + 1, graph.edge_index, None, "toy", undirected=True)
    other_edges = make_graph(graph.x, torch.tensor([[0], [3]]), None, "toy", undirected=True)
    for settings, where in (
        ({**SETTINGS, "alpha": 0.2}, graph),
        ({**SETTINGS, "version": "2"}, graph),
        (SETTINGS, other_x),
        (SETTINGS, other_edges),
    ):
        assert not cached(doubling, settings, where, tmp_path)[1]
    assert len(list(tmp_path.glob("*.npy"))) == 5


def test_what_a_gpu_has_computed_is_not_the_cpus(graph, tmp_path):
    """Their sums differ in the last bits, and a run must not depend on which came first."""
    doubling = Doubling()
    cached(doubling, SETTINGS, graph, tmp_path, "cuda:0")
    assert cached(doubling, SETTINGS, graph, tmp_path, "cuda:1")[1]
    assert not cached(doubling, SETTINGS, graph, tmp_path, "cpu")[1]
    assert cached(doubling, SETTINGS, graph, tmp_path)[1]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 0x10
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def not_utf8(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00garbage")


def a_list(path: Path) -> None:
    path.write_text("[1, 2]")


def no_report(path: Path) -> None:
    facts = json.loads(path.read_text())
    del facts["report"]
    path.write_text(json.dumps(facts))


def a_zip(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + bytes(40))


def other_shape(path: Path) -> None:
    np.save(path, np.load(path).reshape(3, 4))


@pytest.mark.parametrize(
    ("which", "damage"),
    [(0, flip), (0, truncate), (0, empty), (0, not_utf8), (0, a_zip), (0, other_shape)]
    + [(1, truncate), (1, empty), (1, not_utf8), (1, a_list), (1, no_report)],
)
def test_damage_is_reported_and_repaired(graph, tmp_path, caplog, which, damage):
    doubling = Doubling()
    wanted, _ = cached(doubling, SETTINGS, graph, tmp_path)
    damage(entry(tmp_path)[which])
    with caplog.at_level(logging.WARNING):
        found, hit = cached(doubling, SETTINGS, graph, tmp_path)
    assert not hit
    assert torch.equal(found.x, wanted.x)
    assert len(caplog.records) == 1
    assert f"{entry(tmp_path)[0]} are damaged" in caplog.text
    assert "filtering again" in caplog.text
    caplog.clear()
    found, hit = cached(doubling, SETTINGS, graph, tmp_path)
    assert hit
    assert torch.equal(found.x, wanted.x)
    assert not caplog.records


def test_a_time_limit_is_not_taken_for_damage(graph, tmp_path, monkeypatch):
    doubling = Doubling()
    cached(doubling, SETTINGS, graph, tmp_path)

    def late(array):
        monkeypatch.undo()  # an alarm rings once
        raise TimeLimit("late")

    monkeypatch.setattr("gclbench.filters.cache._sha256", late)
    with pytest.raises(TimeLimit, match="late"):
        cached(doubling, SETTINGS, graph, tmp_path)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_damaged_header_ends_a_run_or_passes_for_whole(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: None
    )  # slow, and no power failure is being tested
    doubling = Doubling()
    wanted, _ = cached(doubling, SETTINGS, graph, tmp_path)
    features, _ = entry(tmp_path)
    whole = features.read_bytes()
    chance = random.Random(0)
    for _ in range(100):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 2, 5))):
            content[chance.randrange(len(whole))] = chance.randrange(256)
        features.write_bytes(content)
        found, _ = cached(doubling, SETTINGS, graph, tmp_path)
        assert torch.equal(found.x, wanted.x)


@pytest.mark.parametrize("missing", [0, 1])
def test_half_an_entry_is_none(graph, tmp_path, missing):
    doubling = Doubling()
    cached(doubling, SETTINGS, graph, tmp_path)
    entry(tmp_path)[missing].unlink()
    assert not cached(doubling, SETTINGS, graph, tmp_path)[1]
    assert cached(doubling, SETTINGS, graph, tmp_path)[1]


def test_a_folder_that_cannot_be_made_costs_only_the_cache(graph, tmp_path, caplog):
    file = tmp_path / "file"
    file.write_text("not a folder")
    with caplog.at_level(logging.WARNING):
        found, hit = cached(Doubling(), SETTINGS, graph, file / "cache")
    assert not hit
    assert torch.equal(found.x, graph.x * 2)
    assert len(caplog.records) == 1
    assert "filtered features are not kept" in caplog.text
    assert "GCLBENCH_DATA sets the cache folder" in caplog.text
    assert file.read_text() == "not a folder"


@pytest.mark.parametrize("survivors", [0, 1])
def test_an_interrupted_write_leaves_no_entry(graph, tmp_path, monkeypatch, survivors):
    """Ctrl-C before the first or between the two renames: the next run filters again, without a
    word of damage."""
    replace, done = os.replace, []

    def interrupted(source, target):
        if len(done) == survivors:
            raise KeyboardInterrupt
        done.append(target)
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cached(Doubling(), SETTINGS, graph, tmp_path)
    monkeypatch.undo()
    assert not list(tmp_path.glob("*.json"))
    assert not list(tmp_path.glob(".*")), "no temporary file"
    found, hit = cached(Doubling(), SETTINGS, graph, tmp_path)
    assert not hit
    assert cached(Doubling(), SETTINGS, graph, tmp_path)[1]


def test_features_that_are_not_contiguous(graph, tmp_path):
    class Transposing:
        def apply(self, graph, device="cpu", folder=None):
            return Filtered(graph.x.T.contiguous().T)

    first, _ = cached(Transposing(), SETTINGS, graph, tmp_path)
    second, hit = cached(Transposing(), SETTINGS, graph, tmp_path)
    assert hit
    assert torch.equal(first.x, second.x)
    assert cache._sha256(first.x.numpy()) == cache._sha256(np.ascontiguousarray(first.x.numpy()))


@dataclass
class Mapping:
    """A filter whose result is a file, as that of a large graph."""

    asked: list[tuple[str, Path]] = field(default_factory=list)

    def apply(self, graph, device="cpu", folder=None):
        self.asked.append((device, folder))
        x, file = create(*graph.x.shape, folder, "the features")
        x.copy_(graph.x * 2)
        return Filtered(x, {"solver": "mapping"}, file)


@pytest.mark.parametrize("component", [Doubling, Mapping])
def test_a_full_disk_costs_only_the_cache_and_leaves_nothing(
    graph, tmp_path, caplog, monkeypatch, component
):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with caplog.at_level(logging.WARNING):
        found, _ = cached(component(), SETTINGS, graph, tmp_path)
    assert torch.equal(found.x, graph.x * 2)
    assert "No space left on device" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_what_killed_writers_left_goes_with_the_next_entry(graph, tmp_path):
    left = tmp_path / f".entry.npy.{'a' * 32}.tmp"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    cached(Doubling(), SETTINGS, graph, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(entry(tmp_path))


def test_a_mapped_result_becomes_the_entry_without_a_copy(graph, tmp_path):
    mapping = Mapping()
    first, hit = cached(mapping, SETTINGS, graph, tmp_path, "cuda:1")
    assert not hit
    assert mapping.asked == [("cuda:1", tmp_path)]
    features, _ = entry(tmp_path)
    assert first.file is None
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".npy"]
    first.x[0, 0] = 77.0
    assert float(np.load(features)[0, 0]) == 77.0, "it is the very file"
    first.x[0, 0] = 0.0
    second, hit = cached(mapping, SETTINGS, graph, tmp_path, "cuda:1")
    assert hit
    assert torch.equal(second.x, graph.x * 2)


def test_a_large_entry_is_mapped_checked_and_never_written_to(graph, tmp_path, monkeypatch, caplog):
    cached(Doubling(), SETTINGS, graph, tmp_path)
    monkeypatch.setattr(cache, "available_memory", lambda: 0)
    found, hit = cached(Doubling(), SETTINGS, graph, tmp_path)
    assert hit
    found.x.fill_(5.0)
    assert torch.equal(cached(Doubling(), SETTINGS, graph, tmp_path)[0].x, graph.x * 2)
    flip(entry(tmp_path)[0])
    repaired, hit = cached(Doubling(), SETTINGS, graph, tmp_path)
    assert not hit and torch.equal(repaired.x, graph.x * 2)
    assert "are damaged" in caplog.text


def test_a_mapped_result_that_cannot_be_kept_leaves_no_file(graph, tmp_path, monkeypatch, caplog):
    def refused(*_):
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refused)
    found, _ = cached(Mapping(), SETTINGS, graph, tmp_path)
    assert torch.equal(found.x, graph.x * 2)
    assert list(tmp_path.iterdir()) == []
    assert "are not kept" in caplog.text


def test_an_uncached_mapped_result_leaves_no_file(graph, tmp_path):
    found = uncached(Mapping(), graph, tmp_path, "cpu")
    assert torch.equal(found.x, graph.x * 2)
    assert (found.file, found.report) == (None, {"solver": "mapping"})
    assert list(tmp_path.iterdir()) == []


def test_a_mapped_result_whose_file_is_gone_is_still_a_result(graph, tmp_path):
    class Swept(Mapping):
        """Somebody swept the file away while it was in use; the map itself stays readable."""

        def apply(self, graph, device="cpu", folder=None):
            made = super().apply(graph, device, folder)
            made.file.unlink()
            return made

    assert torch.equal(uncached(Swept(), graph, tmp_path).x, graph.x * 2)
    assert torch.equal(cached(Swept(), SETTINGS, graph, tmp_path)[0].x, graph.x * 2), (
        "it costs the cache alone"
    )


@pytest.mark.parametrize("what", ["instructions", "versions"])
def test_what_other_instructions_or_libraries_computed_is_not_taken(
    what: str, graph, tmp_path, monkeypatch
):
    doubling = Doubling()
    cached(doubling, SETTINGS, graph, tmp_path)
    other = "AVX-1" if what == "instructions" else {**cache.versions(), "torch": "1.0"}
    monkeypatch.setattr(cache, what, lambda: other)
    assert not cached(doubling, SETTINGS, graph, tmp_path)[1]
    assert cached(doubling, SETTINGS, graph, tmp_path)[1]
    assert len(doubling.calls) == 2
