"""Ad spend: what ad platforms report of their accounts, kept by day (semantics 12)."""
