"""Conversion of money to the currency of the workspace."""
