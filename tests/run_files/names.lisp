;;; names.lisp: one name a line, each a document of its own: padded windows whose padding weighs 0.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob longest 12 "Letters of a name, its end included." :type (integer 2))

(defloader names
  (source (text-files "names.txt" :tokenizer :chars))
  (windows longest :documents (string #\Newline))
  (split-by :hash)
  (stage :train :split (0 0.8))
  (stage :val   :split (0.8 1))
  (batch 4))

(defun prepare (&key tokens weights)
  (batch :inputs  (concat (zeros-like (slice tokens :axis 1 :end 1))   ; 0 is the line's end
                          (slice tokens :axis 1 :end -1) :axis 1)
         :targets tokens
         :weights weights))

(defmodel letters (x)
  (nn:linear (nn:embedding x (loader-info names :vocab) 16) (loader-info names :vocab)))

(defun objective (&key inputs targets weights)
  (metric "loss" (nn:cross-entropy (letters inputs) targets :weights weights)))

(defeval val :loader (names :val))

(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))

(defrun :steps 20 :seed 1 :checkpoint (:every 5))
