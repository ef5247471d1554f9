"""Every mutation: planned as a value, shown by a dry run, applied once with its audit entry, and undone."""
