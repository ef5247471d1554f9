"""Link domains of a workspace's own: claimed by anybody, proved by whoever writes their DNS."""
