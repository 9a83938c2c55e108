"""Kills sweeps of short runs at random moments, again and again, and counts what was lost:
results/bench/kills.json.

python scripts/kill_test.py               200 kills
python scripts/kill_test.py --kills 10 --seed 3 --output /tmp/kills.json

A sweep is a forked process, so that most of its life falls among runs and writes and not among
imports. It is killed (SIGKILL) at a moment that is uniform over the time it would need, started
again, and killed again, until it gets to its end; then a new sweep begins in a new store. After
every kill all records are read.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from gclbench.records import Record, write_atomically

ROOT = Path(__file__).resolve().parent.parent
SEEDS = 6
TASKS = ("clustering", "classification")
SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6", "device=cpu")
COMMAND = (
    *SMALL,
    "method=dmat_i",
    "method.epochs=3",
    f"task=[{','.join(TASKS)}]",
    "task.clustering.n_init=1",
    f"seeds={SEEDS}",
    "checkpoint_every=0.001",
)
RUNS = SEEDS * len(TASKS)


@dataclass
class Count:
    """What was seen.

    Attributes:
        kills: processes that were killed while they ran. sweeps: brought to their end. runs: of
            those sweeps.
        unreadable: record files that did not hold a whole record. lost: finished runs whose record
            changed or went.
        duplicates: records beyond one per run. trainings: begun in all. recomputed: trainings begun
            again after a kill.
        most_recomputed_per_kill: as it says. wrong_numbers: runs whose metrics differ from those of
            a sweep nobody killed.
        mean_records_at_kill: how far sweeps were, so that one sees that kills did not all fall on
            one moment.
    """

    kills: int = 0
    sweeps: int = 0
    runs: int = 0
    unreadable: int = 0
    lost: int = 0
    duplicates: int = 0
    trainings: int = 0
    recomputed: int = 0
    most_recomputed_per_kill: int = 0
    wrong_numbers: int = 0
    mean_records_at_kill: float = 0.0


def fork(store: Path, begun: Path) -> int:
    """Starts the sweep in a forked process; returns its id."""
    process = os.fork()
    if process:
        return process
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        from gclbench.cli import main
        from gclbench.run import runner

        plain = runner.run

        def noted(unit, *rest):  # type: ignore[no-untyped-def]
            with open(begun, "a", encoding="utf-8") as file:
                file.write(f"{unit.title}\n")
            return plain(unit, *rest)

        runner.run = noted
        os._exit(main([*COMMAND, f"runs_dir={store}"]))
    except BaseException:
        os._exit(70)


def read(store: Path, count: Count) -> dict[str, str]:
    """Text of every record; what is not whole is counted."""
    texts = {}
    for path in store.glob("*/record.json"):
        text = path.read_text(encoding="utf-8")
        try:
            record = Record.from_json(text)
            if record.id != path.parent.name or not record.ok:
                raise ValueError
        except ValueError:
            count.unreadable += 1
            continue
        texts[record.id] = text
    return texts


def metrics(texts: dict[str, str]) -> dict[str, dict[str, float]]:
    return {run_id: json.loads(text)["metrics"] for run_id, text in texts.items()}


def whole_sweep(folder: Path) -> tuple[dict[str, dict[str, float]], float]:
    """The metrics of a sweep that nobody kills, and its seconds."""
    started = time.monotonic()
    _, status = os.waitpid(fork(folder / "whole", folder / "begun-whole"), 0)
    if status:
        sys.exit(f"the sweep does not even run when nobody kills it (status {status})")
    return metrics(read(folder / "whole", Count())), time.monotonic() - started


def test(kills: int, seed: int, folder: Path, tell: Callable[[str], None]) -> Count:
    """Kills until it is enough, then lets the last sweep end."""
    chance = random.Random(seed)
    expected, seconds = whole_sweep(folder)
    count = Count()
    at_kill: list[int] = []
    while count.kills < kills:
        store, begun = folder / f"store-{count.sweeps}", folder / f"begun-{count.sweeps}"
        begun.touch()
        earlier: dict[str, str] = {}
        ended = False
        while not ended:
            before = len(begun.read_text(encoding="utf-8").splitlines())
            process = fork(store, begun)
            wait = time.monotonic() + chance.uniform(0, seconds)
            found = 0
            while count.kills < kills and not found and time.monotonic() < wait:
                time.sleep(0.001)
                found, status = os.waitpid(process, os.WNOHANG)
            if not found and count.kills < kills:
                os.kill(process, signal.SIGKILL)
            if not found:
                _, status = os.waitpid(process, 0)
            if os.WIFEXITED(status) and os.WEXITSTATUS(status):
                sys.exit(f"a sweep ended with exit code {os.WEXITSTATUS(status)}")
            now = read(store, count)
            count.lost += sum(now.get(run_id) != text for run_id, text in earlier.items())
            earlier = now
            ended = os.WIFEXITED(status)
            if not ended:
                count.kills += 1
                at_kill.append(len(now))
            titles = begun.read_text(encoding="utf-8").splitlines()
            again = sum(
                title.partition(" · seed")[2].split()[0] in _seeds(titles[:before])
                for title in titles[before:]
            )
            count.recomputed += again
            count.most_recomputed_per_kill = max(count.most_recomputed_per_kill, again)
        count.sweeps += 1
        count.runs += RUNS
        count.trainings += len(begun.read_text(encoding="utf-8").splitlines())
        count.duplicates += max(0, len(list(store.glob("*/record.json"))) - RUNS)
        count.wrong_numbers += sum(
            metrics(earlier).get(run_id) != values for run_id, values in expected.items()
        )
        tell(
            f"{count.kills} kills, {count.sweeps} sweeps, {count.recomputed} trainings begun again"
        )
    count.mean_records_at_kill = round(sum(at_kill) / max(1, len(at_kill)), 2)
    return count


def _seeds(titles: list[str]) -> set[str]:
    return {title.partition(" · seed")[2].split()[0] for title in titles}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=ROOT / "results/bench/kills.json")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)  # a process with threads must not be forked
    import gclbench.cli.run
    import gclbench.launch.plan  # noqa: F401
    from gclbench.config.validation import experiment_of

    experiment_of([*COMMAND])
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        count = test(
            options.kills, options.seed, Path(folder), lambda text: print(text, flush=True)
        )
    facts = {
        **asdict(count),
        "runs_per_sweep": RUNS,
        "seed": options.seed,
        "seconds": round(time.monotonic() - started, 1),
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output, (json.dumps(facts, indent=2) + "\n").encode())
    print(json.dumps(facts, indent=2))
    bad = (
        count.unreadable
        or count.lost
        or count.duplicates
        or count.wrong_numbers
        or count.most_recomputed_per_kill > 1
    )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
