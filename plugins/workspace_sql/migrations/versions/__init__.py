"""One file per migration, forward only. A released migration is never edited."""
