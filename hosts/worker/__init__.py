"""Background work: the consumer of the queue, periodic tasks, syncs, postbacks and exports."""
