"""Alembic migrations of the workspace store, run at start."""
