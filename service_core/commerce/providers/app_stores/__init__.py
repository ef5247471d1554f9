"""Purchases in app stores, as services report them that collect the notifications of the stores."""
