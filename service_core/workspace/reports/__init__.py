"""Saved reports: a metric of the catalog, a plan of `/query` or a funnel, kept to be run again."""
