;;; Optimizers: around others, and what a body does to a gradient

(provide lookahead noisy centralize clip-adaptive layer-decay)

(defoptimizer lookahead (inner &key (every 5) (alpha 0.5) (state-dtype :f32))
  "Each so many steps of another optimizer go back to slow weights, which follow by alpha (Zhang et
al. 2019)."
  (defstate slow :like param)
  (optimizer-update (param grad)
    (let* ((before (where (= (group-updates) 0) param slow))
           (fast (optimizer-apply inner param grad))
           (due (= (mod (+ (group-updates) 1) every) 0)))
      (setf slow (where due (lerp before fast alpha) before))
      (where due slow fast))))

(defoptimizer noisy (inner &key (eta 0.01) (gamma 0.55))
  "Another optimizer of gradients with normal noise of variance eta / t^gamma (Neelakantan et al.
2015)."
  (optimizer-update (param grad)
    (let ((std (sqrt (/ eta (expt (+ (group-updates) 1) gamma)))))
      (optimizer-apply inner
                       param
                       (+ grad (* std (random-normal nil :like grad :name (param-path param))))))))

(defun centralize (grad)
  "In a body: minus its mean over all axes but the last (Yong et al. 2020)."
  (if (< (rank grad) 2) grad (- grad (mean grad :axis (all-but-last grad) :keep t))))

(defun clip-adaptive (param grad clip &key (eps 1e-3))
  "In a body: the gradient of each unit at most clip times as long as its weights (Brock et al.
2021)."
  (let* ((axes (if (< (rank param) 2) nil (all-but-last param)))
         (most (* clip (max (norm param :axis axes :keep t) eps)))
         (g (norm grad :axis axes :keep t)))
    (* grad (where (> g most) (/ most (max g 1e-6)) 1.0))))

(defun all-but-last (x)
  (loop for i below (1- (rank x)) collect i))

;;; Groups

(defun layer-decay (make lr depth &key (decay 0.75) (part "h") first)
  "Groups whose rates fall by decay a block, from the last of depth blocks part/i to the first, then
the globs of first; the rest has lr. make: from a rate to an optimizer (Clark et al. 2020)."
  (append (loop for path in first
                collect (group (select :path path) (funcall make (* lr (expt decay (1+ depth))))))
          (loop for i below depth
                collect (group (select :path (format nil "**/~a/~a/**" part i))
                               (funcall make (* lr (expt decay (- depth i))))))
          (list (group :rest (funcall make lr)))))
