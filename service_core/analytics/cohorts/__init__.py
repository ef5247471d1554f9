"""Cohorts: retention and lifetime value of the people acquired in a period."""
