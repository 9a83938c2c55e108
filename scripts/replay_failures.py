"""Replays what failed for new users of the first release, one by one.

python scripts/replay_failures.py         all
python scripts/replay_failures.py 1 9     two of them

A failure is what somebody met; its tests are what keeps it from coming back. Their output is
pytest's, one line per failure follows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Failure:
    """What a user met, and the tests that would meet it again.

    Attributes:
        what: in a few words. tests: files, or `file::test` with the file under tests/.
    """

    what: str
    tests: tuple[str, ...]


FAILURES = {
    1: Failure(
        "--output replaced devices, pipes and links",
        (
            "records/test_output.py",
            "cli/test_verbs.py::test_a_full_device_is_an_error_and_stays_a_device",
        ),
    ),
    2: Failure(
        "one id had two numbers, by the number of threads",
        (
            "machine/test_thread_rule.py",
            "paper/test_machine_differences.py",
            "run/test_run_records.py::test_a_record_says_with_how_many_threads_it_ran",
        ),
    ),
    3: Failure(
        "a graph of one's own had an id for each way to write its path",
        (
            "cli/test_own_graphs.py::test_a_graph_is_its_content_however_its_path_is_written",
            "cli/test_own_graphs.py::test_another_content_is_another_run",
            "cli/test_own_graphs.py::test_a_name_stands_in_progress_tables_and_records",
            "cli/test_own_graphs.py::test_rows_stand_in_the_order_of_the_command",
            "cli/test_own_graphs.py::test_two_files_of_one_name_are_told_apart_by_their_folders",
        ),
    ),
    4: Failure(
        "collapse passed as ok, floors were not shown, float32 ate features",
        ("cli/test_collapse.py", "graph/test_rounding.py", "contrast/test_unit_rows.py"),
    ),
    5: Failure("seeds were lost or read as others", ("cli/test_seeds.py",)),
    6: Failure(
        "status counted a run twice, a dry run promised 8 s for 327",
        (
            "cli/test_verbs.py::test_a_run_that_lies_in_two_stores_counts_once",
            "run/test_estimate.py",
        ),
    ),
    7: Failure(
        "sparse features became dense, a graph of 10¹⁰ nodes a traceback",
        (
            "test_sparse_features.py",
            "cli/test_own_graphs.py::"
            "test_more_features_than_fit_into_memory_are_refused_with_their_size",
            "cli/test_own_graphs.py::test_a_generated_graph_that_does_not_fit_is_refused",
        ),
    ),
    8: Failure(
        "directions and loops were dropped silently, a method changed the next one's graph",
        (
            "cli/test_own_graphs.py::test_what_was_changed_in_a_graph_is_told_once",
            "run/test_endings.py::test_a_method_that_writes_into_the_graph_is_the_one_that_fails",
        ),
    ),
    9: Failure(
        "progress showed nan, 0/? and a time left that grew",
        ("cli/test_progress_terminal.py", "cli/test_progress.py"),
    ),
    10: Failure(
        "messages spoke of Hydra's grammar",
        (
            "cli/test_own_graphs.py::test_a_path_may_hold_any_character",
            "cli/test_own_graphs.py::test_a_path_may_start_at_home",
            "cli/test_own_graphs.py::test_messages_do_not_speak_of_grammar",
            "cli/test_own_graphs.py::test_show_tells_the_format_of_the_file",
        ),
    ),
    11: Failure(
        "every answer waited for torch (seconds: scripts/bench_startup.py)",
        ("cli/test_start_up.py",),
    ),
}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("numbers", nargs="*", type=int, metavar="N", help=f"of {[*FAILURES]}")
    numbers = parser.parse_args(argv).numbers or [*FAILURES]
    if unknown := [number for number in numbers if number not in FAILURES]:
        parser.error(f"there is no failure {unknown[0]}; there are {[*FAILURES]}")
    came_back = {number: not passes(FAILURES[number].tests) for number in numbers}
    for number, back in came_back.items():
        print(f"{number:>2}  {'CAME BACK' if back else 'mended':<10}  {FAILURES[number].what}")
    return 1 if any(came_back.values()) else 0


def passes(tests: tuple[str, ...]) -> bool:
    """Whether pytest finds all of them, and none fails."""
    command = [sys.executable, "-m", "pytest", "-q", *(f"tests/{test}" for test in tests)]
    return subprocess.run(command, cwd=ROOT).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
