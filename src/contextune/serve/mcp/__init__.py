"""MCP server: tools over one user's data, and a gateway to other MCP servers."""
