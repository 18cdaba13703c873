;;;; typep
(typep 3 '(integer 0 10)) ; t
;;;; subtypep
(subtypep 'integer 'rational) ; t; t
;;;; type-of
(type-of "abc") ; (simple-array character (3))
;;;; coerce
(coerce '(1 2) 'vector) ; #(1 2)
(coerce 1/2 'float) ; 0.5
