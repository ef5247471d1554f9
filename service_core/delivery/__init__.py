"""Data that leaves the service: export files, and conversions sent to ad platforms."""
