;;; plateau.lisp: the hard digits come when the easy ones are no longer learnt from, and the run ends
;;; when those too are not: a curriculum that reads what passes report.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader digits
  (source (digits))
  (stage :easy :split (0 0.4) :batch 32)
  (stage :hard :split (0.4 0.8) :batch 16)
  (stage :val  :split (0.8 1) :batch 64))

(defmodel net (x) (nn:layers (/ x 16.0) '(16 10)))

(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))

(defeval val :loader (digits :val) :every 3)

(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 0.05))))

(defun curriculum ()
  (let ((since (ctx :metric "val/loss" :since-best)))
    (cond ((null since) :easy)
          ((> since 6) nil)
          ((< (ctx :metric "val/loss" :count) 3) :easy)
          ((> (ctx :metric "easy/loss") 0.2) :hard)
          (t :easy))))

(defrun :steps 90 :seed 2 :log-every 2 :checkpoint (:every 4 :keep 40))
