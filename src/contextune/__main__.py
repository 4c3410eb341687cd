"""The command line, as `contextune` and as `python -m contextune`."""

import sys

_LIBRARIES = frozenset(("click", "platformdirs", "pydantic", "rich", "tomlkit", "typer"))


def main() -> None:
    """Run the command line; without its libraries, say how to install them."""
    try:
        from contextune.cli import main as run

        run()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        sys.exit('error: the command line is not installed: pip install "contextune[cli]"')


if __name__ == "__main__":
    main()
