"""Every verb is what contracts/verbs.md says: its words, arguments, options, document, exits."""

from __future__ import annotations

from functools import cache

import click
import pytest
from contract_pages import Option, Row, Synopsis, missing, verbs

from sexpgpu_cli.plugin import EXITS, VERBS
from sexpgpu_cli.program import Program
from sexpgpu_core import config, plugins

pytestmark = missing
LATER = {
    "watch": "editors and pages of runs: a later issue",
    "lsp": "editors and pages of runs: a later issue",
    "report": "editors and pages of runs: a later issue",
    "board": "editors and pages of runs: a later issue",
    "bundle": "shipping: a later issue",
}
"""Verbs that the contract names and nothing makes yet."""

DEFAULTS = {
    ("check", "--limit"): 20,
    ("check", "--color"): "auto",
    ("run", "--if-exists"): "run",
    ("run", "--ranks"): 1,
    ("sweep", "--executor"): "local",
    ("sweep", "--jobs"): 1,
    ("runs", "--sort"): "created",
    ("events", "--every"): 1,
    ("ir", "--graph"): "train",
    ("predict", "--weights"): "live",
    ("checkpoint export", "--weights"): "live",
}
COMMON = {"--json", "--quiet", "--limit", "--runs", "--config", "--color", "--deny", "--allow"}
BUILT = [row for row in verbs() if row.verb not in LATER]
FORMS = [form for row in BUILT for form in row.synopses]
ROWS = {name: document for name, _, _, document in VERBS}


@cache
def program() -> Program:
    return Program(plugins.installed(config.settings(config=None, runs=None)))


def command(verb: str) -> click.Command:
    found = program().get_command(click.Context(program()), verb)
    assert found is not None, f"there is no verb {verb}"
    return found


def commands(form: Synopsis) -> dict[str, click.Command]:
    """What a synopsis is about: the verb, or the words after it."""
    of = command(form.verb)
    if not form.words:
        return {form.verb: of}
    assert isinstance(of, click.Group)
    return {f"{form.verb} {word}": of.commands[word] for word in form.words}


def test_the_exits_of_a_verb_are_the_contracts() -> None:
    told: dict[str, set[int]] = {}
    for row in BUILT:
        told.setdefault(row.verb, set()).update(row.exits)
    assert {name: set(exits) for name, exits in EXITS.items()} == told


def option(of: click.Command, name: str) -> click.Option | None:
    made = [p for p in of.params if isinstance(p, click.Option)]
    return next((p for p in made if name in (*p.opts, *p.secondary_opts)), None)


def test_every_verb_is_of_the_contract_or_none_and_what_is_later_is_not_there() -> None:
    named = {row.verb for row in verbs()}
    assert set(ROWS) == named - set(LATER)
    assert set(LATER) <= named


@pytest.mark.parametrize("form", FORMS, ids=lambda f: " ".join((f.verb, *f.words)))
def test_a_verb_takes_the_options_and_arguments_of_its_synopsis(form: Synopsis) -> None:
    for name, of in commands(form).items():
        for wanted in form.options:
            _held(name, of, wanted)
        taken = [
            p.make_metavar(click.Context(of)) for p in of.params if isinstance(p, click.Argument)
        ]
        assert _alike(" ".join(form.arguments), " ".join(taken)), (name, form.arguments, taken)


def _alike(told: str, taken: str) -> bool:
    """Whether words are the same, where some are alternatives of the others'."""
    taken = taken.replace("RUN[@STEP]", "RUN|SAVE")
    ours = [set(word.strip("[]").split("|")) for word in taken.split()]
    theirs = [set(word.strip("[]").split("|")) for word in told.split()]
    return len(theirs) <= len(ours) and all(a <= b for a, b in zip(theirs, ours, strict=False))


def _held(name: str, of: click.Command, wanted: Option) -> None:
    for word in wanted.names:
        made = option(of, word)
        assert made is not None, f"{name} has no {word}"
        if wanted.value == "...":  # as SELECT has it
            continue
        assert made.is_flag == (wanted.value is None), (name, word)
        assert made.multiple >= wanted.several, (name, word)
        if wanted.value is not None:
            _choices(name, word, made, wanted.value)


def _choices(name: str, word: str, made: click.Option, value: str) -> None:
    """Words that an option's value may be are taken, or named in its help."""
    known = set(getattr(made.type, "choices", ())) or set((made.metavar or "").split("|"))
    told = [choice for choice in value.split("|") if choice.islower()]
    if len(told) > 1 or hasattr(made.type, "choices"):
        assert set(told) <= known, (name, word, told)


@pytest.mark.parametrize(("where", "name"), sorted(DEFAULTS))
def test_a_default_is_the_contracts(where: str, name: str) -> None:
    verb, _, word = where.partition(" ")
    form = Synopsis(verb, (word,) if word else (), (), ())
    made = option(commands(form)[where], name)
    assert made is not None
    assert made.default == DEFAULTS[where, name]


def leaves() -> list[tuple[str, click.Command]]:
    found = [(name, command(name)) for name in ROWS]
    inner = [
        (f"{n} {w}", c)
        for n, of in found
        if isinstance(of, click.Group)
        for w, c in of.commands.items()
    ]
    return [(n, c) for n, c in found if not isinstance(c, click.Group)] + inner


def test_flags_of_every_verb_are_of_every_verb_and_short_ones_are_few() -> None:
    for name, of in leaves():
        made = {o for p in of.params if isinstance(p, click.Option) for o in p.opts}
        assert made >= COMMON, name
        assert {o for o in made if not o.startswith("--")} <= {"-q", "-s", "-o"}, name
        assert ("-o" in made) == ("--out" in made), name


DOCUMENTS = [row for row in BUILT if row.json.split()[0].strip(",") in ROWS.values()]


@pytest.mark.parametrize("row", DOCUMENTS, ids=lambda row: row.verb)
def test_a_document_is_the_one_of_the_contract(row: Row) -> None:
    if row.verb != "explain":  # it has two, by what it is asked
        assert ROWS[row.verb] == row.json.split()[0].strip(",") or row.synopses[0].words
