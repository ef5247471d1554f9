"""Work beside the requests: the consumer of the queue and the periodic tasks."""
