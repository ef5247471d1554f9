"""Reference pages, written from the declarations: nothing in them is said a second time by hand."""
