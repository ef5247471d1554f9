"""Entry points of the product: HTTP, ingest, command line, pages. They hold no rule of the domain."""
