"""MCP servers as sources of tools: configuration, connection, loading, live updates."""
