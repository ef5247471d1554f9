"""Thin shells around the core: HTTP, ingest, command line, pages. No rule of the domain lives here."""
