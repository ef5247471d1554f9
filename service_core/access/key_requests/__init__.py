"""Requests for API keys: created by a program, approved by a person, collected once."""
