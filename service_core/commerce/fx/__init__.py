"""How exchange rates come in."""
