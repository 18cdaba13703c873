"""Builtins that always give exactly one value: their calls need no check for several."""

from __future__ import annotations

SINGLE_VALUED = frozenset(
    """
    + - * / 1+ 1- abs signum min max gcd lcm expt exp log sqrt isqrt sin cos tan mod rem
    numerator denominator rational float zerop plusp minusp oddp evenp = /= < > <= >=
    logand logior logxor lognot ash integer-length logcount logbitp random
    car cdr caar cadr cdar cddr caddr cadddr cons list list* append nconc length reverse nreverse
    first second third fourth fifth rest nth nthcdr last butlast null not eq eql equal equalp
    atom consp listp symbolp numberp integerp floatp rationalp realp stringp characterp vectorp
    arrayp functionp keywordp member assoc rassoc getf get mapcar mapc mapcan maplist copy-list
    find position count remove remove-if remove-if-not delete subseq elt aref svref char schar
    make-array vector vector-push vector-push-extend vector-pop array-dimension array-rank
    string= string-equal string-upcase string-downcase char= char-code code-char
    concatenate map sort stable-sort reduce symbol-name gensym make-hash-table typep identity
    every notany notevery rplaca rplacd push-form union intersection set-difference adjoin acons
    pairlis sublis subst copy-tree copy-seq fill replace string princ-to-string prin1-to-string
    """.upper().split()
)
