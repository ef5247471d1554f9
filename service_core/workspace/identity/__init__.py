"""Revocation of identity links."""
