;;;; caaar
(caaar '(((x)))) ; x
;;;; caadr
(caadr '(1 (x))) ; x
;;;; cadar
(cadar '((1 x))) ; x
;;;; caddr
(caddr '(1 1 x)) ; x
;;;; cdaar
(cdaar '(((1 . x)))) ; x
;;;; cdadr
(cdadr '(1 (1 . x))) ; x
;;;; cddar
(cddar '((1 1 . x))) ; x
;;;; cdddr
(cdddr '(1 1 1 . x)) ; x
;;;; caaaar
(caaaar '((((x))))) ; x
;;;; caaadr
(caaadr '(1 ((x)))) ; x
;;;; caadar
(caadar '((1 (x)))) ; x
;;;; caaddr
(caaddr '(1 1 (x))) ; x
;;;; cadaar
(cadaar '(((1 x)))) ; x
;;;; cadadr
(cadadr '(1 (1 x))) ; x
;;;; caddar
(caddar '((1 1 x))) ; x
;;;; cadddr
(cadddr '(1 1 1 x)) ; x
;;;; cdaaar
(cdaaar '((((1 . x))))) ; x
;;;; cdaadr
(cdaadr '(1 ((1 . x)))) ; x
;;;; cdadar
(cdadar '((1 (1 . x)))) ; x
;;;; cdaddr
(cdaddr '(1 1 (1 . x))) ; x
;;;; cddaar
(cddaar '(((1 1 . x)))) ; x
;;;; cddadr
(cddadr '(1 (1 1 . x))) ; x
;;;; cdddar
(cdddar '((1 1 1 . x))) ; x
;;;; cddddr
(cddddr '(1 1 1 1 . x)) ; x
