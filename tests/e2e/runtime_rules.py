"""Which tests hold each sentence of the design's page of the runtime.

Words of a sentence stand before the tests that hold it, in the order of the page. `BUNDLES`, its
last section, is not there yet.
"""

from __future__ import annotations

import re
from pathlib import Path

BUNDLES = "## Bundles and remote runs"

TABLE = """
# The fixed loop
For every step: stage (from `curriculum`), batch, observer on a sampled step
  test_cadences_add_up_and_the_end_is_always_saved
  test_they_are_the_numbers_of_that_very_step
  test_a_curriculum_resumes_bit_for_bit_in_any_stage
the same for every device
  test_an_example_trains_alike_on_cpu_and_reference
compiled before step 0
  test_all_that_a_run_needs_is_compiled_before_its_first_step
a child process compiles its observer
  test_a_live_run_is_asked_for_more_and_keeps_its_bits
  test_numbers_that_do_not_fit_are_refused_and_the_run_goes_on
decided depends on steps, never on what has arrived
  test_logging_passes_and_checkpoints_change_no_bit
  test_launches_in_flight_each_have_their_own_batch_scalars_and_results
# A run's folder
(what was read, byte for byte)
  test_what_was_read_is_kept_byte_for_byte
  test_a_run_is_what_its_own_modules_say
git commit and whether the tree was dirty
  test_the_commit_is_kept_and_whether_the_tree_was_dirty
numerics key, device, seed, command line
  test_every_document_is_valid_by_its_closed_schema
`checkpoints/`, `artifacts/`, `control/`
  test_files_of_a_run_are_those_of_its_page
  test_requests_in_the_control_folder_are_taken_up_between_steps
`tuning.json` (CUDA)
  test_a_device_without_a_choice_leaves_no_file
  test_what_was_picked_first_is_taken_again_by_who_goes_on
`run.lock`
  test_a_run_that_is_live_is_locked
  test_no_run_shares_the_folder_of_a_live_one
The slug is file name, variant, knobs
  test_a_slug_says_file_variant_knobs_and_experiment
is `-2`, never an overwrite
  test_the_same_again_is_another_folder_and_says_so
  test_a_second_run_of_the_same_name_gets_a_number
`--if-exists run|reuse|fail`
  test_an_experiment_that_was_run_is_taken_or_refused
`--name` sets it
  test_a_name_is_the_folder_and_is_never_overwritten
# Events
appended and flushed at each log
  test_a_reader_may_tail_the_events_while_it_runs
  test_lines_are_written_together
by one writer
  test_a_live_run_writes_a_note_itself
  test_a_note_on_a_run_that_has_ended_is_written_under_its_lock
`step` (steps done, skipped ones included)
  test_lines_are_numbered_and_times_do_not_go_back
  test_skipped_steps_count_as_steps_and_not_as_updates
everything in the manifest
  test_the_page_names_every_kind_and_key_that_is_written
(that very step's metrics
  test_metrics_of_a_step_do_not_depend_on_the_cadence
or from the file), `warning`
  test_the_files_own_words_are_a_note_of_each_run_that_they_are_of
a reader drops what earlier attempts logged past it
  test_a_resume_drops_what_earlier_attempts_said_past_its_step
  test_resume_takes_a_step_and_the_listing_drops_what_came_after
  test_what_a_resume_drops_was_not_reported
every emitted line is validated
  test_every_document_is_valid_by_its_closed_schema
  test_the_documents_of_a_run_are_what_the_schemas_say
A partial last line after a crash
  test_a_torn_last_line_is_passed_over_and_the_next_writer_starts_a_new_one
  test_lines_that_do_not_parse_are_told_and_passed
Non-finite numbers are
  test_numbers_that_are_not_finite_are_texts_wherever_they_are_said
# Status
`status.json`: replaced atomically
  test_a_status_is_text_and_the_document_of_the_file
  test_a_status_file_that_is_deleted_comes_again
`state` (`compiling running evaluating checkpointing finished
  test_a_signal_in_any_phase_ends_it_as_the_table_says
readers derive `lost`
  test_a_run_whose_process_is_gone_is_lost
  test_a_run_whose_process_is_gone_is_lost_to_readers
`heartbeat` (a thread, every 2 s, in all phases)
  test_the_heartbeat_goes_on_while_it_compiles
  test_the_step_is_told_at_every_heartbeat_and_not_only_at_logs
`error` (a diagnostic with its code), `exit`
  test_a_deadline_ends_a_run
  test_a_run_ends_finished_with_its_metrics_and_files
# Checkpoints and resume
A checkpoint is a folder
  test_what_was_saved_is_loaded_bit_for_bit
  test_the_files_are_safetensors_with_parameter_paths_as_names
  test_every_field_that_the_saver_leaves_out_is_found
what fell due and was not done
  test_a_pass_that_a_signal_breaks_off_is_done_first_on_resume
killing the process at any byte
  test_death_at_any_act_leaves_a_whole_checkpoint_and_a_sweep_removes_the_rest
  test_runs_killed_at_random_moments_end_in_the_same_bits
A full disk is an error with its code
  test_a_full_disk_at_the_first_checkpoint_fails_the_run
  test_a_full_disk_with_an_older_checkpoint_lets_the_run_go_on
one write in flight
  test_the_writer_has_one_write_in_flight_and_gives_out_how_each_ended
`--resume auto|latest|best|STEP|RUN[@STEP]`
  test_auto_begins_and_then_goes_on
  test_a_bare_step_is_looked_for_in_this_experiments_newest_run
the run goes on bit for bit
  test_a_stopped_run_goes_on_bit_for_bit
  test_a_killed_process_goes_on_bit_for_bit
not threads)
  test_threads_change_no_bit
With another key it goes on with `W-RESUME-NUMERICS`
  test_other_numerics_resume_with_a_warning_that_names_them
  test_a_resume_without_the_record_says_that_bits_may_differ
the resume says what differs (IR diff in words)
  test_a_run_of_another_experiment_goes_on_when_it_is_told_to
  test_a_run_whose_data_changed_is_another_experiment
new, missing or reshaped are errors
  test_another_experiment_or_other_parameters_do_not_resume
  test_parameters_that_are_named_begin_anew_and_all_others_go_on
`sexpgpu checkpoint list|show|verify|prune RUN`
  test_checkpoints_are_listed_and_shown
  test_a_sound_run_is_proved_by_a_replay
  test_checkpoints_are_pruned_when_it_is_asked
  test_what_differs_is_named
`export` writes one plain safetensors file
  test_weights_are_exported_under_names_of_ones_own
Stores are a hook
  test_a_folder_is_a_store_too
  test_one_request_in_five_that_is_lost_loses_nothing
is put last
  test_an_upload_that_is_cut_off_before_its_manifest_is_not_listed
# Signals and guard
SIGTERM and SIGUSR1
  test_a_signal_in_any_phase_ends_it_as_the_table_says
While compiling: exit 75 without a checkpoint
  test_a_signal_while_it_compiles_leaves_no_checkpoint
SIGINT and `sexpgpu stop`
  test_a_stopped_run_ends_after_its_step_with_a_checkpoint
  test_a_signal_finishes_the_step_saves_and_ends
(a `:deadline`: `stopped`, 75)
  test_a_deadline_runs_the_passes_of_the_end_and_exits_75
a second one leaves at once
  test_a_second_interrupt_leaves_at_once_with_the_last_checkpoint_whole
SIGKILL loses at most
  test_killed_at_three_random_steps_it_ends_bit_for_bit_the_same
Finite guard
  test_a_false_verdict_commits_nothing
  test_what_is_in_flight_behind_an_error_changes_nothing_until_it_is_told
`:halt` saves it with the batch
  test_a_loss_that_is_not_finite_halts_with_the_state_of_before_and_the_batch
names the first non-finite value by
  test_the_first_operation_that_was_not_finite_is_named
  test_a_number_of_the_step_that_its_dtype_cannot_hold_is_named
  test_what_a_replay_did_not_see_again_is_said_to_be_so
`:skip n` drops at most n updates
  test_more_skips_than_allowed_halt
  test_skipped_updates_are_counted_and_the_run_goes_on
An index out of range uses the same word
  test_an_index_out_of_range_halts_and_says_where
  test_an_index_out_of_range_commits_nothing
# Sweeps
skipping those that finished and resuming those
  test_what_has_finished_is_not_run_again_whoever_ran_it
  test_a_sweep_that_was_killed_goes_on_where_its_points_were
one failure does not end the sweep
  test_a_point_that_fails_does_not_end_the_sweep_and_is_run_again_on_request
rank the points with mean and spread
  test_every_point_is_a_run_and_they_are_ranked_with_their_spread
  test_a_row_is_the_mean_and_the_deviation_of_its_folds
"""


def rules(table: str = TABLE) -> dict[str, list[str]]:
    """Words of a page -> names of tests."""
    found: dict[str, list[str]] = {}
    for line in table.strip().splitlines():
        if line.startswith("  "):
            found[next(reversed(found))].append(line.strip())
        elif not line.startswith("#"):
            found[line] = []
    return found


def held_here(tests: Path) -> set[str]:
    """Names of all tests below a folder."""
    texts = (path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.M)}
