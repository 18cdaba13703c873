"""Steps that a call of a dear builtin costs beyond one: about its time over that of a step.

What a call costs by the size of its data is paid when it is made (evaluator.spending).
"""

from __future__ import annotations

_BY_STEPS: dict[int, str] = {
    3: "butlast elt expt ldb make-list make-string max min random signum truncate",
    10: """adjoin count equalp every fill find find-if fresh-line gensym get-properties
        intersection make-array make-condition map-into mismatch notany notevery nsubst position
        position-if princ print prin1 reduce replace reverse nreverse rationalize round
        set-difference some string-downcase string-trim string-upcase sublis subseq subst
        sxhash union write
        """,
    25: """concatenate get-setf-expansion intern gentemp make-hash-table map merge parse-integer
        princ-to-string remove remove-if remove-if-not delete delete-if search signal sort
        stable-sort substitute typep write-to-string
        """,
    50: """coerce delete-duplicates eval format macroexpand macroexpand-1 prin1-to-string
        read-from-string remove-duplicates subtypep upgraded-array-element-type
        """,
    100: "cerror error warn",
}

COSTS: dict[str, int] = {
    name.upper(): steps for steps, names in _BY_STEPS.items() for name in names.split()
}
"""By upper-case name."""
