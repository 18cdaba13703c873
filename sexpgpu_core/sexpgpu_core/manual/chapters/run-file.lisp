;;;; require -> require (name [:as prefix] [:import (name...) | :all])
;;; Brings a module, or with ./ a file; its names are prefix:name, those of :import bare too.
(require "sexpgpu/nn" :as layers :import (linear))
;;;; provide -> require (name...)
;;; At a library's head: the names that files which require it may use.
(provide block-of)
(defun block-of (i) (format nil "block-~d" i))
;;;; defknob -> knobs (name default [doc] &key type choices)
;;; A variable that may be set from outside, by a variant or -s name=value.
(defknob width 64 "Units." :type (integer 1 4096))
;;;; defvariant -> knobs (name [doc] [:from other] :knob value ...)
;;; A named choice of knobs, for --variant.
(defknob width 64 "Units.")
(defvariant small "For a laptop." :width 8)
;;;; defsweep -> knobs (name [doc] &key grid zip random n where seeds over variant rank)
;;; A set of points over knobs.
(defknob width 64 "Units.")
(defsweep widths "Three widths." :grid ((width (16 32 64))) :seeds 2)
;;;; defloader -> data (name [doc] clause...)
;;; One table or stream: its source, how it is cut, its stages and the batch.
(defloader data
  (source (digits))
  (stage :train :split (0 0.8) :order :shuffled)
  (stage :val :split (0.8 1))
  (batch 32))
;;;; loader-info -> data (loader key)
;;; A number of the loader's header: :vocab, :examples, :classes.
(defun objective (&key image label)
  (assert (= 10 (loader-info data :classes)))
  (metric "loss" (nn:cross-entropy (net image) label)))
;;;; defmodel -> models (name (parameter...) [doc] form...)
;;; A function whose call opens a scope; every call takes :name too.
(defmodel net (x)
  (defparam w ((dim x -1) 10) :init (lecun))
  (matmul x w))
;;;; defparam -> models (name shape &key init dtype trainable)
;;; A parameter of the open scope, bound over the rest of the body.
(defmodel net (x)
  (defparam w ((dim x -1) 10) :init (normal 0.02))
  (matmul x w))
;;;; defstate -> models (name shape &key init dtype combine per)
;;; A value that lives from step to step, bound over the rest of the body; setf proposes the next.
(defmodel net (x)
  (defstate seen () :init 0.0)
  (setf seen (+ seen 1.0))
  (nn:linear x 10))
;;;; with-scope -> models (name form...)
;;; A scope of parameter paths without a model.
(defmodel net (x)
  (with-scope "head" (nn:linear x 10)))
;;;; instance -> models (model &key name)
;;; A function whose calls share their parameters.
(defmodel net (x)
  (let ((layer (instance #'nn:linear :name "tied")))
    (nn:linear (+ (funcall layer x 64) (funcall layer (relu x) 64)) 10)))
;;;; path -> models (part...)
;;; Parts joined with /: strings, symbols in lower case, integers.
(defmodel net (x)
  (nn:linear x 10 :name (path "head" 1)))
;;;; normal -> models (std)
;;; Initializer: normal numbers of mean 0 and a deviation.
(defmodel net (x)
  (nn:linear x 10 :init (normal 0.02)))
;;;; truncated-normal -> models (std)
;;; Initializer: as normal, within two deviations.
(defmodel net (x)
  (nn:linear x 10 :init (truncated-normal 0.02)))
;;;; uniform -> models (low high)
;;; Initializer: uniform in [low, high).
(defmodel net (x)
  (nn:linear x 10 :init (uniform -0.1 0.1)))
;;;; lecun -> models (&key (fan :in) (batch-axes 0))
;;; Initializer: normal, variance 1 / fan (LeCun et al. 1998).
(defmodel net (x)
  (nn:linear x 10 :init (lecun)))
;;;; he -> models (&key (fan :in) (batch-axes 0))
;;; Initializer: normal, variance 2 / fan (He et al. 2015).
(defmodel net (x)
  (nn:linear x 10 :init (he)))
;;;; glorot -> models (&key (batch-axes 0))
;;; Initializer: uniform, variance 2 / (fan-in + fan-out) (Glorot, Bengio 2010).
(defmodel net (x)
  (nn:linear x 10 :init (glorot)))
;;;; orthogonal -> models (&key (gain 1) (batch-axes 0))
;;; Initializer: QR of normals, the sign of R's diagonal positive (Saxe et al. 2014).
(defmodel net (x)
  (nn:linear x 10 :init (orthogonal :gain 0.5)))
;;;; bind-shape -> models ((name...) x form...)
;;; Binds names to the sizes of x; _ skips, a number must match.
(defmodel net (x)
  (bind-shape (rows width) x
    (nn:linear (reshape x (list rows width)) 10)))
;;;; check-shape -> models ((size...) x)
;;; x, whose sizes must be what the forms say; _ skips an axis.
(defmodel net (x)
  (nn:linear (check-shape (_ 64) x) 10))
;;;; f32 -> numerics (form...)
;;; The forms computed in f32 where the run's precision is lower.
(defmodel net (x)
  (nn:linear (f32 (softmax x)) 10))
;;;; with-numerics -> numerics ((&key matmul accumulate tf32) form...)
;;; The forms under a policy of matrix products.
(defmodel net (x)
  (with-numerics (:accumulate :f32) (nn:linear x 10)))
;;;; with-frozen -> models (form...)
;;; Gradients of the forms go to their inputs only, not to parameters.
(defmodel net (x)
  (nn:linear (with-frozen (nn:linear x 64 :name "trunk")) 10))
(defun optimizer ()
  (groups (group (select :path "net/trunk/*") :frozen)
          (group :rest (optim:adamw :lr 1e-3))))
;;;; with-mode -> models (mode form...)
;;; The forms with (ctx :mode) as :train or :eval, whatever it is around.
(defmodel net (x)
  (nn:linear (with-mode :eval (nn:mlp x :dropout 0.5)) 10))
;;;; with-call -> models ((model &key path) function form...)
;;; Calls of a model inside the forms are done by another function, in their own scopes.
(defun adapted (x out)
  (let ((y (nn:linear x out)))
    (defparam gain (out) :init 1)
    (* y gain)))
(defmodel net (x)
  (with-call (nn:linear) #'adapted (nn:linear x 10)))
;;;; per-block -> metrics (form)
;;; Says that a value is meant over the rows of a block, where W-BATCH-DEPENDENCE would warn.
(defun objective (&key image label)
  (metric "spread" (per-block (variance (net image))))
  (metric "loss" (nn:cross-entropy (net image) label)))
;;;; checkpoint -> models (form...)
;;; What the forms compute is computed again in the backward pass rather than kept.
(defmodel net (x)
  (nn:linear (checkpoint (nn:mlp x)) 10))
;;;; ctx -> objective (key)
;;; What a place knows of the run: (ctx :step) and its like.
(defun optimizer ()
  (groups (group :rest (optim:adamw :lr (* 1e-3 (min 1 (/ (ctx :step) 100)))))))
;;;; metric -> metrics (name x &key (reduce :mean) weights unit by names)
;;; Reports x under a name and returns it; a tensor with axes is reduced over all of them.
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
;;;; diagnostic -> writing-diagnostics (name x &key (reduce :mean))
;;; A number that is computed only in steps where it is selected.
(defmodel net (x)
  (let ((h (nn:linear x 64)))
    (diagnostic "alive" (mean (cast (> h 0) :f32)))
    (nn:linear (relu h) 10)))
;;;; defdiagnostic -> writing-diagnostics (name (&key field...) [doc] (:for selector | :step | (:scope glob)) [(:reduce key)] form...)
;;; A number of each matching parameter or model call, or of the step.
(defdiagnostic weight-norm (&key param) "Length." (:for (select :rank 2)) (norm param))
;;;; losses -> objective (key x ...)
;;; Named losses, which groups pick by :loss.
(defun objective (&key image label)
  (let ((loss (nn:cross-entropy (net image) label)))
    (losses :main loss)))
(defun optimizer ()
  (groups (group :rest (optim:sgd :lr 0.1) :loss :main)))
;;;; defeval -> evaluation (name [doc] &key loader output every at batches weights save)
;;; A pass over a stage while training.
(defeval val :loader (data :val) :every 50)
;;;; deftarget -> evaluation (series &key below above stop)
;;; A goal; with :stop t the run ends when it is met.
(defeval val :loader (data :val) :every 50)
(deftarget "val/loss" :below 0.5 :stop t)
;;;; defoutput -> evaluation (name (&key field...) [doc] form...)
;;; A graph for use: what predict and sample compute.
(defoutput scores (&key image) "Class scores." (softmax (net image)))
;;;; group -> optimizer-groups (selector optimizer &key loss every offset optional dtype)
;;; Who updates what a selector picks: an optimizer value, or :frozen.
(defun optimizer ()
  (groups (group (select :rank 1) (optim:sgd :lr 0.1)) (group :rest (optim:adamw))))
;;;; groups -> optimizer-groups (&key clip-norm clip-value ema ema-state group...)
;;; All groups; the first that matches a parameter has it.
(defun optimizer ()
  (groups :clip-norm 1.0 (group :rest (optim:adamw :lr 1e-3))))
;;;; select -> optimizer-groups (&key path rank dtype size stage where and or not)
;;; A selector of parameters; several keywords must all hold.
(defun optimizer ()
  (groups (group (select :rank (>= 2) :path "**/w") (optim:adamw :lr 1e-3))
          (group :rest (optim:sgd :lr 0.1))))
;;;; defoptimizer -> optimizer-groups (name (&key parameter...) [doc] (defstate...)... (optimizer-update (param grad) form...))
;;; An optimizer of one's own: its last form is the new parameter.
(defoptimizer plain (&key (lr 0.1))
  "Gradient descent."
  (optimizer-update (param grad) (- param (* lr grad))))
(defun optimizer ()
  (groups (group :rest (plain :lr 0.05))))
;;;; defschedule -> optimizer-groups (name (parameter...) [doc] form...)
;;; A function whose value depends on the step.
(defschedule ramp (peak steps)
  "Linear."
  (* peak (min 1 (/ (ctx :step) steps))))
(defun optimizer ()
  (groups (group :rest (optim:sgd :lr (ramp 0.1 50)))))
;;;; optimizer-apply -> optimizer-groups (optimizer param grad)
;;; The parameter as another optimizer updates it; its states join those of the body.
(defoptimizer halved (inner)
  "Half the step of another optimizer."
  (optimizer-update (param grad)
    (lerp param (optimizer-apply inner param grad) 0.5)))
(defun optimizer ()
  (groups (group :rest (halved (optim:sgd :lr 0.1)))))
;;;; param-path -> optimizer-groups (param)
;;; The path of the parameter whose update is traced.
(defoptimizer plain (&key (lr 0.1))
  "Slower in the head."
  (optimizer-update (param grad)
    (- param (* (if (search "head" (param-path param)) 0.01 lr) grad))))
(defun optimizer ()
  (groups (group :rest (plain))))
;;;; group-updates -> optimizer-groups ()
;;; The group's committed updates, 0 at the first.
(defoptimizer slowing (&key (lr 0.1))
  "A rate that falls."
  (optimizer-update (param grad)
    (- param (* (/ lr (+ 1.0 (cast (group-updates) :f32))) grad))))
(defun optimizer ()
  (groups (group :rest (slowing))))
;;;; batch -> data (:name tensor ...)
;;; What prepare returns: the tensors that objective and evaluate take by name.
(defun prepare (&key image label)
  (batch :image (/ image 16.0) :label label))
;;;; defrun -> defrun (&key steps epochs until seed precision checkpoint log-every ...)
;;; The run: how long, from which seed, what is saved. Last, once.
(defrun :steps 100 :seed 1 :checkpoint (:every 50))
