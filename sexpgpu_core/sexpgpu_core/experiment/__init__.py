"""What a run file declares, frozen."""
