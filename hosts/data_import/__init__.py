"""Imports recorded traffic by the rules of `/track`: files to bodies, bodies to the queue."""
