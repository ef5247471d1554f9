"""Event rules."""
