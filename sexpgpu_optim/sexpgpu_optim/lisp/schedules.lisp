;;; Schedules. Warm-up rises from peak/warmup at step 0 to peak at step warmup - 1.

(provide constant warmup-cosine warmup-linear warmup-stable-decay inverse-sqrt exponential
         step-decay piecewise polynomial one-cycle cosine-restarts ramp join)

(defparameter *begin* 0)  ; the step from which a piece of `join` counts

(defun elapsed ()
  (if (eql *begin* 0) (ctx :step) (- (ctx :step) *begin*)))

(defun warmed (peak warmup after)
  (if (eql warmup 0) after (where (< (elapsed) warmup) (* peak (/ (+ (elapsed) 1) warmup)) after)))

(defun passed (warmup steps)
  "Share of the steps after warm-up: 0 when it ends, 1 at the last step."
  (min 1 (/ (max 0 (- (elapsed) warmup)) (max 1 (- steps warmup 1)))))

(defschedule constant (peak &key (warmup 0))
  "peak after warm-up, a line from peak / warmup (Goyal et al. 2017)."
  (warmed peak warmup peak))

(defschedule warmup-cosine (peak &key (warmup 0) (steps (ctx :steps)) (floor 0))
  "Cosine to floor at the last step (Loshchilov, Hutter 2016)."
  (warmed peak warmup (half-cosine peak floor (passed warmup steps))))

(defschedule warmup-linear (peak &key (warmup 0) (steps (ctx :steps)) (floor 0))
  "A line to floor at the last step."
  (warmed peak warmup (+ floor (* (- peak floor) (- 1 (passed warmup steps))))))

(defschedule warmup-stable-decay (peak &key (warmup 0) (decay 0.2) (steps (ctx :steps)) (floor 0)
                                  (shape :linear))
  "Flat, then down over the last share: :linear :cosine :sqrt (Hu et al. 2024)."
  (let* ((start (* steps (- 1 decay)))
         (share (min 1 (/ (max 0 (- (elapsed) start)) (max 1 (- steps start 1)))))
         (left (ecase shape
                 (:linear (- 1 share))
                 (:cosine (* 0.5 (+ 1 (cos (* pi share)))))
                 (:sqrt (- 1 (sqrt share))))))
    (warmed peak warmup (+ floor (* (- peak floor) left)))))

(defschedule inverse-sqrt (peak &key (warmup 4000))
  "peak sqrt(warmup / t) after warm-up (Vaswani et al. 2017)."
  (warmed peak warmup (* peak (sqrt (/ warmup (max warmup (+ (elapsed) 1)))))))

(defschedule exponential (peak &key (rate 0.96) (every 1000) staircase)
  "peak rate^(t/every)."
  (* peak (expt rate (if staircase (floor (elapsed) every) (/ (elapsed) every)))))

(defschedule step-decay (peak at &key (factor 0.1))
  "Times factor at each step of the list `at`."
  (let ((value peak))
    (dolist (step at value) (setq value (where (< (elapsed) step) value (* value factor))))))

(defschedule polynomial (peak &key (power 2) (steps (ctx :steps)) (floor 0))
  "(1 - share)^power from peak to floor."
  (+ floor (* (- peak floor) (expt (- 1 (passed 0 steps)) power))))

(defschedule piecewise (points)
  "Lines between ((step value) ...), flat before and after."
  (let ((value (second (car (last points)))))
    (loop for ((to b) (from a)) on (reverse points)
          while from do (let ((share (/ (- (elapsed) from) (- to from))))
                          (setq value (where (< (elapsed) to) (+ a (* (- b a) share)) value))))
    (where (< (elapsed) (first (first points))) (second (first points)) value)))

(defun half-cosine (from to share)
  (+ to (* (- from to) 0.5 (+ 1 (cos (* pi (max 0 (min 1 share))))))))

(defschedule one-cycle (peak &key (rise 0.3) (divide 25) (final 1e4) (steps (ctx :steps)))
  "Up from peak/divide by half a cosine, then down to a final-th of that by another (Smith 2018)."
  (let* ((top (max 1 (- (* rise steps) 1)))
         (low (/ peak divide))
         (down (/ (- (elapsed) top) (max 1 (- steps 1 top)))))
    (where (< (elapsed) top)
           (half-cosine low peak (/ (elapsed) top))
           (half-cosine peak (/ low final) down))))

(defschedule cosine-restarts (peak period &key (factor 1) (floor 0))
  "A cosine anew each period (Loshchilov, Hutter 2016)."
  (let* ((turn (floor (elapsed) period))
         (share (/ (mod (elapsed) period) period))
         (top (* peak (expt factor turn))))
    (half-cosine top floor share)))

(defschedule ramp (from to &key (start 0) steps)
  "A line from one number to another."
  (let ((share (min 1 (/ (max 0 (- (elapsed) start)) (max 1 (or steps (ctx :steps)))))))
    (+ from (* (- to from) share))))

(defschedule join (pieces borders)
  "Each piece until its border, the last to the end. A piece is a step scalar, or a function of
nothing that gives one: its schedules then count from the border before it."
  (let ((value (piece (car (last pieces)) (car (last borders)))))
    (loop for made in (reverse (mapcar #'piece (butlast pieces) (cons 0 borders)))
          for border in (reverse borders)
          do (setq value (where (< (ctx :step) border) made value)))
    value))

(defun piece (piece begin)
  (if (functionp piece)
      (let ((*begin* begin))
        (funcall piece))
      piece))
