"""The API over HTTP: one view in front of `api.dispatch`."""
