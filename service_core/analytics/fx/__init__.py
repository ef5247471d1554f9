"""Money of other currencies in that of the workspace (semantics 10.7)."""
