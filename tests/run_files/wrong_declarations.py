"""Knobs, sweeps, loaders and models that are wrong, each in its own way, as wrong_forms.py has the
other forms: what is written, the code, the place, words that are told."""

from __future__ import annotations

from wrong_forms import ANY, OPTION, SHAPE, TWICE, UNBOUND, VALUE

KNOB = '(defknob depth 2 "Layers." {})'
VARIANT = '(defknob depth 2 "Layers.")\n(defvariant small "Small." {})'
SWEEP = '(defknob depth 2 "Layers.")\n(defsweep s {})'
DATA = "(defloader data (source (digits)) {})"
STAGED = DATA.replace("{}", "(stage :train {}) (stage :val) (batch 8)")
CLAUSE = DATA.replace(
    "{}", "(stage :train :split (0 0.8)) (stage :val :split (0.8 1)) (batch 8) {}"
)
MODEL = "(defmodel net (x) {} (nn:linear x 10))"
PARAMETER = "(defmodel net (x) (defparam w {}) (matmul x w))"
SWEPT = "E-SWEEP-SHAPE"

WRONG: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    KNOB: (
        (":type", SHAPE, ":type", "has no value"),
        ("3", SHAPE, "3", "where an option"),
        (":choices ()", SHAPE, "()", ":choices has none"),
        (":choices 3", SHAPE, "3", ":choices is a list"),
        (":choices '(2 3)", VALUE, "'(2 3)", "neither quoted nor made"),
        (":type (integer 3 1)", "E-KNOB-VALUE", "2", "not of type (integer 3 1)"),
        (":type (intger 1)", "E-TYPE", "(intger 1)", "did you mean integer?"),
    ),
    VARIANT: (
        (":depth", SHAPE, ":depth", "has no value"),
        ("3", SHAPE, "3", "knobs are written flat"),
        (':depth "x"', "E-KNOB-VALUE", '"x"', "not of type integer"),
        (":depth 3 :depth 4", "E-KNOB-TWICE", ":depth", "stands twice"),
    ),
    SWEEP: (
        (":grid (depth (1 2))", SHAPE, "depth", "a row"),
        (":grid ((depth 1 2))", SHAPE, "(depth 1 2)", "has 2 elements, and here 3"),
        (":grid ((depth '(1 2)))", VALUE, "'(1 2)", "neither quoted nor made"),
        (":grid ((depth (1 2)) (depth (3)))", "E-KNOB-TWICE", "depth", "stands twice"),
        (':grid ((depth (1 2))) :rank "val/loss"', SHAPE, '"val/loss"', ":rank is a list"),
        (':grid ((depth (1 2))) :rank ("val/loss" :least)', OPTION, ":least", ":min :max"),
        (":grid ((depth (:form 3)))", "E-TYPE", "3", "(:form ...) of depth got 3, wants a list"),
        (":grid ((depth (1 2))) :where (< depth 0)", SWEPT, "(< depth 0)", "leaves nothing"),
        (":grid ((depth (1 2))) :seeds 0", SWEPT, "0", "at least 1"),
        (":random ((depth (gauss 0 1))) :n 3", SWEPT, "gauss", "is no distribution"),
    ),
    STAGED: (
        (":split 0.8", VALUE, "0.8", "two fractions"),
        (":split (0.8 0.2)", VALUE, "0.8", "no part of 0 to 1"),
        (':split (0 "a")', VALUE, '"a"', "wants a number"),
        (":split (0 0.5 1)", SHAPE, "(0 0.5 1)", "two fractions"),
        (":split (0 part)", UNBOUND, "part", "no variable"),
        (":map ()", SHAPE, "()", ":map has no field"),
        (":split-by ()", SHAPE, "(stage :train :split-by ())", "split-by has a method"),
        (":split-by :hahs :order :random", OPTION, ":hahs", "did you mean :hash?"),
        (":order shuffled", UNBOUND, "shuffled", "no variable"),
        (":order :shufled", VALUE, ":shufled", ":shuffled"),
        (":precision :f23", VALUE, ":f23", "did you mean :f32?"),
        (
            ":microbatches 3",
            "E-BATCH-DIVIDE",
            "(stage :train :microbatches 3)",
            "no whole multiple",
        ),
        (":batch 0", VALUE, "0", "an integer from 1"),
        (":steps 1.5", VALUE, "1.5", "an integer from 1"),
    ),
    DATA: (
        ("(stage train) (batch 8)", SHAPE, "(stage train)", "a keyword as its name"),
        ("(stage) (batch 8)", SHAPE, "(stage)", "a keyword as its name"),
        ('(stage :train) (batch "8")', VALUE, '"8"', "an integer from 1"),
        ("(stage :train) (batch 8 9)", SHAPE, "9", "takes one thing"),
        ("(stage :train) (batch)", SHAPE, "(batch)", "takes one thing"),
        ("(stage :train) :batch 8", SHAPE, ":batch", "a clause is a list"),
        ("(source (digits)) (stage :train) (batch 8)", TWICE, "(source (digits))", "source"),
    ),
    CLAUSE: (
        ("(shuffle t)", OPTION, "shuffle", "that is :order"),
        ("(counter seen 8)", SHAPE, "(counter seen 8)", "a keyword and a form"),
        ("(counter :seen 1.5)", VALUE, "1.5", "an integer from 0"),
        ("(counter :step 8)", TWICE, ":step", "a key of ctx"),
        ("(counter :seen 8) (counter :seen 8)", TWICE, ":seen", "a counter already"),
        ("(split-by :hsah)", OPTION, ":hsah", "did you mean :hash?"),
        ('(split-by :hash :seed "a")', VALUE, '"a"', "an integer"),
        ("(fields)", SHAPE, "(fields)", "has no field"),
        ("(fields (x image :f32))", UNBOUND, "image", "no variable"),
    ),
    MODEL: (
        ("(defparam)", SHAPE, "(defparam)", "a name and a shape"),
        ("(defparam w)", SHAPE, "(defparam w)", "a name and a shape"),
        ('(defparam "w" (64 10))', SHAPE, '"w"', "the name of the parameter"),
        ("(defstate s (64) :combine :avg)", VALUE, ":avg", "one of :mean"),
        ("(defstate s (64) :per :example)", VALUE, ":example", "one of :row"),
        ("(defstate s (64) :dtype f32)", UNBOUND, "f32", "no variable"),
    ),
    PARAMETER: (
        ('(64 "a")', VALUE, '"a"', "an integer from 0"),
        ("'(64 10)", VALUE, "'(64 10)", "neither quoted nor made"),
        ("(64 -10)", VALUE, "-10", "an integer from 0"),
        ("(64 n)", UNBOUND, "n", "no variable"),
        ('(64 10) :init "normal"', VALUE, '"normal"', "an initializer"),
        ("(64 10) :init (nromal 0.1)", "E-NAME-FUNCTION", "(nromal 0.1)", "did you mean normal?"),
        ("(64 10) :dtype :f23", "E-DTYPE-ARGUMENT", ":f23", "did you mean :f32?"),
        ("(64 10) 0.1", SHAPE, "0.1", "where an option"),
        ("(64 10) :trainable :no", VALUE, ":no", "t or nil"),
    ),
    ANY: (
        ("(defknob depth)", SHAPE, "(defknob depth)", "a name and a default"),
        ('(defknob "depth" 2 "d")', SHAPE, '"depth"', "the name of the knob"),
        ('(defknob depth "a" "d" :type integer)', "E-KNOB-VALUE", '"a"', "not of type integer"),
        ("(defloader data)", "E-MISSING", "(defloader data)", "no source"),
        ('(defloader "data" (source (digits)))', SHAPE, '"data"', "the name of the loader"),
        ("(defloader data (source digits))", SHAPE, "digits", "its kind first"),
        ("(defloader data (source))", SHAPE, "(source)", "takes one thing"),
        ("(defmodel net)", SHAPE, "(defmodel net)", "a lambda list"),
        ("(defmodel net (x &key name) (nn:linear x 10))", "E-CONTRACT", "name", "belongs to each"),
        ('(load-params "a.safetensors" :map ("a" "b"))', SHAPE, '"a"', "a pair of :map"),
        ('(load-params "a.safetensors" :ignore "x")', SHAPE, '"x"', ":ignore is a list"),
        ("(load-params (run-checkpoint))", SHAPE, "(run-checkpoint)", "names a run"),
    ),
}
