"""`completion SHELL`: the script that completes verbs and flags."""

from __future__ import annotations

import click

from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation


@verb("completion")
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(["bash", "zsh", "fish"]))
def completion(invocation: Invocation, shell: str) -> Answer:
    """Print the completion script of SHELL."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    script = made(root, {}, "sexpgpu", "_SEXPGPU_COMPLETE").source()
    return Answer(document("completion", shell=shell, script=script), script)
