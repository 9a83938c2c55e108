"""What mkdocs does besides: the generated page, pages that may be there, links out of the site."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference import reference

GENERATED = "reference.md"
OPTIONAL = {"Begin": ["first-hour.md"]}
"""Pages that stand in the navigation where they exist."""

OUTSIDE = re.compile(r"!?\[([^\]]+)\]\((\.\./[^)\s]+)\)")
MARK = re.compile(r"^<!-- (?:run|plan) -->\n", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Adds optional pages to the navigation."""
    for section in config.nav:
        for title, pages in section.items() if isinstance(section, dict) else ():
            for page in OPTIONAL.get(title, ()):
                if (Path(config.docs_dir) / page).is_file() and page not in pages:
                    pages.append(page)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated page."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, GENERATED, content=reference()))
    return files


def on_page_markdown(markdown: str, **more: Any) -> str:
    """Names files of the repository that are no pages, where GitHub links to them."""
    named = OUTSIDE.sub(lambda link: _named(link[1], link[2]), markdown)
    return MARK.sub("", named)


def _named(text: str, target: str) -> str:
    path = target.removeprefix("../").partition("#")[0]
    return text if text.strip("`") == path else f"{text} (`{path}`)"
