"""`gclbench search`: settings chosen without test labels, with the same budget for every method."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclbench.cli.parser import Parser, output_file, unwritable_output

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment
    from gclbench.launch.search import Study, Trial
    from gclbench.records import Store

LIKE = 0.75
"""Likeness from which on a key is a search's own, mistyped. No other key of a run comes near."""

DEFAULTS = {
    "space": "common",
    "budget": "20",
    "criterion": "validation",
    "sampler": "random",
    "round": "10",
    "search_seed": "0",
    "trial_seeds": "1",
    "trials_dir": "searches",
}
"""What a search takes besides what a run takes."""

TO_A_RUN = {"criterion": "criterion", "runs_dir": "trials_dir"}
"""What the runs of trials are told. Their store is none that tables read by default: they show
tests, and only that of the chosen setting is to be seen."""

FIRST_TRIAL_SEED = 1000
"""Seeds of trials count from here, so that those of the final runs are fresh."""

FINAL_SEEDS = "10"
SAMPLERS = ("random", "tpe")

EXAMPLES = """examples:
  gclbench search method=grace dataset=cora task=classification \\
      task.classification.protocol=public space=common budget=20
  gclbench search method=grace,dgi,bgrl dataset=amazon_photo task=classification \\
      seeds=[1000] budget=50 --dry-run
  gclbench search method=grace dataset=acm task=clustering criterion=silhouette \\
      'space={tau:[0.2,0.4,0.8],lr:{from:1e-4,to:1e-2,log:true}}' launcher.workers=2

criterion: validation, loss, silhouette, calinski_harabasz, davies_bouldin; none sees a test label.
The chosen setting alone is tested, on fresh seeds (seeds=10), or on the trials' own split where
splits are drawn per seed. docs/search.md has the design.
"""


def main(argv: list[str]) -> int:
    """Exit code 0 when every method has a chosen setting and its final runs are ok, 1 when one has
    not, 2 for a command that is wrong."""
    parser = Parser(
        "search",
        "Samples settings, chooses by a criterion without test labels, and tests the choice only.",
        EXAMPLES,
        settings=True,
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the first runs of the search; run nothing"
    )
    parser.add_argument(
        "--output", type=output_file, metavar="FILE", help="FILE.csv: the table of sensitivities"
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="a folder of your own configs (docs/sweeps.md), of components by gclbench's names",
    )
    parser.add_argument("words", nargs="+", metavar="KEY=VALUE", help="as of a run, and space=, …")
    options = parser.parse_args(argv)

    from gclbench.cli.run import wrong
    from gclbench.config.overrides import ConfigErrors
    from gclbench.machine import messages
    from gclbench.records import ensure_deliverable

    messages.set_up()
    if options.output is not None and options.output.suffix != ".csv":
        return wrong([f"--output names a FILE.csv, not '{options.output}'"])
    if options.output is not None:
        try:
            ensure_deliverable(options.output)
        except OSError as error:
            return wrong([unwritable_output(options.output, error)])
    if find_spec("optuna") is None:
        return wrong(["a search needs Optuna: pip install 'gclbench[search]'"], code=1)
    try:
        search = _Search(options.words, options.config_dir)
        search.check()
    except ConfigErrors as error:
        return wrong(error.errors)

    from gclbench.launch.launcher import LaunchError
    from gclbench.records import StoreError

    try:
        if options.dry_run:
            return search.planned()
        return search.run(["search", *argv], options.output)
    except ConfigErrors as error:
        return wrong(error.errors)
    except StoreError as error:  # of trials: the final runs tell their own
        return wrong([str(error.args[1]).replace("runs_dir=", "trials_dir=")], code=1)
    except LaunchError as error:
        return wrong([str(error)], code=1)


class _Search:
    """What a command asks for.

    Args:
        folder: of the user's own configs.

    Raises:
        ConfigErrors: with everything that can be said before a setting is drawn.
    """

    def __init__(self, words: list[str], folder: Path | None = None):
        from gclbench.config.overrides import ConfigErrors, parse
        from gclbench.config.space import space_of
        from gclbench.tasks.criteria import LARGER_IS_BETTER

        self.folder = folder
        errors: list[str] = []
        parse(words, errors, allow_sweeps=True)
        typed = {word.partition("=")[0]: word.partition("=")[2] for word in words}
        self.own = {key: typed.get(key, usual) for key, usual in DEFAULTS.items()}
        self.seeds = typed.get("seeds", FINAL_SEEDS)
        kinds = {kind: _names(typed.get(kind, "")) for kind in ("method", "dataset", "task")}
        self.methods, self.datasets = kinds["method"], kinds["dataset"]
        self.rest = [
            word
            for word in words
            if word.partition("=")[0] not in (*DEFAULTS, "method", "dataset", "seeds")
        ]
        errors += [
            f"'{key}' does not exist. Did you mean '{close[0]}'? A search's own are"
            f" {', '.join(DEFAULTS)}"
            for key in typed
            if key not in DEFAULTS and (close := get_close_matches(key, DEFAULTS, 1, LIKE))
        ]
        errors += [f"a search needs {kind}=NAME" for kind, names in kinds.items() if not names]
        if len(kinds["task"]) > 1 or typed.get("task", "").startswith("["):
            errors.append(f"task={typed['task']}: a search chooses by one task; name one")
        errors += [
            f"{key}={self.own[key]} must be a whole number, at least {least} and below 2^32"
            for key, least in (("budget", 1), ("round", 1), ("trial_seeds", 1), ("search_seed", 0))
            if not (self.own[key].isdecimal() and least <= int(self.own[key]) < 2**32)
        ]
        if self.own["sampler"] not in SAMPLERS:
            errors.append(f"sampler={self.own['sampler']} must be one of {', '.join(SAMPLERS)}")
        if self.own["criterion"] not in LARGER_IS_BETTER:
            errors.append(
                f"criterion={self.own['criterion']} must be one of {', '.join(LARGER_IS_BETTER)}"
            )
        if "rerun" in typed:
            errors.append(
                "a search repeats what lacks its criterion and nothing else; leave rerun out"
            )
        if not errors:
            self._check_names(errors)
        if errors:
            raise ConfigErrors(errors)
        self.larger = LARGER_IS_BETTER[self.own["criterion"]]
        self.spaces = space_of(self.own["space"], self.methods)

    def _check_names(self, errors: list[str]) -> None:
        from gclbench.component.registry import DATASETS, METHODS, UnknownName

        for registry, names in ((METHODS, self.methods), (DATASETS, self.datasets)):
            for name in names:
                try:
                    registry.check(name)
                except UnknownName as error:
                    errors.append(str(error))

    def check(self) -> None:
        """Composes every pair of dataset and method at its own setting, and looks at every value
        of its space.

        Raises:
            ConfigErrors: when one cannot be run, a setting cannot have a value of the space, a seed
                would be used twice, or the task gives no validation score.
        """
        from gclbench.cli.run import load_all
        from gclbench.cli.search_splits import has_one_public, split_per_seed
        from gclbench.config.overrides import ConfigErrors
        from gclbench.config.space import unfit_values

        finals = load_all(
            [
                self._completed(self._words(data, name, [], f"seeds={self.seeds}"))
                for data, name in self._pairs()
            ]
        )
        unfit = [
            text
            for (_, method), each in zip(self._pairs(), finals, strict=True)
            for text in unfit_values(self.spaces[method], each.components)
        ]
        if unfit:
            raise ConfigErrors(list(dict.fromkeys(unfit)))
        trial_seeds = range(FIRST_TRIAL_SEED, FIRST_TRIAL_SEED + int(self.own["trial_seeds"]))
        (task,) = finals[0].components.tasks.values()
        spaces = [self.spaces[method] for _, method in self._pairs()]
        drawn = split_per_seed(finals, self.own["criterion"], spaces)
        public = "task.classification.protocol=public"
        one = bool(drawn) and all(has_one_public(each) for each in finals)
        one_for_all = f" {public} has one split for all," if one else ""
        if drawn and (list(finals[0].seeds) != [FIRST_TRIAL_SEED] or len(trial_seeds) > 1):
            raise ConfigErrors(
                [
                    f"task={next(iter(finals[0].components.tasks))} draws another split for every"
                    f" seed ({drawn}), so what a trial may see would be tested on by another seed;"
                    f" seeds=[{FIRST_TRIAL_SEED}] trial_seeds=1 tests the choice on the trials' own"
                    f" split,{one_for_all} and task=clustering holds out nothing"
                ]
            )
        if not drawn and any(seed in trial_seeds for seed in finals[0].seeds):
            raise ConfigErrors(
                [
                    f"seeds={self.seeds} holds a seed of the trials ({trial_seeds[0]} to"
                    f" {trial_seeds[-1]}); the chosen setting is tested on fresh ones"
                ]
            )
        if self.own["criterion"] == "validation" and not hasattr(task, "validation"):
            raise ConfigErrors(
                [
                    f"criterion=validation: task={next(iter(finals[0].components.tasks))} has no"
                    " validation part; criterion=silhouette, calinski_harabasz, davies_bouldin or"
                    " loss needs none"
                ]
            )

    def _pairs(self) -> list[tuple[str, str]]:
        return [(dataset, method) for dataset in self.datasets for method in self.methods]

    def _words(self, dataset: str, method: str, settings: list[str], seeds: str) -> list[str]:
        """One command. A sampled setting stands for one that was typed."""
        keys = {word.partition("=")[0] for word in settings}
        typed = [word for word in self.rest if word.partition("=")[0] not in keys]
        return [f"method={method}", f"dataset={dataset}", *typed, *settings, seeds]

    def _trial_words(self, study: Study, trial: Trial) -> list[str]:
        first = FIRST_TRIAL_SEED
        seeds = ",".join(str(first + place) for place in range(int(self.own["trial_seeds"])))
        words = self._words(study.dataset, study.method, trial.words, f"seeds=[{seeds}]")
        kept = [word for word in words if not word.startswith("runs_dir=")]
        own = [f"{key}={self.own[name]}" for key, name in TO_A_RUN.items()]
        return self._completed([*kept, *own, "rerun=incomplete"])

    def _completed(self, words: list[str]) -> list[str]:
        """A command with what the user's own configs say besides."""
        from gclbench.config.own_configs import with_own_configs

        return words if self.folder is None else with_own_configs(self.folder, [words])[0]

    def _studies(self) -> list[Study]:
        from gclbench.launch.search import Study

        return [
            Study(
                dataset,
                method,
                self.spaces[method],
                int(self.own["budget"]),
                self.larger,
                self.own["sampler"],
                int(self.own["search_seed"]),
            )
            for dataset, method in self._pairs()
        ]

    def _asked(self, studies: list[Study]) -> list[tuple[Study, list[Trial], list[list[str]]]]:
        """The next trials of every study with their commands: all of them, or a round of those that
        learn."""
        size = int(self.own["budget" if self.own["sampler"] == "random" else "round"])
        asked = []
        for study in studies:
            trials = study.ask(min(size, study.left))
            if trials:
                asked.append((study, trials, [self._trial_words(study, one) for one in trials]))
        return asked

    def planned(self) -> int:
        """Prints the runs that are known before any has run."""
        from gclbench.cli.run import launch

        asked = self._asked(self._studies())
        return launch([words for _, _, commands in asked for words in commands], [], dry_run=True)

    def run(self, typed: list[str], output: Path | None) -> int:
        """Searches, tests what was chosen, prints the tables; returns the exit code."""
        from gclbench.cli.run import load_all
        from gclbench.cli.search_table import reasons, row, show, write
        from gclbench.launch.search import save

        studies = self._studies()
        store: Store | None = None
        while asked := self._asked(studies):
            experiments = [load_all(commands) for _, _, commands in asked]
            store = _carried_out([one for some in experiments for one in some], typed)
            for (study, trials, _), some in zip(asked, experiments, strict=True):
                for trial, experiment in zip(trials, some, strict=True):
                    trial.ids = _ids(experiment, store)
                    records = [store.read(run_id) for run_id in trial.ids]
                    trial.read(records, self.own["criterion"])
                study.tell(trials)
        assert store is not None, "a study has a trial at least"
        path = save(self._declaration(), studies, store)
        rows = [row(study, self.own["criterion"]) for study in studies]
        show(rows, self.own)
        print("".join(f"{line}\n" for study in studies for line in reasons(study)), end="")
        print(f"wrote {path}")
        written = output is None or write(rows, output)
        code = self._tested(studies, typed)
        return code if written else 2

    def _declaration(self) -> dict[str, Any]:
        """Everything that was fixed before the first run."""
        import optuna

        own: dict[str, Any] = {
            key: int(text) if text.isdecimal() else text for key, text in self.own.items()
        }
        if self.own["sampler"] == "random":
            del own["round"]
        spaces = {
            name: {key: vars(part) for key, part in space.items()}
            for name, space in self.spaces.items()
        }
        words = {"methods": self.methods, "datasets": self.datasets, "words": self.rest}
        first = {"first_trial_seed": FIRST_TRIAL_SEED, "optuna": optuna.__version__}
        return {**own, **first, **words, "seeds": self.seeds, "space": spaces}

    def _tested(self, studies: list[Study], typed: list[str]) -> int:
        """Runs and prints the chosen settings on fresh seeds; nothing else's test is shown."""
        from gclbench.cli.run import launch
        from gclbench.paper import run_words

        chosen = [(study, study.chosen) for study in studies]
        commands = [
            self._completed(
                self._words(study.dataset, study.method, trial.words, f"seeds={self.seeds}")
            )
            for study, trial in chosen
            if trial is not None
        ]
        for words in commands:
            print(f"chosen: {run_words.command(words)}")
        code = launch(commands, typed) if commands else 1
        return code if all(trial is not None for _, trial in chosen) else max(code, 1)


def _names(text: str) -> list[str]:
    return [name for name in text.strip("[]").split(",") if name]


def _carried_out(experiments: list[Experiment], typed: list[str]) -> Store:
    """Runs what is not recorded yet; shows progress and no result."""
    from gclbench.cli.progress import note, shown
    from gclbench.launch.execution import carry_out, prepare, recorded
    from gclbench.machine.signals import terminated_like_interrupted

    plan, store = prepare(experiments)
    for text in plan.unavailable:
        print(f"gclbench: {text}", file=sys.stderr)
    if plan.done:
        note(recorded(plan, store))
    if plan.units:
        with terminated_like_interrupted():
            carry_out(experiments[0], plan, typed, shown, note)
    return store


def _ids(experiment: Experiment, store: Store) -> list[str]:
    from gclbench.launch.plan import expand

    return expand([experiment], store).ids
