;;; Optimizers: descent and its momentum

(provide sgd lion lars decayed shrunk with-momentum)

(defun decayed (param grad decay)
  "Coupled decay (L2): the gradient with the decay's own."
  (if (eql decay 0) grad (+ grad (* decay param))))

(defun shrunk (param lr decay)
  "Decoupled decay: the parameter less lr decay of it."
  (if (eql decay 0) param (* param (- 1 (* lr decay)))))

(defoptimizer sgd (&key (lr 1e-2) (momentum 0) nesterov (weight-decay 0) (dampening 0)
                   (state-dtype :f32))
  "p - lr m with coupled decay; a state m only if momentum is not 0 (Sutskever et al. 2013)."
  (optimizer-update (param grad)
    (let ((g (decayed param grad weight-decay)))
      (- param
         (* lr
            (if (eql momentum 0)
                g
                (with-momentum g
                  momentum
                  nesterov
                  dampening)))))))

(defun with-momentum (g momentum nesterov dampening)
  "The momentum of gradients, in a state m; the first is not dampened."
  (defstate m :like g)
  (let ((new (if (eql dampening 0) 1 (where (= (group-updates) 0) 1 (- 1 dampening)))))
    (setf m (+ (* momentum m) (if (eql new 1) g (* new g)))))
  (if nesterov (+ g (* momentum m)) m))

(defoptimizer lion (&key (lr 1e-4) (beta1 0.9) (beta2 0.99) (weight-decay 0) (state-dtype :f32))
  "The sign of the interpolated momentum; decay is decoupled (Chen et al. 2023)."
  (defstate m :like param)
  (optimizer-update (param grad)
    (let ((step (sign (+ (* beta1 m) (* (- 1 beta1) grad)))))
      (setf m (+ (* beta2 m) (* (- 1 beta2) grad)))
      (- (shrunk param lr weight-decay) (* lr step)))))

(defoptimizer lars (&key (lr 0.1) (momentum 0.9) (weight-decay 0) (trust 1e-3) (state-dtype :f32))
  "Momentum whose rate follows the norms of parameter and gradient (You et al. 2017)."
  (defstate m :like param)
  (optimizer-update (param grad)
    (let* ((p (norm param))
           (g (norm grad))
           (whole (+ g (* weight-decay p)))
           (ratio (where (logical-and (> p 0) (> g 0)) (/ (* trust p) whole) 1.0)))
      (setf m (+ (* momentum m) (* lr (* ratio (decayed param grad weight-decay)))))
      (- param m))))
