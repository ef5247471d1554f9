"""Metric queries: catalog, planning by source, execution, and computation of values."""
