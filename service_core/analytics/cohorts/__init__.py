"""Cohorts: whether the people of a period come back, and what they are worth."""
