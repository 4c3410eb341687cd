"""The two wheels: contents, size, and a base wheel that runs the README without the lab."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from tests.paths import ROOT

import contextune

SOURCE = ROOT / "src" / "contextune"
LAB_SOURCE = ROOT / "packages" / "lab" / "src" / "contextune_lab"
MEGABYTES_AT_MOST = 50


def build(project: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(project)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT / "packages" / "lab", tmp_path_factory.mktemp("lab"))


def names(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def source_files(package: Path = SOURCE) -> set[str]:
    """The files of a package, by the names that they have in a wheel."""
    return {
        file.relative_to(package.parent).as_posix()
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def requirements(wheel: Path) -> list[str]:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    lines = archive.read(metadata).decode().splitlines()
    return [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]


def test_base_wheel_is_small_and_has_no_lab(base: Path) -> None:
    assert base.stat().st_size <= MEGABYTES_AT_MOST * 1_000_000
    assert not [name for name in names(base) if "lab" in name.split("/")]
    assert "contextune/py.typed" in names(base)


def test_base_and_lab_wheel_have_all_files_of_their_package(base: Path, lab: Path) -> None:
    assert names(base) == source_files()
    assert names(lab) == source_files(LAB_SOURCE)


def test_wheels_have_the_version_of_the_package(base: Path, lab: Path) -> None:
    assert base.name.startswith(f"contextune-{contextune.__version__}-")
    assert lab.name.startswith(f"contextune_lab-{contextune.__version__}-")
    assert requirements(lab) == [f"Requires-Dist: contextune[all]=={contextune.__version__}"]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed libraries, without contextune and what belongs to it."""
    folder = tmp_path_factory.mktemp("libraries")
    for installed in {Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))}:
        for entry in installed.iterdir():
            if not entry.name.startswith("contextune") and entry.suffix != ".pth":
                (folder / entry.name).symlink_to(entry)
    return folder


class Site:
    """A folder with the files of wheels, and a Python that imports them and the libraries only."""

    def __init__(self, folder: Path, libraries: Path, *wheels: Path) -> None:
        self.folder = folder
        for wheel in wheels:
            zipfile.ZipFile(wheel).extractall(folder / "site")
        paths = os.pathsep.join([str(folder / "site"), str(libraries)])
        self.environment = {**os.environ, "PYTHONPATH": paths, "CONTEXTUNE_STORE": "me.db"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-S", *arguments]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def contextune(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("-c", "from contextune.cli import main; main()", *arguments)


def test_base_wheel_runs_the_readme_and_names_what_is_missing(
    base: Path, libraries: Path, tmp_path: Path
) -> None:
    site = Site(tmp_path, libraries, base)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    code = "\n".join(blocks) + "\nimport contextune; print(contextune.__file__)"
    readme = site.run("-c", code)
    assert readme.returncode == 0, readme.stderr
    assert readme.stdout.splitlines()[-1].startswith(str(tmp_path / "site"))

    bench = site.contextune("bench", "context")
    assert bench.returncode == 2
    assert "pip install contextune-lab" in bench.stderr

    doctor = site.contextune("doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert "one request takes" in doctor.stdout


def test_lab_wheel_adds_its_commands_and_data(base: Path, lab: Path, libraries: Path, tmp_path: Path) -> None:
    site = Site(tmp_path, libraries, base, lab)
    bench = site.contextune("bench", "speed", "--help")
    assert bench.returncode == 0, bench.stderr
    assert "Time one request with embedding" in bench.stdout
    personas = site.run(
        "-c", "from contextune.datasets import bundled_personas; print(len(bundled_personas()))"
    )
    assert (personas.returncode, personas.stdout) == (0, "109\n"), personas.stderr
