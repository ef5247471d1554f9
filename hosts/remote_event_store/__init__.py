"""Appends to an event store that another process of the machine owns, over a pair of connected sockets."""
