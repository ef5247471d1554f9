"""Authentication and authorization: workspaces, credentials, scopes, roles, rate limits, signup, OAuth and passkeys."""
