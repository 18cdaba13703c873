"""Which tests hold each rule of the settled run file, R1 to R50, and the codes by which it speaks.

Of a code the page of errors has an example that raises it, which a test runs."""

from __future__ import annotations

LATER = ("R41", "R37's :concat", "with-weights :shadow")
"""What a file may not depend on yet; the first two are there all the same."""

RULES: dict[int, str] = {
    1: "E-RANDOM-BATCH test_random_numbers_follow_the_row_and_the_seed"
    " test_a_map_over_the_batch_draws_by_row_in_any_number_of_blocks",
    2: "E-OBJECTIVE-NONLINEAR W-BATCH-DEPENDENCE test_batch_norm_may_be_cut_into_blocks"
    " test_a_loss_that_blocks_would_change_is_told",
    3: "W-STATE-ROWS test_rows_carry_their_state_in_any_number_of_blocks_and_over_a_resume"
    " test_rows_carry_their_state_through_a_pass_by_averaged_weights"
    " test_pieces_with_their_states_give_what_one_call_of_all_gives",
    4: "test_streams_are_contiguous_runs_whose_first_are_longer"
    " test_streams_continue_each_row_in_the_next_batch"
    " test_rows_of_streams_know_where_a_document_begins",
    5: "E-STATE-SET test_a_state_proposes_its_next_value_in_training_only"
    " test_a_state_is_not_set_in_a_trip",
    6: "W-SPLIT-SORTED W-SPLIT-OVERLAP test_hashed_and_stratified_splits_do_not_overlap"
    " test_pictures_are_read_and_split_so_that_classes_are_alike"
    " test_a_stage_has_a_source_and_a_batch_of_its_own",
    7: "test_a_counter_is_of_its_stage",
    8: "E-STAGE-OUTSIDE W-RANDOM-EVAL test_a_parameter_in_prepare_stands_outside_its_place"
    " test_a_field_that_prepare_gives_is_fed_raw",
    9: "E-SHAPE-ARGUMENT test_arrays_of_files_that_no_checkpoint_holds_are_read_again"
    " test_an_output_reads_it_too",
    10: "test_every_tensor_builtin_is_documented"
    " test_fans_take_the_receptive_field_and_leave_batch_axes_out",
    11: "E-RUN-INDEX test_an_index_out_of_range_may_be_dropped"
    " test_an_index_out_of_range_commits_nothing test_an_index_out_of_range_halts_and_says_where",
    12: "E-CONTRACT test_a_model_is_a_function_with_keywords_and_values"
    " test_name_as_a_keyword_of_a_model_breaks_the_contract"
    " test_models_may_be_used_before_their_definition_and_recur",
    13: "W-SCOPE-UNNAMED E-PARAM-PATH test_a_helper_adds_to_its_callers_scope"
    " test_with_scope_opens_a_scope_without_a_model"
    " test_a_call_that_a_knob_counts_is_told_and_its_edit_mends_it",
    14: "test_a_scan_and_its_gradient_are_those_of_the_trips_written_out"
    " test_a_scan_may_have_no_xs_or_no_ys test_a_checkpoint_lowers_the_peak_and_changes_no_bit",
    15: "E-INIT-CYCLE test_a_form_of_tensors_is_an_initial_value"
    " test_another_parameters_initial_value_is_asked_for"
    " test_random_numbers_are_drawn_in_the_domain_of_initial_values",
    16: "W-TEST-OFTEN test_a_pass_falls_due_after_multiples_and_at_named_steps",
    17: "E-SCHEDULE E-STEPS-UNKNOWN test_schedules_at_their_borders"
    " test_a_schedule_is_its_formula_at_every_step",
    18: "W-SMOOTHED-METRIC test_cross_entropy_leaves_ignored_labels_out",
    19: "test_a_state_may_have_a_shape_of_its_own test_defparam_needs_a_name_and_a_shape",
    20: "E-CURRICULUM test_selectors_pick test_a_curriculum_that_names_no_stage_is_told",
    21: "E-PARAM-DUPLICATE E-PARAM-PASS test_calls_at_the_root_under_one_name_share"
    " test_another_name_at_the_root_is_another_scope test_unnamed_calls_in_a_model_are_numbered",
    22: "W-METRIC-BATCHWISE test_a_metric_over_a_pass_is_of_all_its_examples"
    " test_what_cannot_be_gathered_is_told",
    23: "test_a_tensor_is_reduced_over_all_axes test_a_ratio_of_sums_is_the_ratio_over_all"
    " test_metrics_by_an_index_are_one_an_index",
    24: "E-BATCH-DIVIDE test_masks_are_stages_of_one_graph"
    " test_an_output_of_a_whole_graph_gives_each_node_the_class_of_its_pass"
    " test_masks_of_one_thing_are_held_apart",
    25: "E-CTX-KEY test_a_pass_knows_its_own_stage_and_an_output_none",
    26: "E-FIELD test_csv_columns_are_typed_grouped_filled_and_hashed"
    " test_fields_renames_and_chooses test_rest_of_prepare_takes_every_field"
    " test_loader_info_answers_by_the_keys_of_its_page",
    27: "E-OUTPUT test_a_field_of_a_type_of_its_own_needs_no_loader"
    " test_random_numbers_are_keyed_by_the_output_and_by_the_row"
    " test_a_pass_saves_every_row_of_an_output_in_order",
    28: "W-EMA-STATE test_ema_follows_the_new_parameter"
    " test_the_best_weights_are_read_for_the_pass_alone",
    29: "test_a_curriculum_that_reads_a_metric_ends_the_run_by_it"
    " test_what_is_not_finite_never_is_best_and_never_meets_a_target",
    30: "test_two_stars_match_every_path test_a_state_may_have_a_shape_of_its_own",
    31: "test_functions_may_be_defined_after_what_calls_them",
    32: "test_a_parameter_made_in_a_trip_is_one_of_the_model"
    " test_a_parameter_in_a_checkpoint_is_one_input",
    33: "E-GROUP-LOSS E-LOSS-UNUSED E-PARAM-UNREACHED E-GROUP-PATTERNS"
    " test_players_move_at_once_each_by_its_own_loss"
    " test_a_group_moves_at_its_own_steps_and_counts_them",
    34: "test_frozen_weights_stay_and_adapters_learn"
    " test_a_frozen_group_is_kept_in_its_dtype_and_read_as_it_was_declared"
    " test_frozen_forms_let_no_gradient_to_parameters",
    35: "E-PARAM-LOAD test_a_state_dict_is_loaded_and_gives_the_same_loss"
    " test_a_run_begins_where_another_ended_and_resumes_without_loading"
    " test_a_state_of_the_same_path_is_loaded_too",
    36: "E-EMA-MISSING test_a_teacher_is_the_average_of_the_step_before"
    " test_with_mode_changes_what_ctx_answers"
    " test_averages_are_read_in_an_output_and_missed_where_none_are",
    37: "E-STATE-ROWS test_a_queue_forgets_its_oldest_rows",
    38: "W-STAGE-OVERLAP test_windows_that_overlap_by_one_give_every_next_token_once"
    " test_an_epoch_visits_every_example_once",
    39: "E-GROUP-STAGE W-CTX-SCALE test_progress_is_that_of_the_counter_which_ends_the_run"
    " test_check_says_which_stage_trains_from_which_step_and_the_run_does_so",
    40: "test_every_token_is_in_one_window_of_its_document_and_the_rest_is_padding"
    " test_a_packed_row_has_whole_pieces_and_no_weight_where_a_segment_ends"
    " test_short_windows_are_dropped_or_kept_from_a_length_on"
    " test_token_id_is_of_the_loaders_tokenizer",
    41: "test_replaced_calls_keep_the_paths_of_what_they_replace test_the_original_is_called_once",
    42: "E-REQUIRE-RUN test_knobs_of_a_module_are_named_by_its_prefix",
    43: "test_a_batch_of_a_mixture_is_a_function_of_its_number"
    " test_epochs_count_what_was_seen_of_each_source"
    " test_shares_are_exact_and_every_example_comes_as_often",
    44: "test_states_begin_as_numbers_and_are_results_of_the_body"
    " test_a_body_that_asks_for_the_path_is_traced_for_each",
    45: "test_without_a_selection_there_is_no_observer test_a_metric_more_changes_no_bit"
    " test_the_norm_is_of_before_clipping_and_the_update_of_after",
    46: "E-GRAD-UNREACHED test_grad_is_the_limit_of_differences_also_of_a_gradient"
    " test_value_and_grad_gives_the_value_first",
    47: "test_data_that_is_drawn_has_no_fields_and_no_end"
    " test_rows_that_are_drawn_without_a_field_are_others_in_each_block"
    " test_a_field_with_a_default_need_not_be_there"
    " test_a_file_is_run_in_f64_by_its_precision_alone"
    " test_numbers_of_a_file_are_rounded_to_f64_alone",
    48: "test_a_row_is_the_mean_and_the_deviation_of_its_folds"
    " test_folds_hold_out_each_example_once",
    49: "W-STAT-LEAK test_numbers_of_a_split_are_of_that_split_alone"
    " test_numbers_of_a_split_are_in_the_identity_and_the_manifest",
    50: "test_integers_of_unlike_dtype_compare_by_value",
}
"""Number of the rule -> names of tests, and codes."""
