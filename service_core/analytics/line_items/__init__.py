"""What orders consist of: items sold and returned, as events list them (semantics 17)."""
