"""Wiki-CS (Mernyei and Cangea, 2020)."""

from __future__ import annotations

from gclbench.data.dataset_info import DatasetInfo, RawFile

ADDRESS = "https://raw.githubusercontent.com/pmernyei/wiki-cs-dataset/master/dataset"

PAGES = (
    DatasetInfo(
        name="wiki_cs",
        summary=(
            "Wiki-CS: Wikipedia articles on computer science, mean word vectors,"
            " branches as classes"
        ),
        source="https://github.com/pmernyei/wiki-cs-dataset",
        licence="stated by the source repository; not seen by us",
        files=(
            RawFile(
                "WikiCS/raw/data.json",
                (),
                (f"{ADDRESS}/data.json",),
                git_blob="f1b743119df1a7a3bca449039c54034ae623a756",
            ),
        ),
        notes=(
            "Has 20 public splits with one test set: run seed k uses split k mod 20. The file is"
            " checked by its git blob id; we have not had it, so there are no counts."
        ),
    ),
)
