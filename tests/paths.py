"""Folders that tests read from."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
"""Research data beside the checkout; a test that needs it is skipped where it is missing."""
MCP_SERVERS = ROOT / "tests" / "tools" / "servers"
