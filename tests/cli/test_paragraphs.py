"""Pages on a terminal: prose is filled, code and tables stay, no word is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_cli.paragraphs import fitted

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
TEXT = """# A heading that is longer than the columns that there are
Some words of a paragraph
that goes on.

- an item that is too long
  for a line
  `code` on its own  
  `more`
```text
a line of code that stays as it is
```
| a table | that stays as it is |
"""


def test_prose_is_filled_and_the_rest_stays() -> None:
    assert fitted(TEXT, 24).splitlines() == [
        "# A heading that is longer than the columns that there are",
        "Some words of a",
        "paragraph that goes on.",
        "",
        "- an item that is too",
        "  long for a line `code`",
        "  on its own",
        "  `more`",
        "```text",
        "a line of code that stays as it is",
        "```",
        "| a table | that stays as it is |",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
@pytest.mark.parametrize("columns", [40, 80])
def test_no_word_of_a_page_is_lost(page: Path, columns: int) -> None:
    text = page.read_text(encoding="utf-8")
    shown = fitted(text, columns)
    assert shown.split() == text.split()
    assert fitted(shown, columns).split() == text.split()
