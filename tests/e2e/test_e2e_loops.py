"""Files with loops and gradients of their own train alike on both devices and on any threads."""

from __future__ import annotations

import pytest
from e2e_program import Folder, held, network, saved, series

CELL = """
(defmodel cell (s x &key (width 12))
  (bind-shape (b d) x
    (let ((h (first s)) (c (second s)))
      (defparam w (d (* 4 width)) :init (normal 0.3))
      (defparam u (width (* 4 width)) :init (normal 0.3))
      (defparam bias ((* 4 width)))
      (multiple-value-bind (i f o g) (split (+ (matmul x w) (matmul h u) bias) 4 :axis -1)
        (let ((new (+ (* (sigmoid f) c) (* (sigmoid i) (tanh g)))))
          (list (* (sigmoid o) (tanh new)) new))))))
"""
MODELS = {
    "lstm": """(bind-shape (b n) x
      (let ((zero (zeros (list b 12))))
        (multiple-value-bind (last hs)
            (scan (lambda (s v) (let ((new (cell s (dropout v 0.1)))) (values new (first new))))
                  (list zero zero) (one-hot x 27 :dtype :f32) :axis 1 {more})
          (nn:linear (+ hs (unsqueeze (second last) 1)) 27))))""",
    "map": """(nn:linear (map-over (lambda (row) (dropout (tanh row) 0.2))
                        (one-hot x 27 :dtype :f32)) 27)""",
    "choice": """(let ((z (nn:linear (one-hot x 27 :dtype :f32) 27)))
      (cond-select (> (mean (square z)) 0.01) (lambda () (* 2 z)) (lambda () (tanh z))))""",
    "physics": """(let* ((z (nn:linear (one-hot x 27 :dtype :f32) 9 :name "in")) (y (tanh z))
           (force (grad (sum (square (nn:linear y 3 :name "energy"))) z)))
      (nn:linear (+ y (* 0.1 force)) 27 :name "out"))""",
    "checkpoint": """(let ((z (one-hot x 27 :dtype :f32)))
      (dotimes (i 3) (setf z (checkpoint (gelu (nn:linear (dropout z 0.1) 27
                                                :name (path "h" i))))))
      z)""",
    "running": """(let ((z (nn:linear (one-hot x 27 :dtype :f32) 27)))
      (associative-scan (lambda (a b) (+ (* 0.5 a) b)) z :axis 1))""",
    "rounded": """(let ((z (nn:linear (one-hot x 27 :dtype :f32) 27)))
      (custom-gradient (lambda (v) (/ (round (* v 8)) 8)) (lambda (v y dy) dy) z))""",
}


def write(folder: Folder, model: str, keeping: str = "", **more: str) -> None:
    text = network(model=model.format(more=keeping), **more)
    folder.write("x.lisp", text.replace("(defmodel network", CELL + "(defmodel network"))


def trained(folder: Folder, name: str, *flags: str) -> dict[tuple[int, str], dict[str, float]]:
    held(folder.quick("run", "x.lisp", "--name", name, "-q", *flags), 0)
    return series(folder.made(name), "step")


@pytest.mark.parametrize("model", MODELS)
def test_both_devices_train_alike(folder: Folder, model: str) -> None:
    write(folder, MODELS[model], run=":steps 4 :seed 3 :log-every 1")
    ours = trained(folder, "cpu", "--device", "cpu")
    plain = trained(folder, "reference", "--device", "reference")
    assert len(ours) == 4
    for step, metrics in plain.items():
        assert ours[step]["train/loss"] == pytest.approx(metrics["train/loss"], rel=3e-4)


@pytest.mark.parametrize("model", ["lstm", "map"])
def test_threads_change_no_bit_of_a_loop(folder: Folder, model: str) -> None:
    write(folder, MODELS[model], run=":steps 6 :seed 3")
    found = []
    for threads in ("1", "2", "3"):
        trained(folder, threads, "--threads", threads)
        found.append(saved(folder.made(threads)))
    assert found[0] == found[1] == found[2]


def test_a_recurrent_net_learns(folder: Folder) -> None:
    write(folder, MODELS["lstm"], run=":steps 60 :seed 3 :log-every 1", rate="2e-2")
    losses = [m["train/loss"] for m in trained(folder, "it").values()]
    assert losses[-1] < 0.7 * losses[0]


def test_what_a_scan_keeps_changes_no_loss(folder: Folder) -> None:
    seen = []
    for number, more in enumerate(["", ":save :carry", ":segments 3"]):
        write(folder, MODELS["lstm"], more, run=":steps 4 :seed 3 :log-every 1")
        seen.append([m["train/loss"] for m in trained(folder, f"way{number}").values()])
    assert seen[1] == pytest.approx(seen[0], rel=1e-5)
    assert seen[2] == pytest.approx(seen[0], rel=1e-5)


@pytest.mark.parametrize("model", ["lstm", "map", "checkpoint"])
def test_microbatches_draw_and_train_as_one_batch(folder: Folder, model: str) -> None:
    seen = []
    for number, parts in enumerate(["", ":microbatches 2"]):
        write(folder, MODELS[model], run=f":steps 3 :seed 3 :log-every 1 {parts}")
        seen.append([m["train/loss"] for m in trained(folder, f"parts{number}").values()])
    assert seen[1] == pytest.approx(seen[0], rel=2e-4)


def test_a_loop_trains_in_16_bits(folder: Folder) -> None:
    write(folder, MODELS["lstm"], run=":steps 3 :seed 3 :log-every 1 :precision :bf16")
    ours = trained(folder, "cpu", "--device", "cpu")
    plain = trained(folder, "reference", "--device", "reference")
    for step, metrics in plain.items():
        assert ours[step]["train/loss"] == pytest.approx(metrics["train/loss"], rel=2e-2)


@pytest.mark.parametrize("phase", ["traced", "differentiated", "optimized", "lowered"])
def test_a_loop_is_shown_after_each_phase(folder: Folder, phase: str) -> None:
    write(folder, MODELS["lstm"])
    done = folder.quick("ir", "x.lisp", "--phase", phase, "--limit", "0")
    held(done, 0)
    assert "for trip < 8" in done.out if phase == "lowered" else "(scan " in done.out
