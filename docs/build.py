"""Build the documentation site from docs/ and README.md: `make docs` writes build/site."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "docs"
ROOT_FILES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def main() -> None:
    """Copy the pages, with links that work inside the site, and run mkdocs."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (PAGES / "index.md").write_text((ROOT / "README.md").read_text("utf-8"), encoding="utf-8")
    for name in ROOT_FILES:
        shutil.copy(ROOT / name, PAGES / name)
    for page in PAGES.glob("*.md"):
        page.write_text(site_links(page.read_text("utf-8")), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet"], cwd=ROOT, check=True)
    sys.stdout.write(f"{(ROOT / 'build' / 'site' / 'index.html').relative_to(ROOT)}\n")


def site_links(text: str) -> str:
    """Links of the repository as links of the site; a link to a source file becomes its name."""
    text = re.sub(r"\]\((?:\.\./)?docs/", "](", text)
    text = re.sub(r"\]\(\.\./(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md", r"](\1.md", text)
    text = text.replace("](README.md", "](index.md")
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)?(?:src|examples|tests|packages)/[^)]*\)", r"\1", text)


if __name__ == "__main__":
    main()
