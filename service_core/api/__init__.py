"""The HTTP-independent API: authentication, rate limits, routing, authorization, parsing, handlers and responses."""
