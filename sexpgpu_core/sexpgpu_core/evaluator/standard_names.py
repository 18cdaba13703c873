"""Names of the standard that this language leaves out, so that they are never "undefined"."""

from __future__ import annotations

INSTEAD = {
    "DEFCLASS": "defstruct",
    "DEFGENERIC": "defun with typecase",
    "DEFMETHOD": "defun with typecase",
    "MAKE-INSTANCE": "defstruct and its constructor",
    "SLOT-VALUE": "the accessor of a defstruct",
    "DEFPACKAGE": "require and provide",
    "IN-PACKAGE": "require and provide",
    "USE-PACKAGE": "require with :import",
    "LOAD": "require",
    "COMPILE": "nothing: everything is compiled",
    "OPEN": "a loader's source",
    "WITH-OPEN-FILE": "a loader's source",
    "READ": "read-from-string",
    "READ-LINE": "read-from-string",
    "RESTART-CASE": "with-simple-restart",
    "RESTART-BIND": "with-simple-restart",
    "COMPLEX": "two real numbers",
    "GET-UNIVERSAL-TIME": "nothing: evaluation has no clock",
    "GET-INTERNAL-REAL-TIME": "nothing: evaluation has no clock",
    "GET-INTERNAL-RUN-TIME": "nothing: evaluation has no clock",
    "SLEEP": "nothing: evaluation has no clock",
    "TIME": "nothing: evaluation has no clock",
    "SET": "setf of symbol-value",
    "SXHASH": "a hash table",
    "TRACE": "print; the sum of a diagonal is matrix-trace",
    "UNTRACE": "print",
    "STEP": "print",
    "BREAK": "error",
    "DESCRIBE": "print",
    "INSPECT": "print",
    "ED": "an editor",
    "DRIBBLE": "print",
    "ROOM": "nothing",
    "REQUIRE-PACKAGE": "require",
    "FORMATTER": "format",
    "CONJUGATE": "nothing: there are no complex numbers",
    "REALPART": "nothing: there are no complex numbers",
    "IMAGPART": "nothing: there are no complex numbers",
    "PHASE": "atan",
    "CIS": "cos and sin",
    "MAP-INTO": "map or replace",
}

STANDARD: frozenset[str] = frozenset(
    [
        *INSTEAD,
        *"""
        abort add-method allocate-instance apropos apropos-list arithmetic-error-operands
        broadcast-stream-streams call-method call-next-method cell-error-name change-class
        class-name class-of clear-input clear-output close compile-file compile-file-pathname
        compiler-macro-function compute-applicable-methods compute-restarts concatenated-stream-streams
        copy-pprint-dispatch copy-readtable decode-float decode-universal-time define-compiler-macro
        define-method-combination delete-file delete-package describe-object directory
        directory-namestring disassemble do-all-symbols do-external-symbols do-symbols documentation
        echo-stream-input-stream echo-stream-output-stream encode-universal-time enough-namestring
        ensure-directories-exist ensure-generic-function export file-author file-error-pathname
        file-length file-namestring file-position file-string-length file-write-date
        find-all-symbols find-class find-method find-package find-symbol finish-output
        float-digits float-precision float-radix float-sign force-output function-keywords
        function-lambda-expression get-decoded-time get-dispatch-macro-character
        get-macro-character get-output-stream-string get-setf-expansion host-namestring import
        initialize-instance input-stream-p integer-decode-float interactive-stream-p
        invalid-method-error invoke-debugger invoke-restart-interactively lisp-implementation-type
        lisp-implementation-version list-all-packages listen load-logical-pathname-translations
        logical-pathname logical-pathname-translations long-site-name machine-instance machine-type
        machine-version make-broadcast-stream make-concatenated-stream make-dispatch-macro-character
        make-echo-stream make-instances-obsolete make-load-form make-load-form-saving-slots
        make-method make-package make-pathname make-string-input-stream make-string-output-stream
        make-synonym-stream make-two-way-stream merge-pathnames method-combination-error
        method-qualifiers muffle-warning namestring next-method-p no-applicable-method
        no-next-method open-stream-p output-stream-p package-error-package package-name
        package-nicknames package-shadowing-symbols package-use-list package-used-by-list packagep
        parse-namestring pathname pathname-device pathname-directory pathname-host
        pathname-match-p pathname-name pathname-type pathname-version pathnamep peek-char
        pprint pprint-dispatch pprint-exit-if-list-exhausted pprint-fill pprint-indent
        pprint-linear pprint-logical-block pprint-newline pprint-pop pprint-tab
        pprint-tabular print-object probe-file proclaim provide-package rassoc-if read-byte read-char
        read-char-no-hang read-delimited-list read-preserving-whitespace read-sequence readtable-case
        readtablep reinitialize-instance remove-method rename-file rename-package restart-name
        scale-float set-dispatch-macro-character set-macro-character set-pprint-dispatch
        set-syntax-from-char shadow shadowing-import shared-initialize short-site-name
        signum-complex slot-boundp slot-exists-p slot-makunbound slot-missing slot-unbound
        software-type software-version store-value stream-element-type stream-error-stream
        stream-external-format streamp synonym-stream-symbol translate-logical-pathname
        translate-pathname truename two-way-stream-input-stream two-way-stream-output-stream
        unexport unintern unread-char unuse-package update-instance-for-different-class
        update-instance-for-redefined-class upgraded-complex-part-type use-value user-homedir-pathname
        wild-pathname-p with-accessors with-compilation-unit with-condition-restarts
        with-hash-table-iterator with-input-from-string with-open-stream with-package-iterator
        with-slots with-standard-io-syntax write-byte write-sequence y-or-n-p yes-or-no-p
        invoke-restart find-restart ignore-errors in-package declaim complexp
        """.upper().split(),
    ]
)
"""Names that `E-UNSUPPORTED` is said of where nothing defines them."""
