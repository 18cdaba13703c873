"""The layout of every case and example: laid out twice it is as once, and reads as the text did.

python -P tests/fuzz/layouts.py [--cases FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import mutations

from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.reader.layout_check import checked_layout
from sexpgpu_core.spans import Source


def wrong(text: str) -> str | None:
    """What is wrong with a text's layout. `checked_layout` compares forms and comments itself."""
    try:
        once = checked_layout(Source("f.lisp", text))
        return None if checked_layout(Source("f.lisp", once)) == once else "it is not stable"
    except (Problem, Problems) as error:
        return str(error)


def broken(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Texts with what is wrong."""
    for text in texts:
        why = wrong(text)
        if why is not None:
            yield text, why


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=mutations.CASES)
    texts = mutations.sources(parser.parse_args().cases)
    found = list(broken(texts))
    for text, why in found:
        sys.stdout.write(f"{why}\n{text}\n\n")
    sys.stdout.write(f"{len(texts) - len(found)} of {len(texts)} texts have their layout\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
