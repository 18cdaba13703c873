"""Which tests hold each numbered item of the design's page of contracts, its sections A to C.

The form of runtime_rules.py: words of an item, in the order of the page, and the tests.
"""

from __future__ import annotations

ITEMS = (
    *(f"A{n}" for n in range(1, 12)),
    *(f"B{n}" for n in range(1, 17)),
    *(f"C{n}" for n in range(17, 31)),
)

ELSEWHERE = {
    "Bundle YAML traps": "bundles are not there yet",
    "language server converts to UTF-16": "the language server is not there yet",
}
"""What of these items is not there yet."""

TABLE = """
# A1
Every `--json` answer
  test_every_document_is_valid_by_its_closed_schema
  test_what_a_verb_says_is_strict_json_by_its_schema
  test_a_line_exits_as_it_should_with_one_document
every JSON/YAML file of the product
  test_every_file_of_json_says_its_version_and_its_kind
  test_another_run_of_the_process_keeps_its_own_picks_only
has `v` and `event` instead
  test_every_document_is_valid_by_its_closed_schema
Within a version keys are only added
  test_a_schema_has_all_that_the_contracts_has
a reader ignores keys
  test_a_document_of_another_shape_is_told_by_its_key
  test_a_run_of_tomorrow_is_read_by_what_it_has_of_today
Closed sets: severity
  test_closed_sets_are_the_contracts_and_a_reader_may_meet_other_keys
The shipped schemas are open (readers)
  test_closed_sets_are_the_contracts_and_a_reader_may_meet_other_keys
the product's own tests close them
  test_every_document_is_valid_by_its_closed_schema
Each schema file stands alone
  test_a_schema_stands_alone_and_is_printed
# A2
Times: UTC
  test_a_time_is_of_utc_in_milliseconds
  test_a_key_that_is_named_by_its_unit_holds_that
  test_every_document_is_valid_by_its_closed_schema
Durations: seconds
  test_a_key_that_is_named_by_its_unit_holds_that
  test_every_document_is_valid_by_its_closed_schema
Any metric or diagnostic number may be
  test_numbers_that_are_not_finite_are_texts_wherever_they_are_said
  test_what_a_verb_says_is_strict_json_by_its_schema
A knob's value is Lisp text
  test_a_selection_is_kept_as_it_prints
Null is "not known or none"
  test_every_document_is_valid_by_its_closed_schema
Paths use `/`
  test_paths_of_the_manifest_are_relative_to_where_it_ran
  test_standard_input_and_a_path_below_here_are_named_as_they_are_shown
  test_what_was_read_is_kept_byte_for_byte
# A3
span is flat
  test_every_part_has_its_key
  test_a_span_counts_code_points_lines_from_1_and_offsets_from_0_with_its_end_left_out
`-` is the file of stdin
  test_standard_input_and_a_path_below_here_are_named_as_they_are_shown
  test_standard_input_lies_where_it_is_said_to
# A4
always there (file, span, hint, edit may be null)
  test_keys_that_are_always_there_are_there_and_others_only_when_they_say_something
  test_checks_are_what_their_schema_says
`edit` = `{title, safe
  test_every_part_has_its_key
all or nothing
  test_all_changes_of_an_edit_are_made
  test_an_edit_that_meets_another_is_left_whole
  test_an_edit_of_two_files_is_left_whole
refused when `old` is not what stands there
  test_an_edit_of_another_text_than_stands_there_is_left
  test_a_file_that_was_saved_since_it_was_read_is_not_written_over
`facts` are typed and named on the code's page
  test_every_fact_that_the_sources_give_is_in_the_table
  test_the_line_of_a_page_names_each_with_its_type
  test_a_wrong_example_raises_its_code_and_a_right_one_does_not
  test_facts_are_bounded_and_never_not_json
# A5
Exit 0 needs complete and no error
  test_a_check_says_how_far_it_came_in_the_order_of_phases
A check passes through
  test_a_check_says_how_far_it_came_in_the_order_of_phases
# A6
document `error` with
  test_a_line_exits_as_it_should_with_one_document
  test_a_wrong_word_is_exit_2_with_one_document
never empty and never a traceback
  test_a_line_exits_as_it_should_with_one_document
  test_a_fault_and_an_interrupt_are_one_document
  test_a_surprise_is_exit_70_with_a_report_and_no_traceback
# A7
`--limit N` (20)
  test_more_than_the_limit_is_cut_and_says_so
  test_runs_are_listed_newest_first
  test_lists_are_cut_at_the_limit_and_sweep_json_has_them_whole
`more` is the command that shows it
  test_the_command_for_what_was_cut_shows_it
# A8
in every line
  test_every_document_is_valid_by_its_closed_schema
`step` = steps done
  test_skipped_steps_count_as_steps_and_not_as_updates
  test_an_attempt_begins_with_open_or_resume_and_ends_with_close
is reported with `step` t + 1
  test_step_scalars_have_the_numbers_of_before_the_step
that very step, not a mean
  test_metrics_of_a_step_do_not_depend_on_the_cadence
`elapsed` = active seconds
  test_elapsed_is_the_active_time_of_all_attempts
  test_lines_are_numbered_and_times_do_not_go_back
`seq` = the line's number
  test_lines_are_numbered_and_times_do_not_go_back
a reader drops lines
  test_a_resume_drops_what_earlier_attempts_said_past_its_step
`close` last of an attempt
  test_an_attempt_begins_with_open_or_resume_and_ends_with_close
  test_an_end_while_kernels_are_compiled_is_at_once_and_leaves_no_checkpoint
Kinds and keys: `contracts/schemas/event.json`
  test_every_document_is_valid_by_its_closed_schema
# A9
one derived, `lost`
  test_a_run_whose_process_is_gone_is_lost_to_readers
  test_a_run_whose_process_is_gone_is_lost
Heartbeat every 2 s
  test_the_heartbeat_goes_on_while_it_compiles
finished 0 (5 when
  test_a_run_ends_finished_with_its_metrics_and_files
  test_a_stopping_target_that_is_missed_is_exit_5
  test_a_signal_in_any_phase_ends_it_as_the_table_says
  test_a_deadline_runs_the_passes_of_the_end_and_exits_75
  test_a_stopped_run_ends_after_its_step_with_a_checkpoint
# A10
`experiment_id` = 12 hex
  test_a_run_is_another_by_all_that_training_depends_on
  test_a_run_is_another_by_the_contents_of_its_data
Not in it: selection
  test_a_run_is_the_same_by_what_training_does_not_depend_on
`reuse` over another version or device says so
  test_a_run_that_is_reused_says_where_it_was_run_otherwise
`evaluation_ids` = pass -> hash
  test_another_model_is_judged_alike
  test_another_judgement_has_another_id
Runs are ranked only with equal evaluation ids
  test_runs_that_were_judged_otherwise_are_not_ranked
# A11
RUN, SAVE, SIDE, SELECT
  test_what_is_no_run_is_wrong_usage
  test_a_run_is_found_by_path_word_slug_and_prefix
  test_a_whole_slug_wins_over_beginnings_and_folders_that_are_no_runs_do_not_count
  test_a_save_is_a_run_and_a_step
  test_runs_are_sides_too_with_their_numbers
  test_a_checkpoint_is_a_side_and_two_are_told_by_what_they_hold
runs root, slug, exits
  test_the_runs_root_is_the_flags_then_the_variables_then_the_files
  test_a_slug_says_file_variant_knobs_and_experiment
  test_every_exit_of_the_contract_is_made_or_has_a_test
# B1
redefines the special operator
  test_a_model_does_not_take_a_name_of_the_standard
  test_an_example_checks_without_a_warning
# B2
parameter paths are part of training
  test_names_alone_are_renamed
  test_comments_and_names_of_functions_are_no_change_to_training
function, metric and docstring names are not
  test_comments_and_names_of_functions_are_no_change_to_training
  test_a_run_is_the_same_by_what_training_does_not_depend_on
# B3
Drop selection (A10)
  test_a_run_is_the_same_by_what_training_does_not_depend_on
# B4
`--if-exists run|reuse|fail`
  test_an_experiment_that_was_run_is_taken_or_refused
  test_a_default_is_the_contracts
`W-RUN-EXISTS` that shows the earlier result
  test_the_same_again_is_another_folder_and_says_so
  test_the_same_experiment_again_is_a_new_folder_with_a_warning
sweep uses reuse
  test_what_has_finished_is_not_run_again_whoever_ran_it
# B5
the field is `hint`
  test_keys_that_are_always_there_are_there_and_others_only_when_they_say_something
the text renderer prints `help:`
  test_message_place_underline_note_expansion_scope_help_and_edit_are_all_shown
# B6
numbers under `values`
  test_they_change_no_bit_and_are_told_by_the_schema
# B7
`E-STAGE-*` is staging
  test_codes_of_stages_are_of_staging_and_those_of_loaders_of_data
  test_every_code_of_the_catalogue_is_there_and_is_what_it_was
# B8
print a compact document a line
  test_following_a_run_that_has_ended_shows_it_once
`run --json` prints only the final status
  test_run_json_is_the_status_document_alone
  test_a_line_exits_as_it_should_with_one_document
# B9
one JSON file a request
  test_requests_in_the_control_folder_are_taken_up_between_steps
  test_a_live_run_writes_a_note_itself
renamed in, taken up between steps
  test_requests_in_the_control_folder_are_taken_up_between_steps
  test_a_live_run_is_asked_for_more_and_keeps_its_bits
appends under the run's lock
  test_a_note_on_a_run_that_has_ended_is_written_under_its_lock
# B10
bare words look among runs
  test_a_bare_step_is_looked_for_in_this_experiments_newest_run
`--resume RUN[@STEP]` for a changed file
  test_a_named_run_of_a_changed_file_wants_to_be_told_so
`--resume auto` (resume or begin)
  test_auto_begins_and_then_goes_on
# B11
`header` functions are pure Python
  test_headers_of_all_kinds_are_pure_python
  test_fields_have_no_batch_axis_and_need_no_numpy
counts that need a scan are cached
  test_a_copy_a_moved_and_a_touched_file_are_not_scanned_again
give `W-DATA-UNREAD`
  test_a_check_goes_on_without_n_and_knows_it_after_the_scan
  test_a_check_asks_nobody_and_says_what_was_not_read
  test_a_table_that_was_not_read_is_what_its_fields_say
`check --data` reads all
  test_what_was_read_stands_below_the_summary_and_in_the_document
  test_a_leak_is_a_warning_that_can_be_denied
# B12
NamedTuple (or hand-written slots) on the check path
  test_a_check_imports_nothing_heavy
a test counts classes and milliseconds
  test_a_check_imports_a_bounded_number_of_modules
# B13
check knows a device by its row
  test_a_check_for_a_device_that_is_not_here_knows_it_by_its_row
  test_check_imports_neither_plug_ins_nor_anything_heavy
# B14
a predicted misfit is 4
  test_memory_that_no_machine_has_is_refused_before_step_0
a missing data file 1
  test_data_that_are_not_there_are_the_files_mistake
a denied store 4
  test_a_wrong_secret_is_told_before_anything_is_compiled_and_by_doctor
  test_a_store_that_is_read_only_is_told_before_anything_runs
data lost while running 3
  test_data_that_shrink_while_it_runs_cost_no_checkpoint
New **6: not yet**
  test_waiting_no_longer_is_exit_6
  test_a_stop_that_waits_no_longer_is_exit_6
# B15
A9 `lost`
  test_a_run_whose_process_is_gone_is_lost_to_readers
# C17
`run --detach`
  test_a_detached_run_goes_on_alone
`stop RUN`
  test_a_stopped_run_ends_after_its_step_with_a_checkpoint
`events RUN`
  test_numbers_are_a_table_of_steps
`docs NAME` for any form
  test_docs_of_a_word_is_its_call_what_it_is_and_an_example
  test_docs_knows_what_modules_provide
  test_every_function_macro_and_special_form_is_in_a_chapter
`new --list`
  test_the_templates_are_the_examples
are the same page
  test_a_code_has_one_page_whichever_verb_is_asked
  test_explain_and_docs_give_the_same_page_of_a_code
# C18
`--point SWEEP/POINT` on every selecting verb
  test_a_verb_takes_the_options_and_arguments_of_its_synopsis
  test_a_point_is_checked_and_run_alone
`--steps` and `--seed` are part of SELECT
  test_a_verb_takes_the_options_and_arguments_of_its_synopsis
  test_steps_and_seed_from_outside_stand
# C19
`-s` is `--set`'s short form
  test_a_verb_takes_the_options_and_arguments_of_its_synopsis
A string knob takes raw text
  test_a_string_knob_takes_raw_text
an integer is taken for a float knob
  test_a_whole_number_is_taken_for_a_float
`true/false/none` answer
  test_a_word_of_another_language_for_true_is_told
Without `:type` the default's type counts
  test_a_knob_without_a_type_has_that_of_its_default
# C20
`chars.lisp:gpt2,lr=3e-4`; `diff chars.lisp:smoke :gpt2`
  test_a_variant_says_which_parameters_have_another_shape
  test_only_weight_decay_changed
`diff FILE` alone
  test_a_file_alone_is_compared_with_its_latest_run
`--exit-code` for CI
  test_comments_and_names_of_functions_are_no_change_to_training
# C21
project root by sexpgpu.toml
  test_the_runs_root_is_the_flags_then_the_variables_then_the_files
A sweep's folder
  test_lists_are_cut_at_the_limit_and_sweep_json_has_them_whole
  test_a_run_that_is_called_like_the_beginning_of_a_sweep_is_the_run
# C22
`;; allow W-CODE: reason`
  test_a_comment_on_the_line_or_above_keeps_a_warning_back
  test_no_comment_allows_an_error_or_another_warning
  test_of_several_files_each_allows_what_stands_in_it
`[check] allow/deny`
  test_the_configuration_allows_and_denies_warnings
`--deny warnings` makes exit 1
  test_warnings_can_be_denied_and_allowed
`W-ALLOW-UNUSED`
  test_a_comment_that_allows_nothing_is_a_warning_once_all_are_known
# C23
checks a module (no E-MISSING)
  test_a_module_is_checked_without_a_run
validates values of all variants and points
  test_variants_are_checked_also_when_they_are_not_chosen
  test_values_of_all_points_are_checked_whichever_is_chosen
`--every-variant` compiles each
  test_every_variant_is_checked
# C24
`print` while compiling
  test_what_the_file_prints_goes_to_stderr_and_into_the_document
  test_a_loop_that_prints_ends_and_shows_the_head_of_it
  test_eval_cuts_what_is_long_and_prints_what_a_form_prints_apart
# C25
always reported, as `train/objective`
  test_the_objective_is_told_beside_named_metrics_and_series_have_their_pass
  test_a_pass_without_metrics_reports_the_objective
a series name is `STAGE-OR-PASS/NAME` everywhere
  test_the_objective_is_told_beside_named_metrics_and_series_have_their_pass
# C26
each leaf is an evaluated form
  test_leaves_of_a_declaration_are_evaluated_and_its_lists_are_syntax
a quote or `(list ...)` there is `E-OPTION-VALUE` with a safe edit
  test_a_quoted_list_in_a_declaration_has_a_safe_edit
A shape may also be a symbol bound to a list
  test_leaves_of_a_declaration_are_evaluated_and_its_lists_are_syntax
# C27
a file may shadow a tensor builtin
  test_a_file_may_take_the_name_of_a_tensor_builtin
standard names stay `E-REDEFINE`
  test_a_model_does_not_take_a_name_of_the_standard
`sort` dispatches on a tensor first argument
  test_sort_is_by_a_predicate_of_a_list_and_along_an_axis_of_a_tensor
# C28
except names with KEY, TOKEN, SECRET
  test_secrets_in_the_environment_are_not_written
query strings of URLs are cut
  test_what_a_url_asks_is_not_written
# C29
say which on stderr
  test_several_arrays_and_metrics
  test_the_newest_run_of_the_file_that_has_a_checkpoint_is_taken
# C30
doctor fails (4) only on
  test_doctor_fails_on_what_was_asked_alone
  test_doctor_says_what_is_here
"""
