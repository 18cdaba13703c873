;;; dlrm.lisp: a recommendation model (Naumov et al. 2019): who clicks on what, and when.
;;;   sexpgpu run examples/dlrm.lisp
;;;   sexpgpu run examples/dlrm.lisp -s clicks=data/clicks.npz
;;;   sexpgpu predict examples/dlrm.lisp --output liked --in who=who.npy --in at=hour.npy \
;;;     -o liked.npz
;;; Without a file the clicks are drawn from tastes that the model does not know, so that the best
;;; AUC there can be is known too. A file has the arrays user, item, hour (i32) and click (0 or 1):
;;; MovieLens' ratings.csv in that format, a click a rating above 3, is its public data.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob clicks     nil  "An .npz of clicks; nil draws them." :type (or null string))
(defknob users      2000 "Users, numbered from 0."            :type (integer 1))
(defknob items      1000 "Items, numbered from 0."            :type (integer 1))
(defknob width      16   "Numbers a user, item or hour has."  :type (integer 1))
(defknob batch-size 512  "Clicks in a step."                  :type (integer 1))
(defknob lr         5e-3 "Peak learning rate."                :type (float (0) 1))
(defknob steps      3000 "Steps of the run."                  :type (integer 1))

(defvariant smoke "A few seconds." :users 50 :items 20 :width 4 :batch-size 64 :steps 50)
(defvariant gpu   "MovieLens 20M." :users 138493 :items 27278 :width 64 :batch-size 8192)

(defmacro shown ()
  "The loader of the clicks that the knob names."
  `(defloader shown
     (source ,(if clicks `(npz ,clicks) '(none :examples 2000000)))
     (split-by :hash)
     (stage :train :split (0 0.99))
     (stage :val   :split (0.99 1) :batch 1000)
     (batch batch-size)))

(shown)

(defun popular (n)
  "Numbers below n for each row, small ones more often."
  (let ((u (random-uniform (list (batch-rows)) :batch 0)))
    (min (cast (* n (square u)) :i32) (- n 1))))

(defun tastes (ids factors)
  "Numbers in [-1, 1), one a factor, of ids (b) that are spread by whole-number arithmetic."
  (let ((spread (mod (* (unsqueeze (+ ids 1) -1) (unsqueeze (tensor factors) 0)) 10007)))
    (- (/ (cast spread :f32) 5003.5) 1)))

(defun drawn ()
  "Clicks of a logistic model: what users and items have in common, and the time of day."
  (let* ((user (popular users))
         (item (popular items))
         (hour (random-int (list (batch-rows)) 0 24 :batch 0))
         (mine (tastes user '(7919 6101 4999 3571 2287)))
         (common (sum (* (slice mine :axis 1 :end 4) (tastes item '(7307 5737 4211 2903))) :axis 1))
         (late (* (tref mine t 4) (cos (* (/ pi 12) (cast hour :f32)))))
         (chance (sigmoid (- (+ (* 2 common) (* 2 late)) 1))))
    (batch :user user
           :item item
           :hour hour
           :click (cast (< (random-uniform (list (batch-rows)) :batch 0) chance) :f32)
           :chance chance)))

(defmacro prepared ()
  "What a batch is: of the file, or drawn."
  (if clicks
      '(defun prepare (&key user item hour click)
         (batch :user user :item item :hour hour :click (cast click :f32) :chance click))
      '(defun prepare ()
         (drawn))))

(prepared)

(defmodel dlrm (user item hour)
  "Embeddings and the dense numbers as one of them, their products, a network on top."
  (let* ((angle (* (/ pi 12) (cast hour :f32)))
         (dense (stack (sin angle) (cos angle) :axis 1))
         (bottom (nn:layers dense (list 32 width) :last-activation #'relu :name "bottom"))
         (rows (stack bottom
                      (nn:embedding user users width :name "user")
                      (nn:embedding item items width :name "item")
                      (nn:embedding hour 24 width :name "hour")
                      :axis 1))
         (top (concat bottom (nn:dot-interaction rows) :axis 1)))
    (tref (nn:layers top (list 64 32 1) :name "top") t 0)))

(defun objective (&key user item hour click)
  (let ((logit (dlrm user item hour)))
    (metric "loss" (nn:binary-cross-entropy logit click))))

(defun evaluate (&key user item hour click chance)
  (let ((logit (dlrm user item hour)) (clicked (> click 0)))
    (metric "auc" (nn:auc (over-pass logit) (over-pass clicked)))
    (unless clicks (metric "best-auc" (nn:auc (over-pass chance) (over-pass clicked))))
    (metric "loss" (nn:binary-cross-entropy logit click))))

(defeval val :loader (shown :val) :every 1000 :at (:end))
(deftarget "val/auc" :above 0.8)

(defun optimizer ()
  (groups (group :rest (optim:adam :lr (optim:warmup-cosine lr :warmup 100)))))

(defoutput chance (&key user item hour)
  "Of a click: of rows of a file, or of drawn ones."
  (sigmoid (dlrm user item hour)))

(defoutput liked (&key (who :shape (1) :dtype :i32) (at :shape (1) :dtype :i32))
  "The ten items that a user at an hour clicks on likeliest, and how likely."
  (let* ((all (iota items)) (same (zeros-like all)))
    (multiple-value-bind (chances best) (top-k (sigmoid (dlrm (+ who same) all (+ at same))) 10)
      (batch :item best :chance chances))))

(defrun :steps steps :seed 1 :checkpoint (:best ("val/auc" :max) :keep 1))
