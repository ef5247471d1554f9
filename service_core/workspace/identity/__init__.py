"""Identity links that people take back (semantics 5.9)."""
