"""Conversion rules: which event is sent to which ad platform, as what (contract 5.1)."""
