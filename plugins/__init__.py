"""Adapters, one folder each, named after the port they serve."""
