"""Codes whose example is in words, with the test that makes each happen; codes not raised yet."""

from __future__ import annotations

CORE, E2E = "tests/core/", "tests/e2e/test_e2e_"
REGISTRY = CORE + "test_registry.py::"
SHOWN_BY = {
    "E-READ-ENCODING": E2E + "mistakes.py::test_a_file_that_is_none_is_told",
    "E-GRADIENT": CORE + "autodiff/test_autodiff_reverse.py"
    "::test_an_operation_without_gradient_is_named_at_its_place",
    "E-CURRICULUM": CORE + "staging/test_staging_declare.py"
    "::test_a_curriculum_that_names_no_stage_is_told",
    "E-DATA-EXTRA": CORE + "data/test_data_loader.py::test_a_missing_extra_is_named",
    "E-USAGE-CONFIG": CORE + "test_config.py::test_a_wrong_key_or_value_is_a_diagnostic",
    "E-USAGE-AMBIGUOUS": CORE + "runtime/test_run_documents.py"
    "::test_a_run_is_found_by_path_word_slug_and_prefix",
    "E-DEVICE-MEMORY": "tests/cpu/test_cpu_session.py::test_a_run_that_does_not_fit_is_a_problem",
    "E-DEVICE-OPERATION": "tests/cpu/test_cpu_session.py"
    "::test_an_operation_that_nothing_does_is_named",
    "E-DEVICE-COMPILE": "tests/cpu/test_cpu_loader.py::test_text_that_llvm_refuses_is_a_problem",
    "E-RUN-NONFINITE": E2E + "documents.py"
    "::test_a_loss_that_is_no_number_halts_with_the_state_of_before",
    "E-RUN-TARGET": CORE + "runtime/test_run_loop.py"
    "::test_a_stopping_target_that_is_missed_is_exit_5",
    "E-RUN-LOCKED": CORE + "runtime/test_run_loop.py::test_a_run_that_is_live_is_locked",
    "E-RUN-WRITE": E2E + "storage.py::test_a_folder_that_cannot_be_written_is_told",
    "E-RUN-INDEX": E2E + "documents.py::test_an_index_out_of_range_halts_and_says_where",
    "W-RUN-EXISTS": E2E + "verbs.py::test_the_same_again_is_another_folder_and_says_so",
    "W-GUARD-SKIP": E2E + "documents.py::test_skipped_updates_are_counted_and_the_run_goes_on",
    "E-CHECKPOINT-NONE": E2E + "storage.py::test_resuming_what_never_ran_is_told",
    "E-CHECKPOINT-CORRUPT": E2E + "storage.py::test_a_flipped_byte_of_a_checkpoint_is_found",
    "E-CHECKPOINT-DISK": E2E + "storage.py::test_a_full_disk_at_the_first_checkpoint_fails_the_run",
    "E-RESUME-CHANGED": E2E + "storage.py::test_a_checkpoint_of_a_changed_file_is_refused",
    "E-STORE-DENIED": CORE + "checkpoint/test_checkpoint_store.py"
    "::test_a_store_that_refuses_says_so",
    "E-STORE-LOST": CORE + "checkpoint/test_checkpoint_store.py::test_a_store_that_refuses_says_so",
    "W-RESUME-NUMERICS": CORE + "runtime/test_run_loop.py"
    "::test_other_numerics_resume_with_a_warning_that_names_them",
    "E-PLUGIN-BROKEN": REGISTRY + "test_a_broken_plugin_is_recorded_and_the_rest_work",
    "E-PLUGIN-CLASH": REGISTRY
    + "test_of_two_third_parties_with_one_name_neither_has_it_and_both_are_named",
    "E-PLUGIN-API": REGISTRY + "test_another_api_is_refused",
    "E-PLUGIN-HOOK": REGISTRY + "test_a_misspelt_hook_is_not_silence",
    "E-PLUGIN-FACT": REGISTRY + "test_a_row_of_the_wrong_kind_or_with_more_than_text_is_refused",
    "E-INTERNAL": CORE + "evaluator/test_language_modules.py"
    "::test_an_exception_of_ours_is_an_internal_error_at_its_place",
}

UNTESTED = frozenset((
    "E-LIMIT-NODES", "E-DATA-TYPE", "W-DATA-WAIT", "E-DEVICE-ABSENT", "E-DEVICE-DISK",
    "E-RUN-MEMORY", "E-RUN-DEADLINE", "E-RESUME-PARAM", "E-STORE-UNKNOWN",
))  # fmt: skip
"""Raised, told in words, and made to happen by no test yet. May only shrink."""

_LATER = {
    "scan, while-loop and grad inside a graph": "E-STAGE-CARRY E-LOWER-WHILE E-GRAD-UNREACHED",
    "published weights": "E-PARAM-LOAD",
    "parameters as values of others": "E-INIT-CYCLE",
    "states of rows": "E-STATE-ROWS W-STATE-ROWS",
    "several stages with unlike optimizers, patterns of due groups": "E-GROUP-STAGE"
    " E-GROUP-PATTERNS",
    "evaluation with averaged weights": "E-EMA-MISSING W-EMA-STATE",
    "lints of optimizers and schedules": "W-PARAM-RANK W-SCHEDULE W-PRECISION-UPDATE",
    "lints of passes": "W-EVAL-PARTIAL W-TEST-OFTEN W-SMOOTHED-METRIC",
    "lints of scopes and of the layout": "W-SCOPE-UNNAMED W-CTX-SCALE E-WEIGHT-DEPENDS",
    "looking at the data": "E-DATA-TOKEN E-DATA-LOST W-DATA-UNREAD W-SPLIT-LEAK W-SPLIT-SORTED"
    " W-STAT-LEAK",
    "check --deep, causality, bundles": "E-CAUSAL W-TARGET-LEAK W-NONDETERMINISTIC W-DEEP-CHANCE"
    " E-DEEP-OVERFIT E-DEEP-DIFFERS E-CLAIM E-CHECKPOINT-VERIFY",
    "sweeps": "E-SWEEP-UNKNOWN",
    "curricula that keep no state": "E-CURRICULUM-STATE",
    "ranks and other devices": "E-RANK-LOST E-RANK-DIFFERS E-RANK-STALLED E-DEVICE-FAULT"
    " E-DEVICE-LOST",
    "supervision of runs": "E-RUN-EXISTS E-RUN-LOST",
    "sinks of plug-ins while running": "W-SINK-FAILED",
    "spellings that are old: there are none yet": "W-DEPRECATED",
}
NOT_YET = {code: why for why, codes in _LATER.items() for code in codes.split()}
"""Codes that nothing raises, and the part of the product that will."""
