"""Personal data: how long it is kept, its erasure, and the answer to an access request."""
