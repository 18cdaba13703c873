;;; gcn-cora.lisp: a graph convolutional network on Cora: 2,708 papers, 140 of them labelled.
;;;   sexpgpu run examples/gcn-cora.lisp -s file=data/cora.npz
;;;   sexpgpu sweep examples/gcn-cora.lisp ten -s file=data/cora.npz
;;;   sexpgpu predict examples/gcn-cora.lisp --output fields \
;;;     --in features=data/cora.npz --in edges=data/cora.npz -o fields.npz
;;; The settings are those of Kipf, Welling 2016. The file has the arrays features (n words),
;;; edges (e 2) both ways, labels (n) and split (n): 1 trains, 2 validates, 3 tests.
(require "sexpgpu/nn")
(require "sexpgpu/optim")

(defknob file    "data/cora.npz" "The graph, Planetoid's split." :type string)
(defknob classes 7               "Fields that papers are of."    :type (integer 2))
(defknob hidden  16              "Units of the hidden layer."    :type (integer 1))
(defknob rate    0.5             "Dropout, of the words too."    :type (float 0 (1)))
(defknob lr      1e-2            "Learning rate."                :type (float (0) 1))
(defknob decay   5e-4            "Of the first layer's weights." :type (float 0))
(defknob steps   200             "Steps of the run."             :type (integer 1))

(defvariant smoke "A second." :steps 20)
(defvariant gpu "PubMed, the largest of the paper's graphs, of the same arrays."
  :file "data/pubmed.npz" :classes 3)
(defsweep ten "The mean over seeds." :seeds 10 :rank ("test/accuracy" :max))

(defloader graph
  (source (npz file))
  (whole)
  (stage :train :mask (split 1))
  (stage :val   :mask (split 2))
  (stage :test  :mask (split 3)))

(defun prepare (&key features edges labels mask)
  "A paper's words sum to 1."
  (let ((words (cast features :f32)))
    (batch :words (/ words (max (sum words :axis 1 :keep t) 1.0))
           :edges (transpose edges)
           :labels labels
           :mask mask)))

(defmodel gcn (words edges)
  (let ((h (relu (nn:graph-conv (dropout words rate) edges hidden :bias nil :name "first"))))
    (nn:graph-conv (dropout h rate) edges classes :bias nil :name "second")))

(defun objective (&key words edges labels mask)
  (let ((logits (gcn words edges)))
    (metric "accuracy" (nn:accuracy logits labels :weights mask))
    (metric "loss" (nn:cross-entropy logits labels :weights mask))))

(defeval val :loader (graph :val) :every 20)
(defeval test :loader (graph :test) :at (:end))
(deftarget "test/accuracy" :above 0.8)

(defun optimizer ()
  (groups
    (group (select :path "**/first/w") (optim:adam :lr lr :weight-decay decay))
    (group :rest                       (optim:adam :lr lr))))

(defoutput fields (&key words edges)
  "Shares of each paper's fields, and the likeliest."
  (let ((share (softmax (gcn words edges))))
    (batch :share share :field (argmax share :axis 1))))

(defrun :steps steps :seed 1)
