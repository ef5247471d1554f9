"""Background work: the consumer of the queue, periodic tasks, syncs, postbacks, exports and imports."""
