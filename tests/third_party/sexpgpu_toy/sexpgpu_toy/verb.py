"""`sexpgpu toy RUN`: how many steps were logged."""

import json

import click


@click.command("toy")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def toy(run, as_json):
    """Print how many steps RUN logged."""
    with open(f"{run}/events.jsonl", encoding="utf-8") as lines:
        n = sum(json.loads(line)["event"] == "step" for line in lines)
    document = {"version": 1, "document": "toy", "steps": n}
    click.echo(json.dumps(document) if as_json else f"{n} steps")
