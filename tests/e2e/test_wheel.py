"""What `pip install .` brings: the program and all its assets."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_every_asset_is_in_the_wheel(names: set[str]) -> None:
    assets = ROOT / "src" / "contextune" / "assets"
    wanted = {f"contextune/{file.relative_to(assets.parent).as_posix()}" for file in assets.rglob("*.*")}
    assert len(wanted) > 110
    assert wanted <= names


def test_the_wheel_says_that_it_is_typed(names: set[str]) -> None:
    assert "contextune/py.typed" in names


def test_nothing_but_the_package_is_in_the_wheel(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names} <= {"contextune", "contextune-0.1.0.dist-info"}
