"""The OAuth 2.1 authorization server: client registration, authorization requests and tokens."""
