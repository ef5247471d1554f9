"""Asking people for a key: filed by a program, decided by a person, collected once."""
