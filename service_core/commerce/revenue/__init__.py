"""Revenue as its providers and tracked events tell it (semantics 10)."""
