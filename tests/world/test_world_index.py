"""The package index offers exactly what is installed; everything else is a 404."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from conjunct.world.answers import Request
from conjunct.world.package_index import PackageIndex


@pytest.fixture
def index(tmp_path: Path) -> PackageIndex:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "python_dateutil-2.9.0-py3-none-any.whl").write_bytes(b"wheel")
    for name in ("left-pad", "@scope/tool"):
        folder = tmp_path / "node_modules" / name
        (folder / "lib").mkdir(parents=True)
        manifest = {"name": name, "version": "1.2.3", "scripts": {"install": "x"}, "dependencies": {"a": "1"}}
        (folder / "package.json").write_text(json.dumps(manifest))
        (folder / "lib" / "index.js").write_text("module.exports = 1")
    return PackageIndex(wheels=tmp_path / "wheels", node_modules=tmp_path / "node_modules")


def get(index: PackageIndex, host: str, path: str, accept: str = "*/*") -> tuple[int, bytes]:
    response = index(Request("GET", host, path, (("Accept", accept),)))
    assert response is not None
    return response.status, response.body


def test_a_wheel_is_found_under_every_spelling_of_its_name(index: PackageIndex) -> None:
    for name in ("python-dateutil", "Python_Dateutil", "python.dateutil"):
        status, body = get(index, "pypi.org", f"/simple/{name}/")
        assert status == 200
        assert hashlib.sha256(b"wheel").hexdigest().encode() in body
    form = "application/vnd.pypi.simple.v1+json"
    (file,) = json.loads(get(index, "pypi.org", "/simple/python-dateutil/", form)[1])["files"]
    assert get(index, "files.pythonhosted.org", "/" + file["url"].split("/", 3)[3]) == (200, b"wheel")
    info = json.loads(get(index, "pypi.org", "/pypi/python-dateutil/json")[1])["info"]
    assert info["version"] == "2.9.0"


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("pypi.org", "/simple/python-dateutils/"),
        ("pypi.org", "/pypi/python-dateutil/1.0/json"),
        ("files.pythonhosted.org", "/packages/../../etc/passwd"),
        ("registry.npmjs.org", "/left-padd"),
        ("registry.npmjs.org", "/left-pad/9.9.9"),
        ("registry.npmjs.org", "/..%2f..%2fetc"),
        ("registry.npmjs.org", "/"),
    ],
)
def test_what_is_not_installed_is_not_found(index: PackageIndex, host: str, path: str) -> None:
    assert get(index, host, path)[0] == 404


@pytest.mark.parametrize("name", ["left-pad", "@scope/tool"])
def test_a_node_package_can_be_unpacked_from_the_address_in_its_document(
    index: PackageIndex, name: str
) -> None:
    document = json.loads(get(index, "registry.npmjs.org", "/" + name.replace("/", "%2f"))[1])
    manifest = document["versions"][document["dist-tags"]["latest"]]
    assert "scripts" not in manifest
    status, body = get(index, "registry.npmjs.org", "/" + manifest["dist"]["tarball"].split("/", 3)[3])
    assert status == 200
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        assert archive.getnames() == ["package/lib/index.js", "package/package.json"]


def test_other_hosts_are_left_to_the_level(index: PackageIndex) -> None:
    assert index(Request("GET", "pypi.org.example.net", "/simple/python-dateutil/")) is None
