"""Every question about events: the catalog, the query layer and the reads."""
