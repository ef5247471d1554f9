"""The soft limits of a plan: nobody is refused, owners are told (semantics 21.2)."""
