"""Network services: a multi-user HTTP API and an MCP server."""
