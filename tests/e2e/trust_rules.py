"""Which tests hold each sentence of the design's page of trust that the runtime must keep.

The form of runtime_rules.py: words of a sentence, in the order of the page, and the tests.
"""

from __future__ import annotations

ITEMS = (1, 3, 4, 5, 6, 7, 13, 15)

ELSEWHERE = {
    "on 1, 2 or 4 ranks": "a run is one process in this version",
    "One table in `check`": "`check` says 12 lines (contracts/verbs.md), so the table is"
    " `explain --section parameters`",
}
"""What of these sentences is not there, or is somewhere else."""

TABLE = """
# 1
`checkpoint verify RUN [--steps K]`
  test_a_sound_run_is_proved_by_a_replay
  test_a_sound_run_is_replayed_to_its_last_checkpoint
  test_runs_that_were_stopped_and_resumed_are_sound
  test_skipped_steps_are_replayed
in the background, each run's first checkpoint
  test_a_sound_checkpoint_is_told_as_verified_though_it_is_no_longer_kept
  test_a_checkpoint_that_lacks_what_training_holds_is_told_at_once
compares every bit with what the live run had
  test_a_device_that_gives_other_bits_is_found
  test_a_damaged_file_is_found_in_whichever_checkpoint_it_lies
  test_harm_to_frozen_values_is_found_in_every_checkpoint_that_has_them
under the same numerics key
  test_on_a_machine_of_other_numerics_nothing_is_proved
remove any one tensor or field from the saver
  test_a_tensor_that_the_saver_leaves_out_is_found
  test_a_tensor_that_the_saver_writes_wrong_is_found
  test_every_field_that_the_saver_leaves_out_is_found
# 3
The same global batch as 1x16, 4x4 or 16x1 microbatches
  test_microbatches_give_the_gradients_of_the_whole_with_a_ragged_mask
  test_microbatches_draw_and_train_as_one_batch
  test_microbatches_change_no_gradient_and_no_metric
for every file without `W-BATCH-DEPENDENCE` and `W-CTX-SCALE`
  test_batch_norm_may_be_cut_into_blocks
  test_rows_that_are_drawn_without_a_field_are_others_in_each_block
a loss for which it cannot hold is `E-OBJECTIVE-NONLINEAR`
  test_a_loss_that_blocks_would_change_is_told
Clipping, EMA and schedules happen once a step
  test_clipping_ema_and_schedules_happen_once_a_step
  test_the_norm_is_of_before_clipping_and_the_update_of_after
  test_ema_follows_the_new_parameter
# 4
Every read belongs to a declared split
  test_unknown_stage_kind_and_option_name_the_nearest
  test_hashed_and_stratified_splits_do_not_overlap
  test_random_windows_fit_whole_into_their_ranges
  test_no_window_crosses_the_border_of_two_ranges
  test_numbers_of_a_split_are_of_that_split_alone
`check` proves index ranges and masks disjoint
  test_overlapping_stages_are_a_warning
  test_masks_of_one_thing_are_held_apart
  test_masks_of_two_fields_that_mark_a_row_both_are_told
(`W-SPLIT-LEAK`, with a count)
  test_equal_examples_of_two_splits_are_counted
  test_a_leak_is_a_warning_that_can_be_denied
  test_a_run_tells_of_a_leak_once
a `:test` stage's reads are counted beside every result
  test_reads_of_a_test_stage_are_counted_over_attempts_and_told
# 5
One table in `check`: shape, ties
  test_the_fate_of_every_parameter_is_one_table
  test_all_sections_are_there_and_agree_with_each_other
A trainable parameter that its group's loss does not reach
  test_a_parameter_that_no_gradient_reaches_is_told_where_it_is_made
  test_a_parameter_that_the_loss_does_not_reach_is_told
  test_a_parameter_in_no_group_is_named
# 6
peak memory over training, every evaluation pass and every stage
  test_the_peak_is_that_of_the_greatest_of_steps_passes_and_stages
  test_check_tells_what_a_scan_keeps_of_its_trips
disk for the retention policy against what is free
  test_check_tells_memory_disk_and_time_of_this_machine
FLOPs; expected ms/step and total time
  test_a_dry_run_says_what_was_predicted
  test_a_deadline_before_the_last_step_is_told_when_it_begins
A run that cannot fit is refused (exit 4)
  test_memory_that_no_machine_has_is_refused_before_step_0
  test_checkpoints_that_do_not_fit_are_refused_before_step_0
  test_a_deadline_without_a_step_is_refused_before_step_0
# 7
the step's own plan is replayed in its checked build
  test_what_a_replay_did_not_see_again_is_said_to_be_so
  test_the_first_operation_that_was_not_finite_is_named
file, line, operation, range of its inputs
  test_a_halt_names_the_operation_its_place_and_what_it_was_given
  test_a_gradient_that_is_not_finite_is_named_by_what_it_is_of
  test_data_that_are_not_finite_are_named
the scope whose scale left its history first
  test_a_halt_names_the_scope_whose_scale_left_its_history_first
# 13
Identity is the hash of training IR, data, seed, steps, precision and determinism
  test_a_run_is_another_by_all_that_training_depends_on
  test_a_run_is_another_by_the_contents_of_its_data
  test_a_run_is_the_same_by_what_training_does_not_depend_on
a sweep restarts only what is missing
  test_what_has_finished_is_not_run_again_whoever_ran_it
  test_a_sweep_that_was_killed_goes_on_where_its_points_were
  test_points_of_one_experiment_are_one_run_also_at_once
by slug, with its result (`W-RUN-EXISTS`)
  test_check_names_the_runs_of_this_experiment
  test_the_same_experiment_again_is_a_new_folder_with_a_warning
  test_an_experiment_that_was_run_is_taken_or_refused
compiled kernels are shared by all points
  test_points_of_a_sweep_share_the_kernels_that_are_compiled
# 15
`run --from RUN@STEP --set lr=...` records a tree of attempts
  test_a_run_from_a_checkpoint_of_another_has_it_for_a_parent
  test_forks_are_a_tree_of_attempts_and_each_event_says_whose_it_is
every event carries run, attempt and step
  test_forks_are_a_tree_of_attempts_and_each_event_says_whose_it_is
  test_every_document_is_valid_by_its_closed_schema
a resume can neither drop nor double a point
  test_a_stopped_run_goes_on_bit_for_bit
  test_a_resume_drops_what_earlier_attempts_said_past_its_step
  test_what_a_resume_drops_was_not_reported
"""
