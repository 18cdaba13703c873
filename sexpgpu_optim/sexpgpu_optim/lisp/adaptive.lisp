;;; Optimizers: a rate for each element

(require "sexpgpu/optim/momentum" :import (decayed shrunk))

(provide adam adamw nadam radam adamax adagrad rmsprop lamb schedule-free-adamw adam-moved corrected
         root-corrected)

(defun corrected (decay)
  "1 - decay^t: what divides a moving average of t terms that began at 0."
  (- 1 (expt decay (+ (group-updates) 1))))

(defun root-corrected (v beta2)
  "The root of a moving average of squares, corrected."
  (* (sqrt v) (/ 1 (sqrt (corrected beta2)))))

(defun adam-step (grad beta1 beta2 eps &key amsgrad)
  "m / (sqrt(v) + eps) in states m and v, v corrected, m not."
  (defstate m :like grad)
  (defstate v :like grad)
  (setf m (+ (* beta1 m) (* (- 1 beta1) grad)))
  (setf v (+ (* beta2 v) (* (- 1 beta2) (square grad))))
  (/ m (+ (root-corrected (if amsgrad (greatest v) v) beta2) eps)))

(defun greatest (v)
  (defstate v-max :like v)
  (setf v-max (max v-max v)))

(defun adam-moved (param grad lr beta1 beta2 eps &key amsgrad)
  "The parameter after a step of Adam."
  (- param (* (/ lr (corrected beta1)) (adam-step grad beta1 beta2 eps :amsgrad amsgrad))))

(defoptimizer adam (&key (lr 1e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8) (weight-decay 0) amsgrad
                    (state-dtype :f32))
  "Kingma, Ba 2014; decay is coupled. amsgrad: the greatest v so far (Reddi et al. 2018)."
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (adam-moved param g lr beta1 beta2 eps :amsgrad amsgrad))))

(defoptimizer adamw (&key (lr 1e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8) (weight-decay 0.01) amsgrad
                     (state-dtype :f32))
  "Decay lr wd p, decoupled (Loshchilov, Hutter 2017)."
  (optimizer-update (param grad)
    (adam-moved (shrunk param lr weight-decay) grad lr beta1 beta2 eps :amsgrad amsgrad)))

(defoptimizer nadam (&key (lr 2e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8) (weight-decay 0)
                     (momentum-decay 0) (state-dtype :f32))
  "Adam with Nesterov's look ahead; decay is coupled. momentum-decay d: the t-th momentum is
beta1 (1 - 0.96^(d t) / 2), else beta1 (Dozat 2016)."
  (defstate m :like param)
  (defstate v :like param)
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (setf m (+ (* beta1 m) (* (- 1 beta1) g)))
      (setf v (+ (* beta2 v) (* (- 1 beta2) (square g))))
      (let ((ahead (if (eql momentum-decay 0)
                       (ahead m g beta1)
                       (ahead-warmed m g beta1 momentum-decay))))
        (- param (* lr (/ ahead (+ (root-corrected v beta2) eps))))))))

(defun ahead (m g beta1)
  (let ((next (- 1 (expt beta1 (+ (group-updates) 2)))))
    (+ (* (/ beta1 next) m) (* (/ (- 1 beta1) (corrected beta1)) g))))

(defun ahead-warmed (m g beta1 decay)
  "The look ahead with momenta that grow; a state holds their product."
  (defstate product () :init 1 :dtype (dtype g))
  (flet ((momentum (n) (* beta1 (- 1 (* 0.5 (expt 0.96 (* n decay)))))))
    (let ((now (momentum (+ (group-updates) 1))) (next (momentum (+ (group-updates) 2))))
      (setf product (* now product))
      (+ (* (/ next (- 1.0 (* next product))) m) (* (/ (- 1 now) (- 1.0 product)) g)))))

(defoptimizer radam (&key (lr 1e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8) (weight-decay 0)
                     (state-dtype :f32))
  "Adam with its variance rectified, momentum alone until it can be; decay is coupled (Liu et al.
2019)."
  (defstate m :like param)
  (defstate v :like param)
  (optimizer-update (param grad)
    (let* ((g (decayed param grad weight-decay)) (rate (/ lr (corrected beta1))))
      (setf m (+ (* beta1 m) (* (- 1 beta1) g)))
      (setf v (+ (* beta2 v) (* (- 1 beta2) (square g))))
      (multiple-value-bind (rectified factor) (rectification beta2)
        (- param
           (+ (* (where rectified 0 rate) m)
              (* (where rectified (* rate factor (sqrt (corrected beta2))) 0)
                 (/ m (+ (sqrt v) eps)))))))))

(defun rectification (beta2)
  "Whether the variance of the rate is bounded after t updates, and the factor that holds it."
  (let* ((most (- (/ 2 (- 1 beta2)) 1))
         (n (+ (group-updates) 1))
         (length (- most (/ (* 2 n (expt beta2 n)) (corrected beta2)))))
    (values (> length 5)
            (sqrt (/ (* (- length 4) (- length 2) most) (* (- most 4) (- most 2) length))))))

(defoptimizer adamax (&key (lr 2e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8) (weight-decay 0)
                      (state-dtype :f32))
  "Adam by the maximum norm; decay is coupled (Kingma, Ba 2014)."
  (defstate m :like param)
  (defstate u :like param)
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (setf m (+ (* beta1 m) (* (- 1 beta1) g)))
      (setf u (max (* beta2 u) (+ (abs g) eps)))
      (- param (* (/ lr (corrected beta1)) (/ m u))))))

(defoptimizer adagrad (&key (lr 1e-2) (eps 1e-10) (initial 0) (weight-decay 0) (state-dtype :f32))
  "Squares summed from initial on; decay is coupled (Duchi et al. 2011)."
  (defstate v :like param)
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (setf v (+ v (square g)))
      (- param (* lr (/ g (+ (sqrt (if (eql initial 0) v (+ v initial))) eps)))))))

(defoptimizer rmsprop (&key (lr 1e-2) (alpha 0.99) (eps 1e-8) (momentum 0) centered (weight-decay 0)
                       (state-dtype :f32))
  "g / (sqrt(v) + eps), v less the square of the mean if centered; decay is coupled (Hinton 2012)."
  (defstate v :like param)
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (setf v (+ (* alpha v) (* (- 1 alpha) (square g))))
      (let ((step (/ g (+ (sqrt (if centered (less-mean v g alpha) v)) eps))))
        (- param (* lr (if (eql momentum 0) step (gathered step momentum))))))))

(defun less-mean (v g alpha)
  (defstate mean :like g)
  (setf mean (+ (* alpha mean) (* (- 1 alpha) g)))
  (- v (square mean)))

(defun gathered (step momentum)
  (defstate m :like step)
  (setf m (+ (* momentum m) step)))

(defoptimizer lamb (&key (lr 1e-3) (beta1 0.9) (beta2 0.999) (eps 1e-6) (weight-decay 0.01)
                    (state-dtype :f32))
  "Adam's step with decay, as long as lr of the parameter's norm (You et al. 2019)."
  (optimizer-update (param grad)
    (let* ((step (* (/ 1 (corrected beta1)) (adam-step grad beta1 beta2 eps)))
           (r (decayed param step weight-decay))
           (p (norm param))
           (n (norm r))
           (ratio (where (logical-and (> p 0) (> n 0)) (/ p n) 1.0)))
      (- param (* lr (* ratio r))))))

(defoptimizer schedule-free-adamw (&key (lr 2.5e-3) (beta1 0.9) (beta2 0.999) (eps 1e-8)
                                   (weight-decay 0) (state-dtype :f32))
  "No schedule but a warm-up: Adam's steps move z, x is the mean of all z by lr^2, the parameter is
between, beta1 of the way from z to x (Defazio et al. 2024). Passes see the parameter, not x."
  (defstate v :like param)
  (defstate z :like param)
  (defstate total () :init 0 :dtype (dtype param))
  (optimizer-update (param grad)
    (setf v (+ (* beta2 v) (* (- 1 beta2) (square grad))))
    (setf total (+ total (* lr lr)))
    (let* ((step (decayed param (/ grad (+ (root-corrected v beta2) eps)) weight-decay))
           (share (/ (* lr lr) total))
           (before (where (= (group-updates) 0) param z)))
      (setf z (- before (* lr step)))
      (- (lerp param before share) (* (* lr (- 1.0 (* beta1 (- 1.0 share)))) step)))))
