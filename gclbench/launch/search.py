"""A search: settings sampled by Optuna, run as ordinary runs, chosen by a number that no test label
has a part in.

A study is not stored. Its samples are drawn again from its seed, and what they scored is read from
the records of their runs. So a search that was interrupted goes on when its command is repeated.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gclbench.config.space import Dimension, Space
from gclbench.config.value_text import text_of
from gclbench.records import Record, Store, digest, unwritable, write_atomically
from gclbench.records.store import StoreError

ATTEMPTS = 200
"""Draws for a setting that has not been drawn before; then the space is taken for used up."""


@dataclass
class Trial:
    """One setting that a search tries.

    Attributes:
        number: 0 is the method's own setting. settings: as on the command line, key to value.
        ids: of its runs. value: the criterion's mean over them; None where one of them has none.
        trouble: why there is no value. reason: of the run that has none, with the run's id.
    """

    number: int
    settings: dict[str, Any]
    ids: list[str] = field(default_factory=list)
    value: float | None = None
    trouble: str = ""
    reason: str = ""

    @property
    def words(self) -> list[str]:
        """Its settings as overrides."""
        return [f"{key}={text_of(value)}" for key, value in self.settings.items()]

    def read(self, records: Sequence[Record | None], criterion: str) -> None:
        """Takes the value of the criterion from the records of its runs."""
        values: list[float] = []
        for record in records:
            if record is None:
                self.trouble = "not run"
                return
            value = record.fit.get("criteria", {}).get(criterion)
            if not record.ok or not isinstance(value, (int, float)):
                self.trouble = record.status if not record.ok else f"no {criterion}"
                self.reason = f"run {record.id}: {record.reason}" if not record.ok else ""
                return
            values.append(float(value))
        if values:
            self.value, self.trouble, self.reason = statistics.fmean(values), "", ""
        else:
            self.trouble = "not run"


@dataclass
class Study:
    """The trials of one method on one dataset.

    Args:
        dataset, method: names. space: what is sampled. budget: trials in all, the method's own
            setting included.
        larger: whether a larger value of the criterion is better.
        sampler: `random`, or `tpe` (Bergstra et al. 2011), which learns from the trials before.
        seed: of the sampler.
    """

    dataset: str
    method: str
    space: Space
    budget: int
    larger: bool
    sampler: str
    seed: int
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        made = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}
        self._study = optuna.create_study(
            direction="maximize" if self.larger else "minimize",
            sampler=made[self.sampler](seed=self.seed),
        )
        self._asked: dict[int, Any] = {}
        self._exhausted = False

    @property
    def left(self) -> int:
        """Trials that may still be asked for; 0 when the space is used up."""
        return 0 if self._exhausted else self.budget - len(self.trials)

    def ask(self, count: int) -> list[Trial]:
        """The next trials, at most so many and none twice; the first of all is the method's own
        setting."""
        drawn: list[Trial] = []
        if not self.trials and count:
            drawn.append(Trial(0, {}))
            self.trials += drawn
        known = {digest(trial.settings) for trial in self.trials}
        attempts = 0
        while len(drawn) < count and len(self.trials) < self.budget:
            asked = self._study.ask()
            settings = {key: _sampled(asked, key, part) for key, part in self.space.items()}
            attempts += 1
            if digest(settings) in known:
                self._study.tell(asked, state=_failed())
                if attempts >= ATTEMPTS:
                    self._exhausted = True
                    break
                continue
            attempts = 0
            known.add(digest(settings))
            trial = Trial(len(self.trials), settings)
            self._asked[trial.number] = asked
            self.trials.append(trial)
            drawn.append(trial)
        return drawn

    def tell(self, trials: Sequence[Trial]) -> None:
        """Tells the sampler what trials came to."""
        for trial in trials:
            asked = self._asked.pop(trial.number, None)
            if asked is not None and trial.value is not None:
                self._study.tell(asked, trial.value)
            elif asked is not None:
                self._study.tell(asked, state=_failed())

    @property
    def chosen(self) -> Trial | None:
        """The trial with the best value, of equal ones the first; None where none has a value."""
        valued = [trial for trial in self.trials if trial.value is not None]
        sign = 1 if self.larger else -1
        return max(valued, key=lambda trial: sign * float(trial.value or 0.0), default=None)

    def sensitivity(self) -> dict[str, float | int | None]:
        """How much the criterion depends on the settings.

        `tried` and `valued` count trials; `own` is the value of the method's own setting; `mean`,
        `std` (ddof 1), `worst` and `best` are over the sampled settings, without that one.
        """
        sampled = [trial.value for trial in self.trials[1:] if trial.value is not None]
        ordered = sorted(sampled, reverse=not self.larger)
        return {
            "tried": len(self.trials),
            "valued": sum(trial.value is not None for trial in self.trials),
            "own": self.trials[0].value if self.trials else None,
            "mean": statistics.fmean(sampled) if sampled else None,
            "std": statistics.stdev(sampled) if len(sampled) > 1 else None,
            "worst": ordered[0] if ordered else None,
            "best": ordered[-1] if ordered else None,
        }


def save(declaration: dict[str, Any], studies: Sequence[Study], store: Store) -> str:
    """Writes what a search was and found to `search-<digest>.json` in the trials' store.

    Returns:
        the path.

    Args:
        declaration: everything that the command fixed before the first run. Its digest names the
            file, so a search that is repeated has one.

    Raises:
        StoreError: when it cannot be written.
    """
    path = store.root / f"search-{digest(declaration)[:16]}.json"
    found = [
        {
            "dataset": study.dataset,
            "method": study.method,
            "sensitivity": study.sensitivity(),
            "chosen": None if study.chosen is None else study.chosen.number,
            "trials": [asdict(trial) for trial in study.trials],
        }
        for study in studies
    ]
    text = json.dumps({**declaration, "studies": found}, indent=1, ensure_ascii=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (text + "\n").encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StoreError(error.errno, unwritable(path, error)) from error
    return str(path)


def _failed() -> Any:
    from optuna.trial import TrialState

    return TrialState.FAIL


def _sampled(asked: Any, key: str, part: Dimension) -> Any:
    """A value for a setting; numbers of a range have four significant digits."""
    if part.choices:
        # Optuna's categories are numbers or text; a list is chosen by its place.
        place = asked.suggest_categorical(key, list(range(len(part.choices))))
        return part.choices[place]
    if part.whole:
        step = 1 if part.step is None else int(part.step)
        return asked.suggest_int(key, int(part.low), int(part.high), log=part.log, step=step)
    value = asked.suggest_float(key, part.low, part.high, log=part.log, step=part.step)
    return min(max(float(f"{value:.4g}"), part.low), part.high)
