"""Changes of resources: planned as values, shown by a dry run, applied once with an audit entry, and undone."""
