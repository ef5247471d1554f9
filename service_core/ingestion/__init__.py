"""Ingestion of events: validation, enrichment, deduplication and the ledger of counts."""
