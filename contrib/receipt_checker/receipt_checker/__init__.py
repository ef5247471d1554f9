"""Checks receipts of numbers without Touchpoint."""
