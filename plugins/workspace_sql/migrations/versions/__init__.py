"""One file per step, forward only. A released step is never edited."""
