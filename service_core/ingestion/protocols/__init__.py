"""Ingest protocols: routes of the ingest host that turn another product's wire format into events."""
