"""Tasks of plugins in the background: reactions to stored events, and scheduled jobs."""
