"""Alerts: a metric that leaves a range is reported to people and programs."""
