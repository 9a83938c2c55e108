"""What a page that quotes numbers may hold."""

from __future__ import annotations

import pytest

from gclbench.paper.place import BadReference
from gclbench.paper.prose import references, rewritten
from gclbench.paper.verdict import AS_PRINTED, OTHERWISE, VERDICTS


def page(text: str, lint: bool = True) -> tuple[str, list[str]]:
    def quote(reference: str) -> str:
        if reference == "a; b":
            return "73.5"
        if reference == "a; b; ±":
            return "−73.5 ± 1,000.5"
        raise BadReference("nothing has this name")

    new, findings = rewritten(text, quote, lint)
    return new, [f"{finding.line} {finding.text}" for finding in findings]


def test_numbers_before_references_are_written_and_then_stay() -> None:
    text = (
        "one **0<!-- a; b -->** two\nthree-4.2 ± 1<!-- a; b; ± --> 5–6<!-- a; b -->,"
        " | not run<!--  a;\nb --> | 73.5<!-- a; b --> 1,0.5<!-- a; b -->\n"
    )
    new, told = page(text)
    assert new == (
        "one **73.5<!-- a; b -->** two\nthree-−73.5 ± 1,000.5<!-- a; b; ± --> 5–73.5<!-- a; b -->,"
        " | 73.5<!--  a;\nb --> | 73.5<!-- a; b --> 1,73.5<!-- a; b -->\n"
    )
    assert told[0] == "1 0 stands before <!-- a; b -->, the records say 73.5"
    assert len(told) == 5 and page(new)[0] == new
    assert page(new.replace("1,73", "73").replace("three-", ""))[1] == []


@pytest.mark.parametrize("old", [*VERDICTS, AS_PRINTED, OTHERWISE])
@pytest.mark.parametrize("new", [*VERDICTS, AS_PRINTED, OTHERWISE])
def test_a_verdict_takes_the_place_of_all_words_of_another(old: str, new: str) -> None:
    written, found = rewritten(f"ACC {old}<!-- a; b -->.\n", lambda _: new, True)
    assert written == f"ACC {new}<!-- a; b -->.\n"
    assert bool(found) == (old != new)


@pytest.mark.parametrize("word", ["not", "never", "neither", "no longer"])
def test_a_verdict_behind_its_own_negation_is_found(word: str) -> None:
    _, findings = rewritten(
        f"It is {word} equivalent<!-- a; b; verdict -->.", lambda _: "equivalent"
    )
    (found,) = findings
    assert found.text.startswith(f"'{word}' stands before <!-- a; b; verdict -->, which then says")
    assert not found.mended
    plain = "It is not comparable<!-- a; b; verdict -->, or equivalent<!-- c; d -->."
    verdicts = {"a; b; verdict": "not comparable", "c; d": "equivalent"}
    assert rewritten(plain, verdicts.__getitem__)[1] == []


def test_what_a_reference_needs() -> None:
    assert page("(<!-- a; b -->)\n")[1] == ["1 no number is before <!-- a; b -->; type 73.5"]
    assert page("\n3.5<!-- c; d -->\n", lint=False) == (
        "\n3.5<!-- c; d -->\n",
        ["2 <!-- c; d -->: nothing has this name"],
    )
    assert page("`1.5<!-- c; d -->` 2.5 <!-- table -->\n", lint=False)[1] == []


def test_a_typed_number_is_found() -> None:
    assert page("# A\n\nIt has 73.5 and 3.25 in ten.\n")[1] == [
        "3 typed: 73.5, 3.25; put <!-- TABLE; DATASET; COLUMN; METRIC --> directly behind each, or"
        " <!-- setting --> or <!-- elsewhere: who says so --> or <!-- outside: what was run -->"
        " (docs/tables.md#numbers-in-prose)"
    ]
    assert page("3 of 4 `0.5` [a](b-1.5.md) https://x.org/2.5\n```\n3.5\n```\n")[1] == []
    assert page("<!-- history: old -->\n# A\n\n3.5\n")[1] == []
    assert page("Section 3.2, Theorem 3.1, arXiv 2212.04604, Python 3.13, dgl 0.4.1\n")[1] == []
    assert page("Section 3 has 3.2\n")[1][0].startswith("1 typed: 3.2;")


def test_marks_stand_for_the_numbers_before_them() -> None:
    assert page("0.5 and 0.1<!-- setting --> and 3.5 ± 0.1<!-- elsewhere: who -->\n")[1] == []
    assert page("Outside: 2.5<!-- outside: a script -->\n")[1] == [
        "1 <!-- outside: a script --> is in a paragraph or table that does not say"
        " 'outside the records'"
    ]
    assert page("x\n\nIs outside the records:\n2.5<!-- outside: a script -->\n\ny\n")[1] == []
    means = (
        "means nothing; there are <!-- setting -->, <!-- elsewhere: who says so -->,"
        " <!-- outside: what was run -->"
    )
    assert page("2<!-- elsewhere: -->")[1] == [f"1 <!-- elsewhere: --> {means}"]
    assert page("2<!-- todo -->")[1] == [f"1 <!-- todo --> {means}"]
    assert page("<!-- setting -->")[1] == ["1 no number is directly before <!-- setting -->"]


def test_whole_numbers_of_percent_points_and_times_are_results() -> None:
    text = "53 times as long, 93 % or 94% of a row, 1,200 percentage points, a 24-point gap,\n"
    text += "7-fold, **6** times, 3 percent, 4 to 5 point, and at a line's end 8\npoints.\n"
    first, second = page(text)[1]
    assert first.startswith("1 typed: 53, 93, 94, 1,200, 24; put <!-- TABLE;")
    assert second.startswith("2 typed: 7, 6, 3, 5, 8; put <!-- TABLE;")
    for text in (
        "3 to 73.5<!-- a; b --> %",
        "3–73.5<!-- a; b -->%",
        "3 and 73.5<!-- a; b --> points",
    ):
        assert page(f"Between {text}.\n")[1][0].startswith("1 typed: 3; put <!-- TABLE;")
    for text in ("3–73.5<!-- a; b -->×", "3 to 73.5<!-- a; b -->-fold"):
        assert page(f"By {text}.\n")[1][0].startswith("1 typed: 3; ")
    assert page("In 2024, 73.5<!-- a; b --> % of 64×hidden units\n")[1] == []
    assert page("12× faster\n")[1][0].startswith("1 typed: 12; ")
    fine = "Of 3 73.5<!-- a; b --> % are, 7×7 and 7 × 7 tiles;\n"
    assert page(fine)[1] == []
    fine = "50 runs, 2 of 10, 10/10/80 splits, 20 pointers, `5 %`, 1e-6 times; Table 2 points to,"
    assert (
        page(f"{fine} issue 7 times; 5<!-- setting --> %, 3 or 4<!-- setting --> times\n")[1] == []
    )


def test_a_page_quotes_what_is_no_code_no_mark_and_no_history() -> None:
    text = (
        "A 1.0<!-- dmat/1; cora;\n dmat_i; acc -->, 0.5<!-- setting -->, `2<!-- a; b; c; d -->`\n"
        "```\n3<!-- e; f; g; h -->\n```\n4<!-- runs; method.name=dgi; acc -->\n"
    )
    assert references(text) == ["dmat/1; cora; dmat_i; acc", "runs; method.name=dgi; acc"]
    assert references("<!-- history: old -->\n" + text) == []
