"""The ingest host: `POST /track` and the routes of browsers, in a process of its own."""
