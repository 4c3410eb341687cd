"""Write the software bill of materials of a release: dist/contextune-VERSION.cdx.json (CycloneDX).

It lists the runtime dependencies of all extras, in the versions and with the hashes of requirements-dev.lock,
and the bundled models with their checksums. Run it with `make sbom`.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ROOT / "src" / "contextune" / "assets"
_DEVELOPMENT = {"dev", "docs"}
_TOOL = "cyclonedx-bom>=7,<8"


def main() -> None:
    """Resolve the dependencies, describe them, add the models and write the file."""
    version = package_version()
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        resolve(requirements)
        bill = describe(requirements)
    bill["metadata"]["component"]["version"] = version
    bill["components"] += model_components(ASSETS, version)
    target = ROOT / "dist" / f"contextune-{version}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{target.relative_to(ROOT)}: {len(bill['components'])} components\n")


def package_version() -> str:
    """The version that the package declares."""
    text = (ROOT / "src" / "contextune" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if match is None:
        raise SystemExit("src/contextune/__init__.py declares no __version__: add one")
    return match[1]


def resolve(requirements: Path) -> None:
    """Write the pinned runtime dependencies of all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for name in project["optional-dependencies"] if name not in _DEVELOPMENT]
    options = [option for extra in extras for option in ("--extra", extra)]
    options += ["--constraint", "requirements-dev.lock", "--output-file", str(requirements)]
    options += ["--universal", "--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate"]
    _uv("pip", "compile", "pyproject.toml", "--quiet", *options)


def describe(requirements: Path) -> dict[str, Any]:
    """The requirements as a CycloneDX document."""
    command = ["cyclonedx-py", "requirements", str(requirements), "--pyproject", "pyproject.toml"]
    command += ["--output-reproducible", "--output-format", "JSON"]
    return json.loads(_uv("tool", "run", "--quiet", "--from", _TOOL, *command))


def model_components(assets: Path, version: str) -> list[dict[str, Any]]:
    """One component per file of a bundled model, with its SHA-256 checksum."""
    lines = (assets / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(maxsplit=1) for line in lines]
    return [
        {
            "type": "machine-learning-model" if name.endswith((".onnx", ".gz", ".npz")) else "data",
            "bom-ref": f"model:{name}",
            "name": f"contextune/assets/{name}",
            "version": version,
            "hashes": [{"alg": "SHA-256", "content": checksum}],
            "licenses": [{"license": {"id": "Apache-2.0"}}],
        }
        for checksum, name in pairs
    ]


def _uv(*arguments: str) -> str:
    program = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if program is None:
        raise SystemExit("uv is not installed: run 'make sbom'")
    finished = subprocess.run([program, *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)  # noqa: S603
    return finished.stdout


if __name__ == "__main__":
    main()
