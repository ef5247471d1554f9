"""A deployment of several processes: what each role does, which stores allow it, and who keeps it running."""
