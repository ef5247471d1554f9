"""What is told of conversions that were sent to ad platforms."""
