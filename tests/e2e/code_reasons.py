"""Codes whose example is in words, with the test that makes each happen; codes not raised yet."""

from __future__ import annotations

CORE, E2E = "tests/core/", "tests/e2e/test_e2e_"
DEEP = "tests/run_files/test_run_file_deep.py::"
SLURM = CORE + "test_sweep_slurm.py::"
REGISTRY = CORE + "test_registry.py::"
SHOWN_BY = {
    "E-READ-ENCODING": E2E + "mistakes.py::test_a_file_that_is_none_is_told",
    "E-LIMIT-NODES": CORE + "ir/test_ir_builder.py"
    "::test_a_graph_of_too_many_nodes_is_told_when_it_gets_there",
    "E-DATA-LOST": CORE + "data/test_data_rows.py"
    "::test_a_file_that_is_cut_removed_or_written_to_is_lost",
    "W-DATA-WAIT": CORE + "runtime/test_run_throughput.py"
    "::test_steps_that_wait_for_data_are_told_with_the_share",
    "E-DATA-TOKEN": CORE + "data/test_data_survey.py"
    "::test_tokens_are_held_to_the_embedding_that_prepare_hands_them_to",
    "W-DATA-NAN": CORE + "data/test_data_survey.py"
    "::test_numbers_that_are_not_finite_are_told_with_the_first_example",
    "W-SPLIT-LEAK": CORE + "data/test_data_survey.py"
    "::test_equal_examples_of_two_splits_are_counted",
    "W-SPLIT-SORTED": CORE + "data/test_data_survey.py"
    "::test_a_sorted_table_that_is_cut_by_position_is_told",
    "W-DATA-UNREAD": E2E + "remote_data.py::test_a_check_asks_nobody_and_says_what_was_not_read",
    "E-DATA-TYPE": CORE + "data/test_data_loader.py::test_integers_beyond_an_i32_are_told",
    "E-DEVICE-ABSENT": CORE + "test_training.py"
    "::test_a_device_that_is_not_here_is_told_before_anything_is_compiled",
    "E-RUN-MEMORY": CORE + "runtime/test_run_loop.py"
    "::test_a_machine_without_memory_fails_the_run_and_keeps_what_was_saved",
    "E-RESUME-PARAM": CORE + "runtime/test_run_loop.py"
    "::test_another_experiment_or_other_parameters_do_not_resume",
    "W-RESUME-PARAM": CORE + "runtime/test_run_fates.py"
    "::test_globs_that_name_nothing_or_what_is_the_same_are_told",
    "E-DATA-EXTRA": CORE + "data/test_data_loader.py::test_a_missing_extra_is_named",
    "E-USAGE-BROKEN": E2E + "notes.py::test_a_document_that_cannot_be_read_is_told_by_its_code",
    "E-RUN-LOST": E2E + "live.py::test_a_run_whose_process_is_gone_is_lost_to_readers",
    "W-RUN-LINE": E2E + "notes.py::test_lines_that_do_not_parse_are_told_and_passed",
    "E-PARAM-LOAD": CORE + "compile/test_compile_loads.py"
    "::test_what_does_not_fit_is_told_with_both_names",
    "W-RUN-DIAGNOSTIC": CORE + "runtime/test_run_sampling.py"
    "::test_numbers_that_do_not_fit_are_refused_and_the_run_goes_on",
    "W-SINK-FAILED": CORE + "runtime/test_run_sinks.py"
    "::test_a_sink_that_raises_is_told_once_and_the_others_go_on",
    "E-DEVICE-OPERATION": "tests/cpu/test_cpu_session.py"
    "::test_an_operation_that_nothing_does_is_named",
    "E-LOWER-WHILE": "tests/cpu/test_cpu_loops.py::test_a_device_without_while_loops_says_so",
    "E-DEVICE-COMPILE": "tests/cpu/test_cpu_loader.py::test_text_that_llvm_refuses_is_a_problem",
    "E-DEVICE-FAULT": "tests/cuda/test_cuda_emulated_driver.py"
    "::test_a_kernel_that_leaves_its_memory_is_a_problem_that_names_it_from_then_on",
    "E-DEVICE-LOST": "tests/cuda/test_cuda_presence.py"
    "::test_every_error_of_a_driver_has_a_code_of_ours",
    "E-RUN-TUNING": CORE + "runtime/test_run_tuning.py"
    "::test_a_damaged_file_is_refused_with_what_to_do",
    "E-RUN-INTERRUPTED": "tests/cli/test_every_verb.py"
    "::test_a_fault_and_an_interrupt_are_one_document",
    "E-RUN-LOCKED": CORE + "runtime/test_run_loop.py::test_a_run_that_is_live_is_locked",
    "E-EXECUTOR-ABSENT": SLURM + "test_a_machine_without_slurm_is_told",
    "E-EXECUTOR-LOST": SLURM + "test_a_controller_that_is_silent_for_long_is_told",
    "E-EXECUTOR-JOB": SLURM + "test_what_slurm_ended_is_told_with_its_word",
    "E-EXECUTOR-REFUSED": CORE + "test_sweep_flight.py::test_an_engine_that_takes_nothing_is_told",
    "E-RUN-WRITE": E2E + "storage.py::test_a_folder_that_cannot_be_written_is_told",
    "E-CHECKPOINT-VERIFY": CORE + "runtime/test_run_verification.py"
    "::test_a_device_that_gives_other_bits_is_found",
    "E-CHECKPOINT-CORRUPT": E2E + "storage.py::test_a_flipped_byte_of_a_checkpoint_is_found",
    "E-CHECKPOINT-DISK": E2E + "storage.py::test_a_full_disk_at_the_first_checkpoint_fails_the_run",
    "E-STORE-DENIED": E2E
    + "store.py::test_a_wrong_secret_is_told_before_anything_is_compiled_and_by_doctor",
    "E-STORE-LOST": CORE + "checkpoint/test_checkpoint_store.py::test_a_store_that_refuses_says_so",
    "W-RESUME-NUMERICS": CORE + "runtime/test_run_loop.py"
    "::test_other_numerics_resume_with_a_warning_that_names_them",
    "E-DEVICE-DISK": E2E + "disks.py::test_checkpoints_that_do_not_fit_are_refused_before_step_0",
    "W-RUN-DEADLINE": E2E + "costs.py::test_a_deadline_before_the_last_step_is_told_when_it_begins",
    "E-SWEEP-UNKNOWN": E2E + "sweep.py::test_a_point_is_checked_and_run_alone",
    "E-PLUGIN-BROKEN": REGISTRY + "test_a_broken_plugin_is_recorded_and_the_rest_work",
    "E-PLUGIN-CLASH": REGISTRY
    + "test_of_two_third_parties_with_one_name_neither_has_it_and_both_are_named",
    "E-PLUGIN-API": REGISTRY + "test_another_api_is_refused",
    "E-PLUGIN-HOOK": REGISTRY + "test_a_misspelt_hook_is_not_silence",
    "E-PLUGIN-FACT": REGISTRY + "test_a_row_of_the_wrong_kind_or_with_more_than_text_is_refused",
    "W-DEEP-CHANCE": DEEP + "test_a_first_loss_that_no_guess_gives_is_a_warning",
    "E-DEEP-OVERFIT": DEEP + "test_a_file_that_breaks_a_promise_is_found",
    "E-DEEP-DIFFERS": DEEP + "test_a_file_that_breaks_a_promise_is_found",
    "E-INTERNAL": CORE + "evaluator/test_language_modules.py"
    "::test_an_exception_of_ours_is_an_internal_error_at_its_place",
}

NAMED: set[str] = set()
"""Of what nothing raises yet, what the sources name already: exits, the hook that will raise it."""

_LATER = {
    "bundles": "E-CLAIM",
    "none by design, docs/decisions/0033: lowerings give the same bits": "W-NONDETERMINISTIC",
    "ranks and other devices": "E-RANK-LOST E-RANK-DIFFERS E-RANK-STALLED",
    "spellings that are old: there are none yet": "W-DEPRECATED",
}
NOT_YET = {code: why for why, codes in _LATER.items() for code in codes.split()}
"""Codes that nothing raises, and the part of the product that will."""
