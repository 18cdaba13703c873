"""Which tests hold each item of the design's page of semantics, of steps, bits and programs.

The form of runtime_rules.py: words of an item, in the order of the page, and the tests; codes
have their examples on the page of errors.
"""

from __future__ import annotations

SECTIONS = ("A. The step", "B. Bits", "D. Memory and programs")

ELSEWHERE = {
    37: "a run is one process in this version: no collectives",
    38: "a run is one process in this version: no rank is lost",
    43: "docs/install.md says where it runs",
}
"""Items of which nothing is there that a test could hold."""

OPEN: dict[str, str] = {}
"""What of an item is not there."""

TABLE = """
# 1
which must be whole (`E-BATCH-DIVIDE`)
  E-BATCH-DIVIDE
no parameter may reach a weight: `E-WEIGHT-DEPENDS`
  E-WEIGHT-DEPENDS
forward and backward of block j from the *same* p and s
  test_microbatches_give_the_gradients_of_the_whole_with_a_ragged_mask
  test_microbatches_change_no_gradient_and_no_metric
  test_blocks_proposals_of_a_state_are_combined
n = norm of G over all trainable parameters that are not frozen
  test_what_is_frozen_has_no_part_in_the_norm_and_stays
with several losses each has its L and n
  test_players_move_at_once_each_by_its_own_loss
  test_of_several_losses_one_that_is_not_finite_drops_the_step_of_all
`:clip-value`, then `:clip-norm`
  test_a_gradient_is_clipped_by_value_and_then_by_the_norm_of_before
  test_clip_value_bounds_every_element
  test_clipping_ema_and_schedules_happen_once_a_step
  test_steps_of_adamw_with_clipping_are_pytorchs
`grad/norm` reports n
  test_the_norm_is_of_before_clipping_and_the_update_of_after
e' = d e + (1-d) p' (e starts as p
  test_ema_follows_the_new_parameter
  test_ema_begins_as_the_parameters
if ok and not stopped, every persistent value takes its next value
  test_a_step_that_is_dropped_is_as_if_it_had_not_been
  test_a_false_verdict_commits_nothing
`step` and the data advance in both cases
  test_a_step_that_is_dropped_is_as_if_it_had_not_been
  test_skipped_steps_count_as_steps_and_not_as_updates
No persistent byte is written before 7
  test_a_write_to_a_parameter_before_the_commit_is_refused
  test_a_step_is_gradient_then_update_then_commit
`(ctx :step)` counts steps, `(ctx :updates)` committed ones
  test_step_scalars_have_the_numbers_of_before_the_step
  test_a_step_that_is_dropped_is_as_if_it_had_not_been
# 2
Every record that writes persistent memory is a *commit record*
  test_commit_calls_stay_last_and_in_order
  test_the_gate_lets_through_what_the_verdict_allows
persistent memory *is* the state of before the bad step
  test_a_loss_that_is_no_number_halts_with_the_state_of_before
The host learns of it with that step's metrics
  test_a_loss_that_is_not_finite_halts_with_the_state_of_before_and_the_batch
writes `checkpoints/halt-STEP/` (state and the batch
  test_a_loss_that_is_not_finite_halts_with_the_state_of_before_and_the_batch
  test_a_halt_leaves_its_batch_beside_the_checkpoints_and_no_resume_takes_it
`:off` without `:clip-norm` allows the overlap
  test_without_guard_and_clip_there_is_no_norm_to_compute
`:skip n`: n drops in the whole run
  test_skipped_updates_are_counted_and_the_run_goes_on
  test_more_skips_than_allowed_halt
  test_skips_are_counted_in_the_whole_run_over_its_attempts
non-finite G with finite L halves c
  test_gradients_that_overflow_f16_halve_the_scale_and_drop_the_update
  test_a_loss_that_is_not_finite_is_the_guards_and_not_the_scales
2,000 committed steps double it
  test_the_loss_scale_doubles_after_many_steps
trips the guard and says so
  test_a_norm_that_overflows_is_told_as_that_where_gradients_are_finite
# 3
a read after `setf` sees the new value and the last `setf` counts
  test_a_state_is_read_as_it_was_set_and_the_last_counts
`:combine :mean` (default for floats), `:delta`
  test_blocks_proposals_of_a_state_are_combined
States are not differentiated
  test_a_state_is_not_differentiated
`W-BATCH-DEPENDENCE` with b
  W-BATCH-DEPENDENCE
  test_statistics_of_a_batch_are_told_with_the_rows_that_they_see
# 4
The loss must be an affine combination of batch means
  test_terms_that_a_loss_may_have_in_blocks
  test_an_affine_loss_may_be_cut_into_blocks
Each `weighted-mean` is normalised by its own global W
  test_microbatches_give_the_gradients_of_the_whole_with_a_ragged_mask
A term marked `per-block` counts as one of these (R2)
  test_terms_that_a_loss_may_have_in_blocks
  test_what_is_meant_over_a_block_has_said_so
otherwise `E-OBJECTIVE-NONLINEAR`, naming the operation
  E-OBJECTIVE-NONLINEAR
  test_a_loss_that_is_no_mean_needs_one_block
`(sum x)` over the batch is `W-OBJECTIVE-SUM`
  W-OBJECTIVE-SUM
  test_a_loss_that_is_a_sum_is_named
A weight sum of 0 gives loss 0 and gradient 0
  test_weights_of_nothing_give_a_loss_of_zero_and_move_nothing
and counts in `data/empty`
  test_a_batch_that_weighs_nothing_is_counted_and_moves_nothing
  test_a_resume_goes_on_with_the_count_of_what_weighed_nothing
  test_each_weight_sum_that_is_zero_counts
# 5
a pass compiles its graph for B rows and, if N mod (B) is not 0, for the rows that are left
  test_metrics_of_a_pass_are_of_all_its_examples_or_of_batches_by_their_rows
  test_a_pass_is_exact_over_all_examples_with_a_short_last_batch
  test_a_pass_sees_every_example_once_in_order_and_its_last_batch_is_short
is evaluated once, at the end
  test_metrics_of_a_pass_are_of_all_its_examples_or_of_batches_by_their_rows
  test_a_function_of_a_mean_is_taken_at_the_end
  test_a_ratio_of_sums_is_the_ratio_over_all
A metric that cannot be cut so (a sort over the batch) is `W-METRIC-BATCHWISE`
  W-METRIC-BATCHWISE
  test_metrics_of_a_pass_are_of_all_its_examples_or_of_batches_by_their_rows
`over-pass` makes it exact (R22)
  test_a_metric_over_a_pass_is_of_all_its_examples
# 6
a `step` event carries that very step's metrics
  test_metrics_of_a_step_do_not_depend_on_the_cadence
  test_microbatches_give_the_gradients_of_the_whole_with_a_ragged_mask
# 7
returns a stage, `:train` or `(text :train)`, or nil to end
  test_check_says_which_stage_trains_from_which_step_and_the_run_does_so
  test_a_curriculum_that_reads_a_metric_ends_the_run_by_it
  test_a_curriculum_that_names_no_stage_is_told
  test_what_a_curriculum_may_not_do_is_told_by_check
assigning anything that outlives the call is `E-CURRICULUM-STATE`
  E-CURRICULUM-STATE
  test_what_a_curriculum_may_not_do_is_told_by_check
the latest log or pass that *fell due* at a step < t
  test_a_curriculum_that_reads_a_metric_ends_the_run_by_it
Last, best and since-best values are in `checkpoint.json`
  test_a_curriculum_resumes_bit_for_bit_in_any_stage
All stages that are not only a `defeval`'s are compiled
  test_all_that_a_run_needs_is_compiled_before_its_first_step
  test_check_says_which_stage_trains_from_which_step_and_the_run_does_so
a stage whose graph lacks a parameter leaves it and its optimizer state untouched
  test_a_stage_without_a_parameter_leaves_it_and_its_states_alone
Without `curriculum` the stage is `:train`
  test_the_file_trains_on_train_where_nothing_says_otherwise
# 8
are *step scalars*: weak doubles
  test_a_step_scalar_enters_where_it_meets_a_tensor
  test_a_step_scalar_is_a_double_that_counts_exactly
computes them in f64 before each launch
  test_step_scalars_are_those_of_before_the_step
rounded once to its dtype
  test_scalars_are_rounded_once
Control flow on one is `E-STAGE-TENSOR`
  test_if_on_a_step_scalar_is_refused
  test_numbers_and_texts_are_known_while_tracing_and_step_scalars_are_not
# 9
writes nothing persistent (the verifier: it has no commit records)
  test_an_observer_writes_nothing
knows nothing of diagnostics
  test_what_is_named_or_selected_adds_no_node_to_the_step
  test_without_a_selection_there_is_no_observer
  test_they_change_no_bit_and_are_told_by_the_schema
`check` prints the mean cost
  test_what_check_says_of_the_cost_is_the_work_of_the_observer
A diagnostic added to a live run
  test_a_live_run_is_asked_for_more_and_keeps_its_bits
is refused with a `warning` event
  test_numbers_that_do_not_fit_are_refused_and_the_run_goes_on
# 10
A value is rounded where the IR has a node
  test_rounding_is_the_references_to_the_bit
  test_gradients_are_rounded_alike
  test_elementwise_work_is_one_rounding_a_node
recomputing changes no bit on the CPU
  test_a_checkpoint_lowers_the_peak_and_changes_no_bit
No fast-math flag is emitted
  test_kernels_have_the_same_bits_at_every_width_and_no_fast_math
  test_no_text_holds_a_fast_math_flag
a pass writes `fma` nodes before fusion
  test_a_product_and_a_sum_are_rounded_once
by a rule that does not count users
  test_another_use_of_a_product_changes_no_bit
folded in one fixed order, so AVX2, AVX-512 and NEON agree
  test_kernels_have_the_same_bits_at_every_width_and_no_fast_math
  test_every_width_gives_the_same_bits
bf16 nodes inside a kernel are rounded
  test_rounding_is_the_references_to_the_bit
  test_what_is_no_identity_stays
CUDA kernels follow the same rule with `-fmad=false`
  test_f32_is_never_contracted_and_nothing_is_kept_in_local_memory
# 11
Bits never depend on the thread count
  test_bits_do_not_depend_on_threads
  test_threads_change_no_bit
  test_threads_change_no_bit_of_a_loop
Bits depend on the *numerics key*
  test_the_numerics_key_names_what_bits_depend_on
  test_the_compilers_version_is_in_the_numerics_key_of_manifest_and_checkpoint
  test_runs_with_other_picks_are_told_apart
goes on with `W-RESUME-NUMERICS`
  test_other_numerics_resume_with_a_warning_that_names_them
Not in the key: threads, vector width, cache contents
  test_threads_change_no_bit
  test_kernels_have_the_same_bits_at_every_width_and_no_fast_math
  test_an_empty_and_a_full_cache_change_no_bit
  test_they_change_no_bit_and_are_told_by_the_schema
  test_other_cadences_change_no_bit
  test_logging_passes_and_checkpoints_change_no_bit
  test_a_run_on_it_resumes_to_the_same_bits_whatever_is_fetched_ahead
# 12
Picks are written to `runs/SLUG/tuning.json` before step 0
  test_a_plan_is_picked_once_and_run_with_its_workspace
hashed into the numerics key
  test_runs_with_other_picks_are_told_apart
  test_a_resume_without_the_record_says_that_bits_may_differ
reused by every resume and fork
  test_what_was_picked_first_is_taken_again_by_who_goes_on
  test_a_fork_begins_with_its_parents_picks
# 13
Additions happen in ascending position
  test_additions_happen_in_ascending_position
indices are sorted once a step
  test_a_sorted_scatter_has_the_bits_of_a_walk
written into a zeroed or already accumulated gradient
  test_a_tied_gradient_is_added_in_place
# 14
the model scope at the call (with `@k` for the k-th call of a shared instance)
  test_sites_are_scopes_with_numbers
  test_the_second_opening_of_a_shared_scope_has_sites_of_its_own
Numbers are Philox4x32-10
  test_known_answers
  test_the_key_is_the_head_of_a_sha256
  test_a_place_has_the_word_that_the_contract_says
  test_steps_sites_domains_seeds_and_iterations_differ
  test_random_kernels_draw_what_the_references_draw
*Row* is the index on the batch axis in the *global* batch
  test_rows_drawn_in_parts_are_the_rows_of_the_whole
  test_without_a_batch_axis_rows_are_never_offset
  test_dropout_knows_its_batch_axis
  test_a_map_over_the_batch_draws_by_row_in_any_number_of_blocks
so every pass draws alike
  test_every_pass_draws_alike_by_the_position_of_an_example
`output/NAME` (step 0: R27)
  test_random_numbers_are_keyed_by_the_output_and_by_the_row
  test_random_numbers_follow_the_row_and_the_seed
A recomputation draws the same
  test_a_checkpoint_lowers_the_peak_and_changes_no_bit
Microbatches, ranks, resume and devices change no number
  test_microbatches_draw_and_train_as_one_batch
Domain `init`, site = parameter path
  test_a_value_depends_on_seed_and_path_only
  test_random_numbers_are_drawn_in_the_domain_of_initial_values
  test_an_initial_value_moves_no_other_random_numbers
the sign of R's diagonal made positive
  test_orthogonal_is_the_q_of_normals_whose_r_has_a_positive_diagonal
  test_orthogonal_has_orthonormal_rows_or_columns
# 15
keyed Feistel walk over [0, N)
  test_an_epoch_visits_every_example_once
  test_an_order_is_fixed_for_all_time
keyed by (seed, loader, stage, epoch)
  test_seed_loader_stage_and_epoch_each_change_the_order
  test_an_order_is_the_same_asked_at_once_or_one_by_one
  test_an_order_is_what_the_page_says
A mixture uses blocks of 1,024 positions with exact quotas
  test_shares_of_a_mixture_are_exact_at_every_1024_rows
  test_shares_that_are_no_whole_rows_are_carried_from_block_to_block
come from an *index file* made once and cached by the content's hash
  test_a_copy_a_moved_and_a_touched_file_are_not_scanned_again
  test_other_bytes_of_one_size_and_begin_are_scanned
  test_the_count_of_windows_is_known_again_without_reading
by `check` when the source is under 64 MB, otherwise by `run`
  test_a_small_file_is_scanned_by_a_check
  test_a_check_leaves_a_large_file_to_a_run
`random` is keyed by (seed, stage, epoch, example, call)
  test_random_in_map_is_of_the_epoch_and_the_example
  test_random_in_map_is_of_the_seed_and_the_call_too
# 16
which are pure and run under the same limits
  test_a_call_from_outside_runs_under_the_same_limits
# 17
A snapshot is taken between two launches
  test_a_snapshot_stays_as_it_was
One write is in flight
  test_the_writer_has_one_write_in_flight_and_gives_out_how_each_ended
Exit 75 and 130 come after the write is durable
  test_a_signal_in_any_phase_ends_it_as_the_table_says
  test_a_deadline_runs_the_passes_of_the_end_and_exits_75
# 18
fsync `events.jsonl`, rename to `step-STEP`
  test_a_checkpoint_has_its_events_on_the_disk_before_it_is_there
  test_death_at_any_act_leaves_whole_checkpoints
equal hashes, the new one is discarded
  test_a_checkpoint_that_exists_and_is_equal_is_kept
else the old is renamed `step-STEP.attempt-N` first
  test_one_that_differs_becomes_an_earlier_attempt_and_both_are_whole
both kinds are swept when a run starts
  test_death_at_any_act_leaves_a_whole_checkpoint_and_a_sweep_removes_the_rest
a second is `E-RUN-LOCKED`
  test_a_run_that_is_live_is_locked
not ending in a newline writes one first
  test_a_torn_last_line_is_passed_over_and_the_next_writer_starts_a_new_one
the order is log, diagnostic numbers
  test_at_a_step_are_its_log_its_numbers_its_passes_and_its_checkpoint
done first on resume
  test_a_pass_that_a_signal_breaks_off_is_done_first_on_resume
`:best` writes at each pass that improves
  test_retention_keeps_the_last_and_the_best
each put once; `step-STEP/checkpoint.json` last
  test_an_upload_that_is_killed_at_any_put_leaves_nothing_in_the_end
Nothing is ever overwritten
  test_what_was_committed_is_not_overwritten
  test_what_was_uploaded_comes_back_equal
A reader believes manifests only
  test_an_upload_that_is_cut_off_before_its_manifest_is_not_listed
# 19
Replay runs the *same* plan in its checked build
  test_a_halt_names_the_operation_its_place_and_what_it_was_given
the report says "not reproduced"
  test_what_a_replay_did_not_see_again_is_said_to_be_so
# 33
offsets fixed for the run, common to all plans
  test_every_program_has_a_persistent_value_where_the_run_has_it
  test_persistent_values_have_one_layout
Peak = PERSISTENT + max TRANSIENT + INPUT + staging
  test_the_peak_is_that_of_the_greatest_of_steps_passes_and_stages
poisons it with NaN between launches
  test_the_checked_build_poisons_what_programs_leave
# 34
all its readers are ordered before the commit record
  test_a_reader_after_the_parameters_update_is_refused
  test_a_value_of_a_commit_that_others_read_is_copied_last
# 35
which is always there and which tests run everywhere
  test_the_emitted_kernel_runs_at_every_width
  test_a_provider_always_exists
  test_libraries_agree
`doctor` names the provider, the numerics key holds it
  test_a_quick_doctor_leaves_out_what_lies_below_the_devices
  test_the_numerics_key_names_what_bits_depend_on
# 36
Share the walk, not the text
  test_emitted_kernels_give_what_the_interpreter_of_kernels_gives
# 39
`heartbeat` says the process lives
  test_the_heartbeat_goes_on_while_it_compiles
`advanced` when a step, batch or compiled kernel last finished
  test_the_step_is_told_at_every_heartbeat_and_not_only_at_logs
  test_a_status_says_how_many_kernels_are_compiled
`phase` and `phase_done/phase_total` (kernels compiled)
  test_a_status_says_how_many_kernels_are_compiled
  test_a_watch_is_told_of_each_object_that_is_made
pid comes with the process's start time and the boot id
  test_a_lock_says_which_process_has_it
  test_a_run_whose_process_is_gone_is_lost
Status is renamed without fsync, except the last one
  test_a_status_is_made_durable_once_at_the_end
# 40
At most two launches in flight
  test_no_more_launches_are_in_flight_than_is_said
  test_launches_in_flight_each_have_their_own_batch_scalars_and_results
are at fixed steps and never depend on what has arrived
  test_logging_passes_and_checkpoints_change_no_bit
  test_a_target_on_a_training_series_stops_at_the_step_that_met_it
`:deadline` and signals end a run after a step
  test_a_deadline_ends_a_run
  test_a_signal_ends_the_run_after_its_step_with_a_checkpoint
# 41
Limits are counts, never clocks
  test_limits_are_counts_and_evaluation_ends_at_20_million_steps
  test_limits_of_evaluation_are_set_in_the_file
# 42
SIGTERM while compiling: exit 75 with no checkpoint
  test_a_signal_while_it_compiles_leaves_no_checkpoint
"""
