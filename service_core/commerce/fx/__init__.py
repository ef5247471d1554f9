"""The sync of exchange rates."""
