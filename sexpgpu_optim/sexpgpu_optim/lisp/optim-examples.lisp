;;;; sgd
(optim:sgd :lr 0.1 :momentum 0.9)
;;;; adam
(optim:adam :lr 1e-3)
;;;; adamw
(optim:adamw :lr 1e-3 :weight-decay 0.1)
;;;; nadam
(optim:nadam :lr 1e-3)
;;;; adamax
(optim:adamax :lr 1e-3)
;;;; adagrad
(optim:adagrad :lr 1e-2)
;;;; rmsprop
(optim:rmsprop :lr 1e-2 :momentum 0.9)
;;;; lion
(optim:lion :lr 1e-4 :weight-decay 0.1)

;;;; centralize
(defoptimizer centered (&key (lr 0.1))
  (optimizer-update (param grad)
    (- param (* lr (optim:centralize grad)))))

;;;; constant
(optim:sgd :lr (optim:constant 0.1 :warmup 10))
;;;; warmup-cosine
(optim:adamw :lr (optim:warmup-cosine 1e-3 :warmup 10 :floor 1e-5))
;;;; warmup-linear
(optim:adamw :lr (optim:warmup-linear 1e-3 :warmup 10))
;;;; warmup-stable-decay
(optim:adamw :lr (optim:warmup-stable-decay 1e-3 :warmup 10 :shape :cosine))
;;;; inverse-sqrt
(optim:adamw :lr (optim:inverse-sqrt 1e-3 :warmup 10))
;;;; exponential
(optim:sgd :lr (optim:exponential 0.1 :rate 0.5 :every 20))
;;;; step-decay
(optim:sgd :lr (optim:step-decay 0.1 '(30 60)))
;;;; polynomial
(optim:sgd :lr (optim:polynomial 0.1 :power 1))
;;;; one-cycle
(optim:sgd :lr (optim:one-cycle 0.1))
;;;; cosine-restarts
(optim:sgd :lr (optim:cosine-restarts 0.1 20 :factor 2))
;;;; ramp
(optim:sgd :lr 0.1 :momentum (optim:ramp 0.5 0.9 :steps 50))
