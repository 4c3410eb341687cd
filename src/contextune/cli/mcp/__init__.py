"""`contextune mcp`: serve MCP, and enter the server in the configuration of assistants."""
