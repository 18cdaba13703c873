;;; taking_turns.lisp: two players of which one moves at every step and the other at every third, and
;;; whose slow one counts its own moves.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob blocks 1 "Microbatches." :type (integer 1))

(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (batch 32))

(defmodel critic (x)
  (nn:linear (relu (nn:linear x 16)) 1))

(defmodel generator (z)
  (nn:linear (relu (nn:linear z 16)) 64))

(defun objective (&key image)
  (let* ((real (/ image 16.0))
         (z (random-normal (list (batch-rows) 4) :batch 0 :name "z"))
         (fake (generator z)))
    (losses :critic (- (mean (square (critic (stop-gradient fake))))
                       (mean (critic real)))
            :generator (- (mean (critic fake))))))

(defun optimizer ()
  (groups :ema 0.5
    (group (select :path "critic/**") (optim:adamw :lr 1e-3) :loss :critic)
    (group (select :path "generator/**") (optim:adamw :lr 1e-3) :loss :generator
           :every 3 :offset 2)))

(defrun :steps 12 :seed 3 :log-every 4 :microbatches blocks
        :finite-guard (:skip 2) :checkpoint (:every 1 :keep 12))
