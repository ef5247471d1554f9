"""Export jobs, from the request to the download and the deletion of the file."""
