"""Dashboards: cards that name reports, over one range and with shared filters."""
