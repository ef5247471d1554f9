"""Copies a store into another one, and compares both."""
