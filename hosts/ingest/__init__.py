"""The ingest host: `POST /track` as a thin ASGI application, in a process of its own."""
