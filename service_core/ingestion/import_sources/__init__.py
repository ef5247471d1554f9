"""Import sources: files of other products, read row by row into our events and named differences."""
