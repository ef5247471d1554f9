"""The link host: redirects of trackable links, as a thin ASGI application beside the ingest host."""
