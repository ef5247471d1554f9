"""Settings -> plugins -> frozen registry -> ports -> bound operations: the only place that sees the container."""
