"""Arguments of the verbs, and what to type instead of those that a verb does not know."""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import shlex
import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gclbench.component.registry import nearest
from gclbench.config.suggestion import setting_of
from gclbench.machine.paths import expanded

KEYS = (
    "dataset",
    "filter",
    "negatives",
    "method",
    "task",
    "seeds",
    "device",
    "threads",
    "precision",
    "runs_dir",
    "rerun",
    "time_limit",
    "memory_limit",
    "checkpoint_every",
    "save",
    "criterion",
    "tracking",
    "launcher",
)
"""What a command sets by KEY=VALUE, beside the settings of what is chosen."""


NAMED = {
    "DIR": "a folder",
    "DIR|SWEEP": "a folder or a sweep",
    "FOLDER": "a folder",
    "FILE": "a file",
    "RUN": "a run",
    "SWEEP": "a sweep",
    "ID": "a table or a figure",
    "METHOD": "a method",
}
"""Words of --help that must name something, and what."""


def add_with(parser: argparse.ArgumentParser, to: str) -> None:
    """The option --with (`options.added`): rows that a user adds, as --help says to what."""
    parser.add_argument(
        "--with",
        dest="added",
        nargs="+",
        action="extend",
        default=[],
        metavar="METHOD",
        help=f"add rows to {to}: methods, or a method with settings in quotes, as in"
        " 'grace method.tau=0.4'",
    )


def output_file(text: str) -> Path:
    """The file of --output.

    Raises:
        argparse.ArgumentTypeError: where it names a folder.
    """
    if text.endswith("/"):
        raise argparse.ArgumentTypeError(f"'{text}' is a folder; name a file in it, {text}FILE")
    return Path(text)


def unwritable_output(path: Path, error: OSError) -> str:
    """What to say where the file of --output cannot be written."""
    return f"cannot write {path}: {error.strerror or error}; choose another --output"


class Parser(argparse.ArgumentParser):
    """One verb's arguments.

    A run's settings are KEY=VALUE and everything else has options, so a word of the other kind is
    answered with how it is written here.

    Args:
        verb: as typed, `table`; empty for a run. description, epilog: of --help. settings: whether
            words are KEY=VALUE.
        one: what to say where a verb takes one word and more were given.
        intermixed: whether options may stand between words; so where words are KEY=VALUE.
    """

    def __init__(
        self,
        verb: str,
        description: str,
        epilog: str = "",
        settings: bool = False,
        one: str = "",
        intermixed: bool = False,
    ):
        super().__init__(
            prog=f"gclbench {verb}".strip(),
            description=textwrap.fill(description, 110),
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._settings = settings
        self._intermixed = settings or intermixed
        self._one = one

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The namespace; a wrong word ends the program with code 2."""
        words = [_at_home(word) for word in args or ()]
        known, extras = (
            self.parse_known_intermixed_args if self._intermixed else self.parse_known_args
        )(words, namespace)
        self._check_named(known, words)
        if extras:
            # The word after an option that does not exist was its value.
            values = [
                after
                for word, after in itertools.pairwise(extras)
                if word.startswith("-") and not after.startswith("-")
            ]
            # A wrong option ends what may stand between words: those behind it are not wrong.
            options = [word for word in extras if word.startswith("-")]
            told = options if self._settings and extras[0] in options else extras
            self.error(
                "; ".join(
                    dict.fromkeys(self._meant(word, words) for word in told if word not in values)
                )
            )
        return known

    def _check_named(self, known: argparse.Namespace, words: Sequence[str]) -> None:
        """Ends the program where a folder, a run or a file is named by nothing, as by a variable of
        the shell that is not set, or a file by `-`."""
        for action in self._actions:
            given = getattr(known, action.dest, None)
            what = action.option_strings[0] if action.option_strings else str(action.metavar)
            values = given if isinstance(given, list) else [given]
            # `type=Path` has made the folder `.` of it.
            typed = "" in words or any(f"{option}=" in words for option in action.option_strings)
            if action.metavar in NAMED and ("" in values or (typed and Path() in values)):
                self.error(f"{what} names {NAMED[action.metavar]}, and '' names none")
            if action.dest == "output" and given is not None and str(given) == "-":
                self.error(f"{what} names a file, and '-' is none; /dev/stdout is the output")

    def error(self, message: str) -> NoReturn:
        """One line, as all of our errors, instead of the usage."""
        message = _in_our_words(message)
        self.exit(2, f"{self.prog}: {message} (`{self.prog} --help` shows what there is)\n")

    def _meant(self, word: str, words: Sequence[str]) -> str:
        name, separator, value = word.lstrip("-").partition("=")
        own = {
            option.lstrip("-"): option
            for action in self._actions
            for option in action.option_strings
        }
        dashed = word.startswith("-")
        if self._settings:
            return (
                self._setting_meant(word, words)
                if dashed
                else f"'{word}' cannot be read; settings are KEY=VALUE"
            )
        if not dashed and separator and name in own:
            return f"'{word}' is an option here: --{name} {shlex.join(value.split(','))}"
        if dashed:
            guess = nearest(name, list(own))
            return f"there is no option '{word}'" + (
                f"; did you mean {own[guess]}?" if guess else ""
            )
        if separator:
            return f"'{word}': KEY=VALUE is for runs, `gclbench {word}`"
        return f"'{word}' is one word too many" + (f"; {self._one}" if self._one else "")

    def _setting_meant(self, word: str, words: Sequence[str]) -> str:
        name, separator, value = word.lstrip("-").replace("-", "_").partition("=")
        if name == "cfg":
            settings = [each for each in words if "=" in each and each[0] != "-"] or [
                "method=NAME",
                "dataset=NAME",
            ]
            return f"there is no option '{word}': `{_command('show', *settings)}` shows them"
        if word in ("-m", "--multirun"):
            return (
                "-m is for runs; a search takes the values of a setting from space="
                if self.prog.endswith(" search")
                else "-m is for runs; here every key takes several values, as in method=A,B"
            )
        own = {
            option.lstrip("-"): option
            for action in self._actions
            for option in action.option_strings
            if len(option) > 2
        }
        after = list(words[words.index(word) + 1 :]) if word in words else []
        if not separator and after and not after[0].startswith("-") and "=" not in after[0]:
            value = after[0]
        guess = nearest(name, [*own, *KEYS])
        if guess in own and _alike(name, guess) > 0.7:
            return f"there is no option '{word}'; did you mean {own[guess]}?"
        if name == "seed":
            return f"there is no option '{word}'; settings are KEY=VALUE: seeds=[{value or 0}]"
        if name in ("cpu", "gpu", "cuda"):
            guess, value = "device", name.replace("gpu", "cuda")
        elif name not in KEYS:
            guess = setting_of(name) or guess
        if guess is None:
            return (
                f"there is no option '{word}';"
                " settings are KEY=VALUE, as in dataset=cora method.lr=1e-3"
            )
        return f"there is no option '{word}'; settings are KEY=VALUE: {guess}={value or 'VALUE'}"


def id_first(verb: str, words: Sequence[str], known: Collection[str]) -> str:
    """What to say where a verb's ID is missing, or was taken for a value of an option before it."""
    found = next((word for word in words if word in known), None)
    rest = [word for word in words if word != found]
    return f"the ID comes first: {_command(verb, found or next(iter(known)), *rest)}"


def _command(*words: str) -> str:
    """What is typed, with the user's own files that its components come from."""
    from gclbench.paper import run_words  # read in an error alone: a start does without it

    return run_words.command(words)


def _in_our_words(message: str) -> str:
    """What argparse says of an option's value, as a plain sentence."""
    if found := re.fullmatch(r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)", message):
        name, given, choices = found.groups()
        return f"{name} cannot be {given}; choose from {choices.replace(chr(39), '')}"
    if found := re.fullmatch(r"argument (.+?): expected (?:at least )?one argument", message):
        return f"{found[1]} needs a value behind it"
    if found := re.fullmatch(r"argument (.+?): ignored explicit argument .*", message):
        return f"{found[1]} takes no value"
    return message


def _at_home(word: str) -> str:
    """A word with `~/` at its start, or at that of an option's value, as the home folder's."""
    option, equals, value = word.partition("=")
    if equals and option.startswith("--") and value.startswith("~/"):
        return f"{option}={expanded(value)}"
    return expanded(word) if word == "~" or word.startswith("~/") else word


def _alike(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, first.replace("_", ""), second.replace("-", "")).ratio()
