"""DuckDB, embedded: one file, owned by one process."""
