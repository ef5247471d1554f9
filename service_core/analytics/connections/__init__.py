"""Connections of a workspace to ad platforms and revenue providers, and their status."""
