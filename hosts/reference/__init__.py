"""Reference pages, generated from the declarations in the code."""
