"""Recorded traffic, brought in through the rules of `/track`: files to bodies, bodies to the queue."""
