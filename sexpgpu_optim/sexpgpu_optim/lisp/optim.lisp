;;; sexpgpu/optim: optimizers and schedules, each in the file of its family. t is
;;; (group-updates) + 1; lr and every number may be a step scalar.

(require "sexpgpu/optim/momentum" :import :all)
(require "sexpgpu/optim/adaptive" :import :all)
(require "sexpgpu/optim/matrix" :import :all)
(require "sexpgpu/optim/wrappers" :import :all)
(require "sexpgpu/optim/schedules" :import :all)

(provide sgd lion lars adam adamw nadam radam adamax adagrad rmsprop lamb schedule-free-adamw
         adafactor muon shampoo soap lookahead noisy centralize clip-adaptive layer-decay constant
         warmup-cosine warmup-linear warmup-stable-decay inverse-sqrt exponential step-decay
         piecewise polynomial one-cycle cosine-restarts ramp join)
