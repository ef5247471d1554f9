"""The authorization server over HTTP: documents, registration, tokens, and the way to the consent page."""
