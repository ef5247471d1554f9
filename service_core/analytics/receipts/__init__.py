"""Receipts: how a number was made, with the records that add up to it."""
