"""What each form of a run file looks like: the hint of a mistake in its shape that has no other.

By the form's name, and by it and one of its options or clauses. Every row is read by the tests.
"""

from __future__ import annotations

from ..diagnostics import lookup

SHOWN = {
    "defknob": '(defknob width 128 "Units." :type (integer 1))',
    "defknob choices": ":choices (:relu :gelu)",
    "defvariant": "(defvariant small :depth 2 :width 64)",
    "defsweep": '(defsweep s :grid ((width (64 128))) :seeds 3 :rank ("val/loss" :min))',
    "defsweep grid": ":grid ((width (64 128)) (depth (2 4)))",
    "defsweep zip": ":zip ((width (64 128)) (depth (2 4)))",
    "defsweep random": ":random ((rate (log-uniform 1e-4 1e-2)) (width (choice 64 128))) :n 20",
    "defsweep n": ":random ((width (choice 64 128))) :n 20",
    "defsweep where": ":where (< width 256)",
    "defsweep seeds": ":seeds 3",
    "defsweep over": ":over (fold)",
    "defsweep variant": ":variant small",
    "defsweep rank": ':rank ("val/loss" :min)',
    "defloader": "(defloader d (source (digits)) (stage :train :split (0 0.9)) (batch 64))",
    "defloader source": "(source (digits))",
    "defloader fields": "(fields (label 0 :i32) (dense (1 14) :f32 :missing 0))",
    "defloader windows": "(windows 64 :stride 32)",
    "defloader whole": "(whole)",
    "defloader split-by": "(split-by (:stratify label))",
    "defloader stage": "(stage :train :split (0 0.9) :order :shuffled)",
    "defloader stage source": ":source (digits)",
    "defloader stage split": ":split ((0 0.2) (0.4 1))",
    "defloader stage split-by": ":split-by (:group label)",
    "defloader stage windows": ":windows (64 :stride 32)",
    "defloader stage map": ":map ((label (lambda (x) (mod x 2))))",
    "defloader stage mask": ":mask (split 1)",
    "defloader batch": "(batch 64)",
    "defloader map": "(map label (lambda (x) (mod x 2)))",
    "defloader counter": "(counter :tokens (* (ctx :batch) (ctx :window)))",
    "stage-stat": "(stage-stat (d :train) image :mean)",
    "file-tensor": '(file-tensor (npz "table.npz" :field "rows"))',
    "loader-info": "(loader-info text :vocab)",
    "loader-batch": "(loader-batch text :train 17)",
    "defmodel": "(defmodel net (x &key (width 64)) (nn:linear x width))",
    "defparam": "(defparam w ((dim x -1) 8) :init (normal 0.02))",
    "defstate": "(defstate mean (8) :init 0 :combine :mean)",
    "with-scope": '(with-scope "head" (nn:linear x 10))',
    "with-call": "(with-call (nn:linear) (lambda (x n) (nn:linear x n)) (net x))",
    "with-numerics": "(with-numerics (:matmul :f32) (matmul x w))",
    "load-params": '(load-params "weights.safetensors" :into "net" :ignore ("**/extra"))',
    "defeval": "(defeval val :loader (d :val) :every 100)",
    "defeval loader": ":loader (d :val)",
    "defeval output": ":output scores",
    "defeval at": ":at (0 100 :end)",
    "defeval weights": ':weights (:best "val/loss")',
    "defeval save": ":save (:png :columns 8)",
    "deftarget": '(deftarget "val/loss" :below 1.9)',
    "defoutput": "(defoutput scores (&key image) (net image))",
    "defoptimizer": (
        "(defoptimizer o (&key (lr 0.1)) (optimizer-update (param grad) (- param (* lr grad))))"
    ),
    "defschedule": "(defschedule rate (top) (* top (- 1 (ctx :progress))))",
    "select": '(select :path "head/**" :rank (>= 2))',
    "defdiagnostic": "(defdiagnostic size (&key param) (:for (select :rank 2)) (norm param))",
    "defrun": "(defrun :steps 1000 :seed 1)",
    "defrun until": ":until (:tokens 1e9)",
    "defrun checkpoint": ':checkpoint (:every 100 :at (10 :end) :keep 3 :best ("val/loss" :min))',
    "defrun diagnostics": ':diagnostics (:every 50 :select ("grad/norm" "act/**"))',
    "defrun finite-guard": ":finite-guard (:skip 3)",
}


def shown(head: str, options: str) -> str:
    """The row of the innermost of some options that has one, or of their form; else what the
    catalogue says."""
    words = f"{head} {options}".split()
    rows = (SHOWN.get(" ".join(words[:count])) for count in range(len(words), 0, -1))
    found = next(filter(None, rows), None)
    return f"as in {found}" if found else lookup("E-FORM-SHAPE").fix
