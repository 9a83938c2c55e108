"""Wrong commands are told what is wrong, what exists and what was probably meant; sweeps expand."""

from __future__ import annotations

import re

import pytest
from told_errors import errors_of

from gclbench.component.declared import marked
from gclbench.component.registry import DATASETS, KINDS
from gclbench.component.settings import Machine, schema
from gclbench.config.overrides import OF_THE_COMMAND, ConfigErrors, sweep

# --- wrong commands


@pytest.mark.parametrize(
    "text,message",
    [
        (
            "dataset=corra",
            "there is no dataset 'corra'. Did you mean 'cora'? Known datasets: acm, ",
        ),
        ("method=dmat-i", "there is no method 'dmat-i'. Did you mean 'dmat_i'? Known methods: "),
        ("filter=gnbp", "there is no filter 'gnbp'. Did you mean 'gnnbp'? Known filters: "),
        (
            "task=[clustering,clasification]",
            "there is no task 'clasification'. Did you mean 'classification'? Known tasks: ",
        ),
        (
            "negatives=unifrom",
            (
                "there is no negatives strategy 'unifrom'. Did you mean 'uniform'? Known negatives"
                " strategies: "
            ),
        ),
        (
            "method.lrr=1",
            "'method.lrr' does not exist. Did you mean 'method.lr'?"
            " Known of method=dmat_i: method.activation, ",
        ),
        (
            "method.n_epochs=1",
            "'method.n_epochs' does not exist. Did you mean 'method.epochs'?"
            " Known of method=dmat_i: ",
        ),
        (
            "method.alpha=0.3",
            "'method.alpha' does not exist. Did you mean 'filter.alpha'? Known of method=dmat_i: ",
        ),
        (
            "mthod.lr=1",
            (
                "'mthod.lr' does not exist. Did you mean 'method.lr'? Known: checkpoint_every,"
                " criterion, dataset, device, "
            ),
        ),
        (
            "lr=2",
            (
                "'lr' does not exist. Did you mean 'method.lr'? Known: checkpoint_every,"
                " criterion, dataset, device, "
            ),
        ),
        ("n_init=2", "'n_init' does not exist. Did you mean 'task.clustering.n_init'? Known: "),
        (
            "clustering.n_int=3",
            "'clustering.n_int' does not exist. Did you mean 'task.clustering.n_init'? Known: ",
        ),
        (
            "methd=dmt",
            (
                "'methd' does not exist. Did you mean 'method'? Known: checkpoint_every,"
                " criterion, dataset, device, filter, launcher, memory_limit, method, "
            ),
        ),
        ("datset=cora", "'datset' does not exist. Did you mean 'dataset'? Known: "),
        (
            "seed=3",
            "'seed' does not exist. Did you mean 'seeds'? seeds=10 runs 0 to 9, seeds=[3] runs 3",
        ),
        ("model=dmt", "'model' does not exist. Did you mean 'method'? Known: "),
        (
            "method.learning_rate=1",
            "'method.learning_rate' does not exist. Did you mean 'method.lr'?"
            " Known of method=dmat_i: ",
        ),
        (
            "method.temperature=1",
            "'method.temperature' does not exist. Did you mean 'method.tau'?"
            " Known of method=dmat_i: ",
        ),
        (
            "dataset=photo",
            "there is no dataset 'photo'. Did you mean 'amazon_photo'? Known datasets: ",
        ),
        (
            "task=classification task.clustering.n_init=3",
            (
                "'task.clustering.n_init' is a setting of a task that is not chosen;"
                " task=[classification,clustering] chooses it too"
            ),
        ),
        (
            "dataset=custom dataset.path=x.npz dataset.name=a dataset.called=b",
            (
                "'dataset.name' is set twice, by 'dataset.name=a' and 'dataset.called=b'; leave one"
                " of them out"
            ),
        ),
        (
            "method.architecture=[256,]",
            (
                "'method.architecture=[256,]' has a comma without a value behind it; write"
                " method.architecture=[256]"
            ),
        ),
        ("dry_run=true", "'dry_run' does not exist. Did you mean the option --dry-run?"),
        (
            "method=dmt method=dmat",
            "'method' is set twice, by 'method=dmt' and 'method=dmat'; leave one of them out",
        ),
        (
            "method.tau=1 ++method.tau=2",
            (
                "'method.tau' is set twice, by 'method.tau=1' and '++method.tau=2'; leave one of"
                " them out"
            ),
        ),
        (
            "seeds=1,2",
            "'seeds=1,2' names several values; seeds of one command are a list: seeds=[1,2]",
        ),
        (
            "runs_dir=a,b",
            "'runs_dir=a,b' names several values, and a command has one runs_dir; give one of them",
        ),
        (
            "save=embedding,model",
            (
                "'save=embedding,model' names several values, and a command has one save; what is"
                " kept is a list: save=[embedding,model]"
            ),
        ),
        (
            "launcher.workers=1,2",
            "'launcher.workers=1,2' names several values, and a command has one launcher.workers",
        ),
        (
            "method.zzz=3",
            "'method.zzz' does not exist. Known of method=dmat_i: method.activation, ",
        ),
        ("+foo=1", "'foo' does not exist. Known: checkpoint_every, criterion, dataset, "),
        (
            "+method.foo=1",
            "'method.foo' does not exist. Known of method=dmat_i: method.activation, ",
        ),
        (
            "filter=none filter.alpha=0.3",
            "'filter.alpha' does not exist: filter=none has no settings.",
        ),
        ("method.name=dmt", "'method.name' cannot be set; choose a method with method=NAME"),
        ("++method.name=nonsense", "'method.name' cannot be set; choose a method with method=NAME"),
        ("task.clustering=3", "'task.clustering' does not exist. Did you mean 'task.clustering."),
        ("filter.alpha=0", "filter.alpha=0 is out of range: it must be > 0 and ≤ 1"),
        ("method.tau=0.004", "method.tau=0.004 is out of range: it must be ≥ 0.005"),
        ("method.lr=inf", "method.lr=inf must be a finite number"),
        ("method.lr=nan", "method.lr=nan must be a finite number"),
        ("method.lr=fast", "method.lr='fast' must be a number"),
        ("method.epochs=inf", "method.epochs=inf must be a whole number"),
        ("method.epochs=2.5", "method.epochs=2.5 must be a whole number"),
        ("method.architecture=12", "method.architecture=12 must be a list, for example [256,128]"),
        ("method.activation=gelo", "method.activation='gelo' must be one of "),
        ("method=null", "'method=null' does not name a method. Known: "),
        ("method={a:1}", "'method={a:1}' does not name a method. Known: "),
        ("task=[]", "'task=[]' names no task. Known: classification, "),
        ("method=[]", "'method=[]' names no method. Known: agc, "),
        ("table=dmat/1", "'table' is no part of a run: `gclbench sweep table=PAPER/NUMBER` makes"),
        (
            "method=[dmt,dmat]",
            (
                "'method=[dmt,dmat]' names several; a run has one method. To run each: gclbench -m"
                " method=dmt,dmat"
            ),
        ),
        (
            "method=dmt,dmat",
            (
                "'method=dmt,dmat' names several values; run a sweep with -m: gclbench -m …"
                " method=dmt,dmat. A list is written [a,b]."
            ),
        ),
        (
            "~filter",
            (
                "'~filter' removes a setting, and every run needs all of them; filter=none applies"
                " no filter"
            ),
        ),
        (
            "~method.lr",
            (
                "'~method.lr' removes a setting, and every run needs all of them; KEY=VALUE sets"
                " another value"
            ),
        ),
        ("method.lr", "cannot read 'method.lr': "),
        (
            "method.lr=[",
            "cannot read 'method.lr=[': a '[' or ']' has no other one; a list is written ",
        ),
        ("=3", "'=3' names no key; overrides are KEY=VALUE"),
        ("+method=dmt", "'+method=dmt': '+' and '@' are not used here; write method=dmt"),
        (
            "++task=tsne",
            "'++task=tsne': '+' and '@' are not used here;"
            " write task=tsne; task=[NAME,NAME] names several",
        ),
        ("method@x=dmt", "'method@x=dmt': '+' and '@' are not used here; write method=dmt"),
        ("method.lr=${nothing}", "Interpolation key 'nothing' not found"),
        ("dataset=custom", "dataset.path must be given: dataset.path=…"),
    ],
)
def test_a_wrong_command_is_told(text: str, message: str) -> None:
    (error,) = errors_of(*text.split())
    assert error.startswith(message)


def test_a_dataset_that_is_not_listed_can_be_had_by_a_setting() -> None:
    (error,) = errors_of("dataset=ENZYMES")
    assert "wiki_cs. Any set of TUDataset: dataset=tu dataset.tu_name=NAME. A file of" in error
    assert "dataset=custom_graphs for a collection. A class of your own that loads one" in error


def test_no_unrelated_key_is_guessed_for_what_has_no_settings() -> None:
    (error,) = errors_of("dataset=cora", "dataset.edges=simple")
    assert error == "'dataset.edges' does not exist: dataset=cora has no settings."


def test_errors_of_what_no_component_has_a_part_in_come_at_once() -> None:
    found = errors_of("method=grace", "threads=0", "device=gpux", "tracking=zzz", "save={a:1}")
    assert [text.partition(" must")[0] for text in found] == [
        "save={'a': 1}",
        "threads=0",
        "device=gpux",
        "tracking=zzz",
    ]
    found = errors_of("dataset=custom", "threads=0", "criterion=[a,b]")
    assert [text.partition(" must")[0] for text in found] == [
        "criterion=['a', 'b']",
        "threads=0",
        "dataset.path",
    ]


def test_all_errors_come_at_once_whatever_their_kind() -> None:
    found = errors_of(
        "dataset=corra",
        "methd=dmt",
        "filter.alpha=0",
        "method.tau=-1",
        "method.lrr=1",
        "seeds=0",
        "device=gpu",
        "rerun=x",
        "method.views=a,b",
        "x=[",
    )
    starts = (
        "'method.views=a,b' names",
        "cannot read 'x=['",
        "there is no dataset 'corra'",
        "'methd' does not",
        "'method.lrr' does not",
        "filter.alpha=0 is",
        "method.tau=-1 is",
        "seeds=0 must",
        "rerun=x must",
        "device=gpu must",
    )
    assert len(found) == len(starts)
    for start in starts:
        assert sum(error.startswith(start) for error in found) == 1, start


def test_nothing_is_said_about_the_settings_of_what_is_misspelt() -> None:
    found = errors_of(
        "method=kmeens",
        "method.lr=1",
        "method.whatever=2",
        "filter.alpha=0.2",
        "dataset=crora",
        "dataset.scale=3",
    )
    assert [error.partition(".")[0] for error in found] == [
        "there is no method 'kmeens'",
        "there is no dataset 'crora'",
    ]


def test_every_setting_of_every_component_is_found_by_its_bare_name() -> None:
    # Settings so close to a key of the command itself that this key is suggested.
    shadowed = {"seed": "seeds", "negative": "negatives"}
    for kind, registry in KINDS.items():
        for name in registry.names():
            settings = list(schema(registry.load(name)))
            found = (
                errors_of(f"{kind}={name}", *(f"{setting}=1" for setting in settings))
                if settings
                else []
            )
            for setting in settings:
                (error,) = [text for text in found if text.startswith(f"'{setting}'")]
                guess = re.search(r"Did you mean '([^']+)'", error)
                assert guess is not None
                expected = shadowed.get(setting)
                assert guess[1] == expected if expected else guess[1].endswith(f".{setting}")


# --- sweeps


def test_a_sweep_is_every_combination_the_last_key_fastest() -> None:
    assert sweep(["method=dmt,dmat", "dataset=cora", "method.tau=1,2"]) == [
        ["method=dmt", "dataset=cora", "method.tau=1"],
        ["method=dmt", "dataset=cora", "method.tau=2"],
        ["method=dmat", "dataset=cora", "method.tau=1"],
        ["method=dmat", "dataset=cora", "method.tau=2"],
    ]


def test_a_sweep_over_lists_and_ranges() -> None:
    assert sweep(["method.architecture=[8],[8,4]"]) == [
        ["method.architecture=[8]"],
        ["method.architecture=[8,4]"],
    ]
    assert sweep(["method.epochs=range(1,3)"]) == [["method.epochs=1"], ["method.epochs=2"]]
    assert sweep(["++method.lr=1,2"]) == [["++method.lr=1"], ["++method.lr=2"]]
    assert sweep([]) == [[]]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("range(0.2,0.8,0.2)", ["0.2", "0.4", "0.6"]),
        ("range(0,1.1,0.55)", ["0.0", "0.55"]),
        ("range(1e-4,1e-3,3e-4)", ["0.0001", "0.0004", "0.0007"]),
        ("range(5,1,-1.5)", ["5.0", "3.5", "2.0"]),
        ("sort(range(0.2,0.8,0.2),reverse=true)", ["0.6", "0.4", "0.2"]),
    ],
)
def test_a_range_has_the_digits_that_were_typed(text: str, values: list[str]) -> None:
    """0.6000000000000001 would be another run than 0.6."""
    assert sweep([f"method.lr={text}"]) == [[f"method.lr={value}"] for value in values]


@pytest.mark.parametrize("text", ["range(1,5,0)", "range(0,inf,0.5)", "range(1,2,nan)"])
def test_a_range_without_end_is_told(text: str) -> None:
    with pytest.raises(ConfigErrors, match=r"finite ends and a step that is not 0.*write the valu"):
        sweep([f"method.lr={text}"])


@pytest.mark.parametrize("text", ["seeds=1,2", "seeds=range(1,3)"])
def test_seeds_are_no_sweep(text: str) -> None:
    """Swept, each number would be a count: seeds 0 and 1 instead of 1 and 2."""
    with pytest.raises(ConfigErrors, match=r"seeds of one command are a list: seeds=\[1,2\]$"):
        sweep([text])


def test_a_sweep_over_names_by_pattern() -> None:
    assert sweep(["dataset=glob(co*)"]) == [
        [f"dataset={name}"] for name in DATASETS.names() if name.startswith("co")
    ]


@pytest.mark.parametrize("text", ["method.lr=interval(0,1)", "method.lr=glob(*)"])
def test_what_cannot_be_swept(text: str) -> None:
    with pytest.raises(
        ConfigErrors, match=r"cannot be swept: .*; write the values out, as in KEY=A,B$"
    ):
        sweep([text])


def test_a_sweep_reports_what_it_cannot_read() -> None:
    with pytest.raises(ConfigErrors, match="cannot read 'nonsense'"):
        sweep(["method=dmt,dmat", "nonsense"])


def test_no_setting_of_the_machine_is_swept() -> None:
    """Runs of two of its values would have one id; another file is another graph."""
    machines = {
        f"{kind}.{setting}"
        for kind in ("dataset", "filter", "method", "negatives")
        for name, entry in KINDS[kind].entries.items()
        if entry.builtin
        for setting in marked(KINDS[kind], name, Machine)
    }
    assert "filter.storage" in machines
    assert machines - {"dataset.path"} <= set(OF_THE_COMMAND)
