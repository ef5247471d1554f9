"""The OAuth 2.1 authorization server: programs register, people consent, secrets are exchanged (contract 8)."""
