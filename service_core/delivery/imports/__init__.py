"""Import jobs: a file of recorded traffic is uploaded, checked, and brought in by a worker."""
