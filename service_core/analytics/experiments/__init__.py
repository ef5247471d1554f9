"""Experiments: persons, conversions and money by variant, and what the data can tell about their difference."""
