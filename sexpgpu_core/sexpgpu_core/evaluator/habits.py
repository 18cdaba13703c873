"""What people write who come from Scheme, Clojure, Emacs Lisp or Python, and what it is here.

A single word is the word here, which can stand in the same place; other text is a hint.
"""

from __future__ import annotations

from .framework_habits import FRAMEWORKS, FUNCTIONS

SCHEME = {
    "BEGIN": "progn",
    "CALL-WITH-CURRENT-CONTINUATION": "block and return-from",
    "CALL/CC": "block and return-from",
    "DEFINE": "(defun name (parameter...) form...), or (defparameter name value)",
    "DEFINE-SYNTAX": "(defmacro name (parameter...) `(...))",
    "DISPLAY": "princ",
    "ELSE": "t, as in (cond ... (t form))",
    "EMPTY?": "null",
    "EQ?": "eq",
    "EQUAL?": "equal",
    "EQV?": "eql",
    "EVEN?": "evenp",
    "EXACT->INEXACT": "float",
    "FILTER": "remove-if-not",
    "FOLD": "reduce",
    "FOLDL": "reduce",
    "FOLDR": "(reduce function list :from-end t)",
    "FOR-EACH": "mapc",
    "HASH-REF": "(gethash key table)",
    "HASH-SET!": "(setf (gethash key table) value)",
    "INTEGER?": "integerp",
    "LETREC": "labels for functions, let* for values",
    "LIST->VECTOR": "(coerce list 'vector)",
    "LIST-REF": "(nth n list)",
    "LIST-TAIL": "(nthcdr n list)",
    "LIST?": "listp",
    "MAKE-VECTOR": "(make-array size :initial-element value)",
    "MODULO": "mod",
    "NEWLINE": "terpri",
    "NULL?": "null",
    "NUMBER->STRING": "princ-to-string",
    "NUMBER?": "numberp",
    "ODD?": "oddp",
    "PAIR?": "consp",
    "PROCEDURE?": "functionp",
    "QUOTIENT": "truncate",
    "REMAINDER": "rem",
    "SET!": "setf",
    "SET-CAR!": "(setf (car cons) value)",
    "SET-CDR!": "(setf (cdr cons) value)",
    "STRING->NUMBER": "parse-integer",
    "STRING->SYMBOL": "intern",
    "STRING-APPEND": "(concatenate 'string ...)",
    "STRING-LENGTH": "length",
    "STRING-REF": "char",
    "STRING?": "stringp",
    "SYMBOL->STRING": "symbol-name",
    "SYMBOL?": "symbolp",
    "VECTOR->LIST": "(coerce vector 'list)",
    "VECTOR-LENGTH": "length",
    "VECTOR-REF": "aref",
    "VECTOR-SET!": "(setf (aref vector index) value)",
    "VOID": "nil, the value of nothing",
    "ZERO?": "zerop",
}

CLOJURE = {
    "ASSOC-IN": "(setf (gethash key table) value)",
    "CONJ": "cons, or push",
    "DEC": "1-",
    "DEF": "defparameter",
    "DEFN": "defun",
    "DEFRECORD": "defstruct",
    "DO!": "progn",
    "DOSEQ": "(dolist (name list) form...)",
    "FN": "lambda",
    "IF-LET": "(let ((name value)) (if name then else))",
    "INC": "1+",
    "NIL?": "null",
    "NOT=": "/= for numbers, (not (equal a b))",
    "NS": "(provide name ...) at the head of a module",
    "PRINTLN": "print",
    "RECUR": "a call of the function itself, or loop",
    "SOME->": "->",
    "STR": '(format nil "~a~a" ...), or (concatenate \'string ...)',
    "SWAP!": "(setf place value), or incf",
    "RESET!": "setf",
    "WHEN-LET": "(let ((name value)) (when name form...))",
}

EMACS = {
    "ADD-TO-LIST": "(pushnew item place)",
    "ALIST-GET": "(cdr (assoc key alist))",
    "CAR-SAFE": "car",
    "CL-DEFUN": "defun",
    "CL-LOOP": "loop",
    "CONDITION-CASE": "(handler-case form (error (e) form...))",
    "DEFCUSTOM": "defparameter, or defknob for what a run may set",
    "DEFVAR-LOCAL": "defvar",
    "EVAL-WHEN-COMPILE": "progn",
    "IF-LET*": "(let* ((name value)) (if name then else))",
    "INTERACTIVE": "nothing: a function here has no commands",
    "MESSAGE": '(format t "~a~%" ...)',
    "NUMBER-TO-STRING": "princ-to-string",
    "PLIST-GET": "getf",
    "PUTHASH": "(setf (gethash key table) value)",
    "SAVE-EXCURSION": "progn",
    "SEQ-FILTER": "remove-if-not",
    "SETQ-DEFAULT": "setq",
    "STRING-TO-NUMBER": "parse-integer",
    "THREAD-FIRST": "->",
    "THREAD-LAST": "->>",
    "WHEN-LET*": "(let* ((name value)) (when name form...))",
    "WHILE": "(loop while test do form...)",
}

PYTHON = {
    "!": "not",
    "!=": "/=",
    "%": "mod",
    "&&": "and",
    "**": "expt",
    "//": "floor",
    "<>": "/=",
    "==": "=",
    "^": "expt, or logxor for bits",
    "||": "or",
    "+=": "incf",
    "-=": "decf",
    "DICT": "(make-hash-table), or a property list '(:key value)",
    "ELIF": "another clause of cond: (cond (test form) (test form) (t form))",
    "FALSE": "nil",
    "FOR": "(dolist (name list) ...), (dotimes (name n) ...) or (loop for name in list do ...)",
    "FOREACH": "(dolist (name list) form...)",
    "HEAD": "first",
    "IMPORT": '(require "name")',
    "LEN": "length",
    "NONE": "nil",
    "PRINTF": '(format t "~a" ...)',
    "RAISE": "error",
    "RANGE": "(loop for i below n collect i)",
    "SWITCH": "(case key (value form...) (t form...))",
    "MATCH": "(case key (value form...) (t form...)), or destructuring-bind",
    "TAIL": "rest",
    "TRUE": "t",
    "TRY": "(handler-case form (error (e) form...))",
}

HABITS = {**FRAMEWORKS, **PYTHON, **EMACS, **CLOJURE, **SCHEME}
"""By upper-case name."""


def habit_of(name: str) -> str | None:
    """What an upper-case name of elsewhere is here; an underscore is as good as a dash."""
    return HABITS.get(name) or HABITS.get(name.replace("_", "-"))


def is_syntax(name: str) -> bool:
    """Whether an upper-case name is a form elsewhere: what stands in it need not be calls."""
    return habit_of(name) is not None and name.replace("_", "-") not in FUNCTIONS


VALUES = {"TRUE": "t", "FALSE": "nil", "NONE": "nil", "NULL": "nil", "ELSE": "t",
          "UNDEFINED": "nil", "NAN": "a number: there is none such"}  # fmt: skip
"""Names of values."""

INFIX = {
    "+": "+", "-": "-", "*": "*", "/": "/", "%": "mod", "**": "expt", "//": "floor",
    "==": "=", "!=": "/=", "<": "<", ">": ">", "<=": "<=", ">=": ">=",
    "+=": "incf", "-=": "decf", "AND": "and", "OR": "or", "IN": "member", "IS": "eq",
}  # fmt: skip
"""Operators between their operands, and what stands first here."""
