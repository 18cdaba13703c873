;;; sexpgpu/optim: optimizers and schedules. t is (group-updates) + 1; lr and every number may be
;;; a step scalar.

(provide sgd adam adamw nadam adamax adagrad rmsprop lion constant warmup-cosine warmup-linear
         warmup-stable-decay inverse-sqrt exponential step-decay polynomial one-cycle
         cosine-restarts ramp centralize)

;;; Optimizers

(defoptimizer plain-sgd (&key lr weight-decay)
  (optimizer-update (param grad)
    (- param (* lr (decayed param grad weight-decay)))))

(defoptimizer momentum-sgd (&key lr momentum nesterov weight-decay dampening)
  (defstate m :like param)
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (setf m (+ (* momentum m) (* (- 1 dampening) g)))
      (- param (* lr (if nesterov (+ g (* momentum m)) m))))))

(defun decayed (param grad decay)
  (if (eql decay 0) grad (+ grad (* decay param))))

(defun sgd (&key (lr 1e-2) (momentum 0) nesterov (weight-decay 0) (dampening 0))
  "p - lr m with coupled decay; a state m only if momentum is not 0."
  (if (eql momentum 0)
      (plain-sgd :lr lr :weight-decay weight-decay)
      (momentum-sgd :lr lr
                    :momentum momentum
                    :nesterov nesterov
                    :weight-decay weight-decay
                    :dampening dampening)))

(defun corrected (decay)
  "1 - decay^t: what divides a moving average of t terms that began at 0."
  (- 1 (expt decay (+ (group-updates) 1))))

(defoptimizer adam (&key (lr 1e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8))
  "Kingma, Ba 2014."
  (defstate m :like param)
  (defstate v :like param)
  (optimizer-update (param grad)
    (setf m (+ (* beta1 m) (* (- 1 beta1) grad)))
    (setf v (+ (* beta2 v) (* (- 1 beta2) (square grad))))
    (- param
       (* (/ lr (corrected beta1)) (/ m (+ (* (sqrt v) (/ 1 (sqrt (corrected beta2)))) eps))))))

(defoptimizer adamw (&key (lr 1e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8) (weight-decay 0.01))
  "Decay lr wd p, decoupled (Loshchilov, Hutter 2017)."
  (defstate m :like param)
  (defstate v :like param)
  (optimizer-update (param grad)
    (setf m (+ (* beta1 m) (* (- 1 beta1) grad)))
    (setf v (+ (* beta2 v) (* (- 1 beta2) (square grad))))
    (let ((kept (if (eql weight-decay 0) param (* param (- 1 (* lr weight-decay))))))
      (- kept
         (* (/ lr (corrected beta1)) (/ m (+ (* (sqrt v) (/ 1 (sqrt (corrected beta2)))) eps)))))))

(defoptimizer nadam (&key (lr 2e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8) (weight-decay 0))
  "Adam with Nesterov's look ahead (Dozat 2016)."
  (defstate m :like param)
  (defstate v :like param)
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (setf m (+ (* beta1 m) (* (- 1 beta1) g)))
      (setf v (+ (* beta2 v) (* (- 1 beta2) (square g))))
      (let* ((next (- 1 (expt beta1 (+ (group-updates) 2))))
             (ahead (+ (* (/ beta1 next) m) (* (/ (- 1 beta1) (corrected beta1)) g))))
        (- param (* lr (/ ahead (+ (* (sqrt v) (/ 1 (sqrt (corrected beta2)))) eps))))))))

(defoptimizer adamax (&key (lr 2e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8))
  "Adam by the maximum norm."
  (defstate m :like param)
  (defstate u :like param)
  (optimizer-update (param grad)
    (setf m (+ (* beta1 m) (* (- 1 beta1) grad)))
    (setf u (max (* beta2 u) (+ (abs grad) eps)))
    (- param (* (/ lr (corrected beta1)) (/ m u)))))

(defoptimizer adagrad (&key (lr 1e-2) (eps 1e-10) (initial 0))
  "Duchi et al. 2011."
  (defstate v :like param)
  (optimizer-update (param grad)
    (setf v (+ v (square grad)))
    (- param (* lr (/ grad (+ (sqrt (if (eql initial 0) v (+ v initial))) eps))))))

(defoptimizer plain-rmsprop (&key lr alpha eps)
  (defstate v :like param)
  (optimizer-update (param grad)
    (setf v (+ (* alpha v) (* (- 1 alpha) (square grad))))
    (- param (* lr (/ grad (+ (sqrt v) eps))))))

(defoptimizer momentum-rmsprop (&key lr alpha eps momentum)
  (defstate v :like param)
  (defstate m :like param)
  (optimizer-update (param grad)
    (setf v (+ (* alpha v) (* (- 1 alpha) (square grad))))
    (setf m (+ (* momentum m) (/ grad (+ (sqrt v) eps))))
    (- param (* lr m))))

(defun rmsprop (&key (lr 1e-2) (alpha 0.99) (eps 1e-8) (momentum 0))
  "Hinton 2012."
  (if (eql momentum 0)
      (plain-rmsprop :lr lr :alpha alpha :eps eps)
      (momentum-rmsprop :lr lr :alpha alpha :eps eps :momentum momentum)))

(defoptimizer lion (&key (lr 1e-4) (beta1 0.9) (beta2 0.99) (weight-decay 0))
  "The sign of the interpolated momentum (Chen et al. 2023)."
  (defstate m :like param)
  (optimizer-update (param grad)
    (let ((step (sign (+ (* beta1 m) (* (- 1 beta1) grad))))
          (kept (if (eql weight-decay 0) param (* param (- 1 (* lr weight-decay))))))
      (setf m (+ (* beta2 m) (* (- 1 beta2) grad)))
      (- kept (* lr step)))))

(defun centralize (grad)
  "In a body: minus its mean over all axes but the last (Yong et al. 2020)."
  (if (< (rank grad) 2)
      grad
      (- grad (mean grad :axis (loop for i below (1- (rank grad)) collect i) :keep t))))

;;; Schedules. Warm-up rises from peak/warmup at step 0 to peak at step warmup - 1.

(defun warmed (peak warmup after)
  (if (eql warmup 0)
      after
      (where (< (ctx :step) warmup) (* peak (/ (+ (ctx :step) 1) warmup)) after)))

(defun passed (warmup steps)
  "Share of the steps after warm-up: 0 when it ends, 1 at the last step."
  (min 1 (/ (max 0 (- (ctx :step) warmup)) (max 1 (- steps warmup 1)))))

(defschedule constant (peak &key (warmup 0))
  "peak after warm-up."
  (warmed peak warmup peak))

(defschedule warmup-cosine (peak &key (warmup 0) (steps (ctx :steps)) (floor 0))
  "Cosine to floor at the last step."
  (let ((half (* 0.5 (+ 1 (cos (* pi (passed warmup steps)))))))
    (warmed peak warmup (+ floor (* (- peak floor) half)))))

(defschedule warmup-linear (peak &key (warmup 0) (steps (ctx :steps)) (floor 0))
  "A line to floor at the last step."
  (warmed peak warmup (+ floor (* (- peak floor) (- 1 (passed warmup steps))))))

(defschedule warmup-stable-decay (peak &key (warmup 0) (decay 0.2) (steps (ctx :steps)) (floor 0)
                                  (shape :linear))
  "Flat, then down over the last share: :linear :cosine :sqrt."
  (let* ((start (* steps (- 1 decay)))
         (share (min 1 (/ (max 0 (- (ctx :step) start)) (max 1 (- steps start 1)))))
         (left (ecase shape
                 (:linear (- 1 share))
                 (:cosine (* 0.5 (+ 1 (cos (* pi share)))))
                 (:sqrt (- 1 (sqrt share))))))
    (warmed peak warmup (+ floor (* (- peak floor) left)))))

(defschedule inverse-sqrt (peak &key (warmup 4000))
  "peak sqrt(warmup / t) after warm-up."
  (warmed peak warmup (* peak (sqrt (/ warmup (max warmup (+ (ctx :step) 1)))))))

(defschedule exponential (peak &key (rate 0.96) (every 1000) staircase)
  "peak rate^(t/every)."
  (* peak (expt rate (if staircase (floor (ctx :step) every) (/ (ctx :step) every)))))

(defschedule step-decay (peak at &key (factor 0.1))
  "Times factor at each step of the list `at`."
  (let ((value peak))
    (dolist (step at value) (setq value (where (< (ctx :step) step) value (* value factor))))))

(defschedule polynomial (peak &key (power 2) (steps (ctx :steps)) (floor 0))
  "(1 - share)^power from peak to floor."
  (+ floor (* (- peak floor) (expt (- 1 (passed 0 steps)) power))))

(defschedule one-cycle (peak &key (rise 0.3) (divide 25) (final 1e4) (steps (ctx :steps)))
  "Up by a cosine, then down by one (Smith 2018)."
  (let* ((top (max 1 (* rise steps)))
         (low (/ peak divide))
         (up (* 0.5 (- 1 (cos (* pi (min 1 (/ (ctx :step) top)))))))
         (down (* 0.5
                  (+ 1
                     (cos (* pi
                             (min 1 (/ (max 0 (- (ctx :step) top)) (max 1 (- steps top 1))))))))))
    (where (< (ctx :step) top)
           (+ low (* (- peak low) up))
           (+ (/ low final) (* (- peak (/ low final)) down)))))

(defschedule cosine-restarts (peak period &key (factor 1) (floor 0))
  "A cosine anew each period (Loshchilov, Hutter 2016)."
  (let* ((turn (floor (ctx :step) period))
         (share (/ (mod (ctx :step) period) period))
         (top (* peak (expt factor turn))))
    (+ floor (* (- top floor) 0.5 (+ 1 (cos (* pi share)))))))

(defschedule ramp (from to &key (start 0) steps)
  "A line from one number to another."
  (let ((share (min 1 (/ (max 0 (- (ctx :step) start)) (max 1 (or steps (ctx :steps)))))))
    (+ from (* (- to from) share))))
