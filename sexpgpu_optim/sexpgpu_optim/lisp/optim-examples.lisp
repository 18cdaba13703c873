;;;; sgd
(optim:sgd :lr 0.1 :momentum 0.9)
;;;; lars
(optim:lars :lr 0.1 :weight-decay 1e-4)
;;;; adam
(optim:adam :lr 1e-3)
;;;; adamw
(optim:adamw :lr 1e-3 :weight-decay 0.1)
;;;; nadam
(optim:nadam :lr 1e-3)
;;;; radam
(optim:radam :lr 1e-3)
;;;; adamax
(optim:adamax :lr 1e-3)
;;;; adagrad
(optim:adagrad :lr 1e-2)
;;;; rmsprop
(optim:rmsprop :lr 1e-2 :momentum 0.9)
;;;; lamb
(optim:lamb :lr 1e-2)
;;;; schedule-free-adamw
(optim:schedule-free-adamw :lr (optim:constant 2.5e-3 :warmup 10))
;;;; adafactor
(optim:adafactor :lr 1e-2)
;;;; muon
(optim:muon :lr 0.02 :rest (optim:adamw :lr 1e-3))
;;;; shampoo
(optim:shampoo :lr 1e-3 :limit 512)
;;;; soap
(optim:soap :lr 3e-3)
;;;; lookahead
(optim:lookahead (optim:adamw :lr 1e-3) :every 6)
;;;; noisy
(optim:noisy (optim:sgd :lr 0.1) :eta 0.01)
;;;; lion
(optim:lion :lr 1e-4 :weight-decay 0.1)

;;;; centralize
(defoptimizer centered (&key (lr 0.1))
  (optimizer-update (param grad)
    (- param (* lr (optim:centralize grad)))))

;;;; clip-adaptive
(defoptimizer clipped (&key (lr 0.1))
  (optimizer-update (param grad)
    (- param (* lr (optim:clip-adaptive param grad 0.01)))))

;;;; layer-decay
(defun optimizer ()
  (groups (optim:layer-decay (lambda (lr) (optim:adamw :lr lr)) 1e-3 0)))

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
;;;; piecewise
(optim:sgd :lr (optim:piecewise '((0 0) (10 0.1) (100 0.01))))
;;;; polynomial
(optim:sgd :lr (optim:polynomial 0.1 :power 1))
;;;; one-cycle
(optim:sgd :lr (optim:one-cycle 0.1))
;;;; cosine-restarts
(optim:sgd :lr (optim:cosine-restarts 0.1 20 :factor 2))
;;;; ramp
(optim:sgd :lr 0.1 :momentum (optim:ramp 0.5 0.9 :steps 50))
;;;; join
(optim:sgd :lr (optim:join (list 0.1 (lambda () (optim:exponential 0.1 :every 20))) '(50)))
