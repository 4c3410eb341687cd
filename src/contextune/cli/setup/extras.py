"""The optional dependencies: what each adds, which are installed, and which the user's own data needs."""

import os
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import NamedTuple

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]++)[^;]*; *extra == ['\"]([\w-]+)['\"]")
PURPOSES = {
    "anthropic": "Anthropic integration: tool search and context for its models",
    "all": "the command line with imports, plans and functions",
    "attachments": "the text of documents attached to mails (import --attachments)",
    "big": "fast search of hundreds of thousands of items or tools",
    "calendar": "calendar files",
    "claude-agent": "Claude Agent SDK integration",
    "cli": "the command line with imports, plans and functions",
    "client": "the typed client of the HTTP service",
    "fastmcp": "FastMCP integration: search over the tools of a server",
    "functions": "Python functions as tools",
    "html": "mails and notes in HTML",
    "import": "calendar files, and mails and notes in HTML",
    "langchain": "LangChain integration",
    "langgraph": "LangGraph integration",
    "llama-index": "LlamaIndex integration",
    "llm": "language models: an endpoint, or a small local one",
    "local-llm": "a local language model of your own (GGUF)",
    "mcp": "tools of MCP servers, and Contextune as an MCP server",
    "openai-agents": "OpenAI Agents SDK integration",
    "otel": "OpenTelemetry traces of the service",
    "outlook": "mails and appointments of Outlook's data files (.pst, .ost)",
    "plan": "plans, checked against the schemas of tools",
    "plot": "plots of the benchmarks",
    "postgres": "stores in PostgreSQL",
    "pydantic-ai": "Pydantic AI integration",
    "ray": "batch work over many users on a Ray cluster",
    "sentence-transformers": "other local embedding models (--embedder sentence-transformers:MODEL)",
    "serve": "the HTTP service",
    "sync": "mail, calendars and contacts from servers",
    "train": "training of rankers, and fine-tuning of the embedder",
}
"""What each extra adds, after the command that installs it."""
NOT_FOR_USERS = ("dev", "docs")
"""Extras for work on Contextune itself."""
_MANY_ITEMS = 100_000
"""Items above which exact search of all vectors is slow."""


class Extra(NamedTuple):
    """An optional dependency of the distribution."""

    name: str
    packages: tuple[str, ...]
    missing: tuple[str, ...]
    """Those of its packages that are not installed."""

    @property
    def purpose(self) -> str:
        """What it adds; empty if unknown."""
        return PURPOSES.get(self.name, "")

    @property
    def command(self) -> str:
        """How to install it."""
        return f"pip install 'contextune[{self.name}]'"


def all_extras() -> list[Extra]:
    """The extras in the metadata of the installed distribution."""
    packages: dict[str, list[str]] = {}
    for requirement in distribution("contextune").requires or ():
        match = _REQUIREMENT.match(requirement)
        if match and match[1] != "contextune" and match[2] not in NOT_FOR_USERS:
            packages.setdefault(match[2], []).append(match[1])
    return [
        Extra(name, tuple(names), tuple(package for package in names if not _is_installed(package)))
        for name, names in packages.items()
    ]


def uses_of_extras(
    items: int, data: Path, cache: Path, environ: Mapping[str, str] = os.environ
) -> Iterator[tuple[str, str]]:
    """Extras that the settings, files and data of the user need, each with what needs it.

    `items` is the number of items of the store, `data` and `cache` are the folders of the user.
    """
    embedder = environ.get("CONTEXTUNE_EMBEDDER", "")
    if environ.get("CONTEXTUNE_LLM_MODEL"):
        yield "llm", "a language model is configured (CONTEXTUNE_LLM_MODEL)"
    if embedder.startswith("endpoint:"):
        yield "llm", f"the embedder is {embedder}"
    if embedder.startswith("sentence-transformers:"):
        yield "sentence-transformers", f"the embedder is {embedder}"
    if any(name.startswith("OTEL_EXPORTER_OTLP") for name in environ):
        yield "otel", "OTEL_* variables are set"
    if Path(environ.get("CONTEXTUNE_TOKENS") or data / "tokens.json").exists():
        yield "serve", "there are tokens of the service"
    approvals = Path(environ.get("CONTEXTUNE_APPROVALS") or data / "approvals.db")
    if approvals.exists() or any(cache.glob("gateway-*.db")):
        yield "mcp", "there are tools of MCP servers"
    if items >= _MANY_ITEMS:
        yield "big", f"the store has {items:,} items"


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
