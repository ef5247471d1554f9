"""Reads of attribution: the report by channel and campaign, and the journeys behind its rows."""
