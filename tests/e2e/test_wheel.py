"""The three wheels: contents, size, and a base wheel that runs the README without lab and reader."""

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
from contextune.plan.reader.installed import reader_installed

SOURCE = ROOT / "src" / "contextune"
LAB_SOURCE = ROOT / "packages" / "lab" / "src" / "contextune_lab"
READER = "contextune/assets/reader/"
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


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not reader_installed():
        pytest.skip("this checkout has no assets/reader")
    return build(ROOT / "packages" / "reader", tmp_path_factory.mktemp("reader"))


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


def test_base_wheel_is_small_and_has_neither_lab_nor_reader(base: Path) -> None:
    assert base.stat().st_size <= MEGABYTES_AT_MOST * 1_000_000
    assert not [name for name in names(base) if name.startswith(READER) or "lab" in name.split("/")]
    assert "contextune/py.typed" in names(base)


def test_base_and_lab_wheel_have_all_files_of_their_package_but_the_reader(base: Path, lab: Path) -> None:
    assert names(base) == {name for name in source_files() if not name.startswith(READER)}
    assert names(lab) == source_files(LAB_SOURCE)


def test_reader_wheel_has_exactly_the_reader(reader: Path) -> None:
    files = names(reader)
    assert f"{READER}model.onnx" in files
    assert f"{READER}calls/calls.json.gz" in files
    assert files == {name for name in source_files() if name.startswith(READER)}


def test_wheels_have_the_version_of_the_package(base: Path, lab: Path) -> None:
    assert base.name.startswith(f"contextune-{contextune.__version__}-")
    assert lab.name.startswith(f"contextune_lab-{contextune.__version__}-")
    assert requirements(lab) == [f"Requires-Dist: contextune[all]=={contextune.__version__}"]


def test_reader_requires_the_same_version(reader: Path) -> None:
    assert reader.name.startswith(f"contextune_reader-{contextune.__version__}-")
    assert requirements(reader) == [f"Requires-Dist: contextune=={contextune.__version__}"]


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
    assert readme.stdout.strip().startswith(str(tmp_path / "site"))

    bench = site.contextune("bench", "context")
    assert bench.returncode == 2
    assert "pip install contextune-lab" in bench.stderr

    # its checksums may list the files of the reader: other models are verified without them
    doctor = site.contextune("doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert "one request takes" in doctor.stdout
    assert "pip install contextune-reader" in doctor.stdout


def test_lab_wheel_adds_its_commands_and_data(base: Path, lab: Path, libraries: Path, tmp_path: Path) -> None:
    site = Site(tmp_path, libraries, base, lab)
    bench = site.contextune("bench", "speed", "--help")
    assert bench.returncode == 0, bench.stderr
    assert "Time one request with embedding" in bench.stdout
    personas = site.run(
        "-c", "from contextune.datasets import bundled_personas; print(len(bundled_personas()))"
    )
    assert (personas.returncode, personas.stdout) == (0, "109\n"), personas.stderr


def test_installed_reader_is_found_and_sound(base: Path, reader: Path, tmp_path: Path) -> None:
    for wheel in (base, reader):
        zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "from contextune._internal.model_files import model_folder;"
        "from contextune.plan.reader.installed import reader_installed;"
        "print(reader_installed(), model_folder('reader'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"True {tmp_path / 'contextune' / 'assets' / 'reader'}"
