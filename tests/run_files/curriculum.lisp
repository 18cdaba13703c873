;;; curriculum.lisp: a text read in short rows of a large batch, then in long rows of a small one,
;;; then back, by step; what is measured decides nothing.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader text
  (source (python-stdlib :limit 40000))
  (windows 9)
  (stage :short :split (0 0.4) :batch 16)
  (stage :long  :split (0.4 0.8) :batch 4 :windows (33 :stride 32))
  (stage :val   :split (0.8 1) :batch 32)
  (counter :tokens (* (ctx :batch) (1- (ctx :window)))))

(defun prepare (&key tokens)
  (batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))

(defmodel reader (tokens)
  (defparam table (256 24) :init (normal 0.1))
  (let ((x (gather table tokens)))
    (nn:linear (+ x (dropout (nn:attention x :heads 2 :causal t) 0.1)) 256)))

(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (reader inputs) targets)))

(defeval val :loader (text :val) :every 4)

(defun optimizer ()
  (groups :clip-norm 1.0 :ema 0.9
    (group :rest (optim:adamw :lr (* 1e-2 (- 1 (ctx :progress)))))))

(defun curriculum ()
  (cond ((< (ctx :step) 5) :short)
        ((< (ctx :tokens) 1700) '(text :long))  ; 5 steps of 128 tokens, then 9 of as many
        ((< (ctx :stage-step) 12) :short)
        (t nil)))

(defrun :steps 100 :seed 3 :log-every 1 :checkpoint (:every 3 :keep 20))
