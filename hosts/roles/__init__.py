"""Deployments of several processes: the roles, the stores they can share, and supervision."""
