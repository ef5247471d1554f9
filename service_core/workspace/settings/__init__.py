"""Settings of a workspace, declared once for the API, the command line and the form of the web application."""
