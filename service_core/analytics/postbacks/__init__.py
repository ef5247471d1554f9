"""Status of conversions that were sent to ad platforms."""
