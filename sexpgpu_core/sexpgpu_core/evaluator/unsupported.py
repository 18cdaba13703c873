"""Names of the standard that are left out, each with the nearest thing: E-UNSUPPORTED.

What something defines (a builtin, a macro, a special form) is not looked up here.
"""

from __future__ import annotations

_GROUPS: tuple[tuple[str, str], ...] = (
    ("print-object says how an object prints", "describe-object"),
    ("nothing is written to compiled files", "make-load-form-saving-slots"),
    (
        "there are no packages: require and provide",
        """
        defpackage in-package make-package delete-package
        package-nicknames package-shadowing-symbols package-use-list package-used-by-list packagep
        list-all-packages rename-package use-package unuse-package export unexport import shadow
        shadowing-import unintern find-all-symbols do-symbols do-external-symbols do-all-symbols
        with-package-iterator
        package package-error
        """,
    ),
    (
        "evaluation reads no files: require, or the source of a loader",
        """
        load open close with-open-file with-open-stream probe-file delete-file rename-file
        directory truename file-author file-length file-position file-write-date
        file-string-length ensure-directories-exist pathname pathnamep make-pathname
        merge-pathnames namestring parse-namestring directory-namestring enough-namestring
        file-namestring host-namestring pathname-device pathname-directory pathname-host
        pathname-match-p pathname-name pathname-type pathname-version wild-pathname-p
        translate-pathname translate-logical-pathname
        logical-pathname-translations load-logical-pathname-translations user-homedir-pathname
        file-error file-stream
        """,
    ),
    (
        "everything is compiled when it is read",
        """
        compile-file compile-file-pathname
        disassemble with-compilation-unit function-lambda-expression
        """,
    ),
    (
        "streams of input are strings: with-input-from-string",
        """
        read-byte read-char-no-hang read-delimited-list read-preserving-whitespace read-sequence
        listen clear-input y-or-n-p yes-or-no-p interactive-stream-p
        """,
    ),
    (
        "output goes to print, format and with-output-to-string",
        """
        make-broadcast-stream make-concatenated-stream make-echo-stream make-synonym-stream
        make-two-way-stream broadcast-stream-streams concatenated-stream-streams
        echo-stream-input-stream echo-stream-output-stream synonym-stream-symbol
        two-way-stream-input-stream two-way-stream-output-stream open-stream-p
        stream-element-type stream-external-format write-byte write-sequence
        broadcast-stream concatenated-stream echo-stream synonym-stream two-way-stream
        """,
    ),
    (
        "the syntax is fixed: a macro",
        """
        copy-readtable readtablep readtable-case get-macro-character set-macro-character
        make-dispatch-macro-character get-dispatch-macro-character set-dispatch-macro-character
        set-syntax-from-char
        readtable
        """,
    ),
    (
        "lines are not broken for width: format",
        """
        pprint-dispatch set-pprint-dispatch copy-pprint-dispatch pprint-exit-if-list-exhausted
        pprint-fill pprint-indent pprint-linear pprint-logical-block pprint-newline pprint-pop
        pprint-tab pprint-tabular formatter
        """,
    ),
    (
        "with-simple-restart, and the restarts continue and muffle-warning",
        """
        restart-case restart-bind
        invoke-restart-interactively with-condition-restarts store-value use-value
        abort invoke-debugger break restart
        """,
    ),
    (
        "there are no complex numbers: two reals, or atan for the angle",
        "complex realpart imagpart cis phase upgraded-complex-part-type",
    ),
    (
        "evaluation has no clock and knows no machine",
        """
        get-universal-time get-decoded-time decode-universal-time encode-universal-time
        get-internal-real-time get-internal-run-time sleep time
        lisp-implementation-type lisp-implementation-version machine-instance machine-type
        machine-version short-site-name long-site-name software-type software-version room ed
        dribble
        """,
    ),
    (
        "print, or the verb `sexpgpu check`",
        "trace untrace step describe inspect apropos apropos-list documentation",
    ),
    ("subseq copies a part", "array-displacement"),
    ("maphash, or loop with being the hash-keys", "with-hash-table-iterator"),
    ("define-setf-expander and defsetf", "get-setf-expansion"),
    ("let of the printer variables", "with-standard-io-syntax"),
    ("setf of symbol-value, or defvar", "set"),
    ("error", " "),
)

HINTS: dict[str, str] = {name.upper(): hint for hint, names in _GROUPS for name in names.split()}
"""The nearest thing, by upper-case name."""


def unsupported(name: str) -> str | None:
    """The nearest thing to an upper-case name of the standard that is left out; None of others."""
    return HINTS.get(name)


MACROS = frozenset(
    """
    defpackage do-all-symbols do-external-symbols do-symbols formatter in-package
    pprint-exit-if-list-exhausted pprint-logical-block pprint-pop restart-bind restart-case step
    time trace untrace with-compilation-unit with-condition-restarts with-hash-table-iterator
    with-open-file with-open-stream with-package-iterator
    """.upper().split()
)
"""Those that are macros."""

TYPES = frozenset(
    """
    broadcast-stream concatenated-stream echo-stream file-error file-stream package package-error
    readtable restart synonym-stream two-way-stream
    """.upper().split()
)
"""Those that are types alone."""


def is_operator(name: str) -> bool:
    """Whether an upper-case name that is left out is a function or macro of the standard."""
    return name in HINTS and name not in TYPES
