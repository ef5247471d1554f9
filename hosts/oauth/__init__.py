"""The OAuth authorization server over HTTP."""
