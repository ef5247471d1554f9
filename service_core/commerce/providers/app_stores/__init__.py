"""Purchases in app stores, as the services tell them that gather the notices of the stores (semantics 11.1)."""
