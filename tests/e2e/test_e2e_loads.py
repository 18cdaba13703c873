"""A run begins with the weights of a file, or of another run's checkpoint; a resume loads none."""

from __future__ import annotations

import json

from e2e_program import Folder, network, saved, validate

LOAD = '(load-params (run-checkpoint "first"{}))\n'


def with_load(load: str, rate: str = "0.0") -> str:
    text = network(run=":steps 4 :seed 8 :checkpoint (:every 2)", rate=rate)
    return text.replace("(defun objective", f"{load}(defun objective", 1)


def test_a_run_begins_where_another_ended_and_resumes_without_loading(folder: Folder) -> None:
    folder.write("x.lisp", network(run=":steps 6 :seed 3 :checkpoint (:every 3)"))
    assert folder.quick("run", "x.lisp", "--name", "first", "-q").exit == 0
    first = folder.made("first")
    for at, step in (("", 6), (" :at 3", 3)):
        folder.write("y.lisp", with_load(LOAD.format(at)))
        done = folder.quick("run", "y.lisp", "--name", f"of{step}", "-q")
        assert done.exit == 0, done.err
        # a rate of 0 and no decay of biases: what was loaded is what is there
        assert (
            saved(folder.made(f"of{step}"))["params.safetensors"]
            == saved(first, step)["params.safetensors"]
        )
        manifest = json.loads((folder.made(f"of{step}") / "manifest.json").read_text())
        validate(manifest, "manifest")
        assert manifest["weights"][0]["path"].endswith("params.safetensors")
    folder.write("y.lisp", with_load(LOAD.format(" :at 3"), "1e-2"))
    whole = folder.quick("run", "y.lisp", "--name", "whole", "-q")
    assert whole.exit == 0
    again = folder.quick("run", "y.lisp", "--name", "whole", "-q", "--resume", "2")
    assert again.exit == 0, again.err
    proved = folder.quick("checkpoint", "verify", "whole")
    assert proved.exit == 0, proved.out + proved.err


def test_what_is_exported_can_be_loaded(folder: Folder) -> None:
    folder.write("x.lisp", network(run=":steps 6 :seed 3"))
    assert folder.quick("run", "x.lisp", "--name", "first", "-q").exit == 0
    out = ("-o", "w.safetensors", "--rename", "network=model", "--rename", "/=.")
    assert folder.quick("checkpoint", "export", "first", *out).exit == 0
    load = '(load-params "w.safetensors" :from "model" :into "network")\n'
    folder.write("y.lisp", with_load(load))
    assert folder.quick("run", "y.lisp", "--name", "second", "-q").exit == 0
    names = ("params.safetensors",)
    old, new = saved(folder.made("first")), saved(folder.made("second"))
    assert [old[n] for n in names] == [new[n] for n in names]
