"""PostgreSQL: a database that several processes share."""
