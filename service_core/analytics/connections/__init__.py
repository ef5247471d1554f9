"""What a workspace has connected: ad platforms and revenue providers, and how each of them stands."""
