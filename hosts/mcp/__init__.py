"""The MCP server: operations as tools of programs that a person connected."""
