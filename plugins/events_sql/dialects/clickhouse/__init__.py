"""ClickHouse: one server, or a cluster of them."""
