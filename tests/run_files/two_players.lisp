;;; two_players.lisp: a generator of points on a line and a critic, each with a loss, parameters and a
;;; rate of its own; the data is drawn.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defloader nothing
  (source (none))
  (stage :train)
  (batch 32))

(defun prepare ()
  (let ((x (random-normal (list (batch-rows) 1) :batch 0)))
    (batch :real (concat x (+ (* 2 x) 1) :axis 1)
           :noise (random-normal (list (batch-rows) 2) :batch 0))))

(defmodel generator (z) (nn:layers z '(16 2)))
(defmodel critic (x) (nn:layers x '(16 1)))

(defun objective (&key real noise)
  (let ((false (generator noise)))
    (losses :critic (+ (mean (softplus (- (critic real)))) (mean (softplus (critic false))))
            :generator (mean (softplus (- (critic false)))))))

(defun optimizer ()
  (groups
    (group (select :path "critic/**") (optim:adamw :lr 1e-2) :loss :critic)
    (group (select :path "generator/**") (optim:adamw :lr 5e-3) :loss :generator)))

(defrun :steps 12 :seed 1 :log-every 3)
