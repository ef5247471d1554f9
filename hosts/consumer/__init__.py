"""The consumer as a process of its own, beside the process that owns the event store."""
