"""The MCP server: operations as tools of connected programs."""
