"""The package index of the world: PyPI's simple interface and npm's registry for exactly the provided set."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import io
import json
import re
import tarfile
import threading
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from conjunct.world.answers import Request, Response

PYPI_HOSTS = ("pypi.org", "www.pypi.org", "test.pypi.org")
PYPI_FILES = "files.pythonhosted.org"
NPM_HOSTS = ("registry.npmjs.org", "registry.yarnpkg.com", "registry.npmmirror.com")
HOSTS = (*PYPI_HOSTS, PYPI_FILES, *NPM_HOSTS)
"""Hosts that the index answers for."""
_MISSING = Response(404, "text/plain", b"404 Not Found\n")


class PackageIndex:
    """Answers requests to the hosts of the package registries; thread-safe. An unknown name is a 404."""

    def __init__(self, *, wheels: Path, node_modules: Path) -> None:
        self._wheels = wheels
        self._node_modules = node_modules
        self._lock = threading.Lock()
        self._archives: dict[str, bytes] = {}

    def __call__(self, request: Request) -> Response | None:
        """The answer, or `None` for other hosts."""
        host = request.host.lower()
        if host in PYPI_HOSTS:
            return self._python(request)
        if host == PYPI_FILES:
            return self._wheel(request.path.rpartition("/")[2])
        if host in NPM_HOSTS:
            return self._node(request)
        return None

    # ---- Python

    @cached_property
    def _by_project(self) -> dict[str, list[Path]]:
        projects: dict[str, list[Path]] = {}
        for wheel in sorted(self._wheels.glob("*.whl")) if self._wheels.is_dir() else ():
            projects.setdefault(_normal(wheel.name.split("-")[0]), []).append(wheel)
        return projects

    def _python(self, request: Request) -> Response:
        parts = [part for part in request.path.split("/") if part]
        if parts[:1] == ["simple"] and len(parts) == 2:
            wheels = self._by_project.get(_normal(parts[1]), [])
            return self._simple(parts[1], wheels, request) if wheels else _MISSING
        if parts[:1] == ["pypi"] and parts[-1:] == ["json"] and len(parts) in (3, 4):
            wheels = self._by_project.get(_normal(parts[1]), [])
            if wheels and (len(parts) == 3 or parts[2] == wheels[0].name.split("-")[1]):
                return self._document(parts[1], wheels)
        return _MISSING

    def _simple(self, name: str, wheels: list[Path], request: Request) -> Response:
        links = [(wheel.name, _sha256(wheel)) for wheel in wheels]
        if "application/vnd.pypi.simple.v1+json" in request.header("accept"):
            files = [
                {"filename": file, "url": _wheel_address(file), "hashes": {"sha256": digest}}
                for file, digest in links
            ]
            document = {"meta": {"api-version": "1.0"}, "name": _normal(name), "files": files}
            return Response(200, "application/vnd.pypi.simple.v1+json", json.dumps(document).encode())
        lines = "".join(
            f'<a href="{_wheel_address(file)}#sha256={digest}">{html.escape(file)}</a><br/>\n'
            for file, digest in links
        )
        return Response(200, "text/html", f"<!DOCTYPE html><html><body>\n{lines}</body></html>\n".encode())

    def _document(self, name: str, wheels: list[Path]) -> Response:
        version = wheels[0].name.split("-")[1]
        urls = [
            {"filename": wheel.name, "url": _wheel_address(wheel.name), "digests": {"sha256": _sha256(wheel)}}
            for wheel in wheels
        ]
        info = {"name": _normal(name), "version": version, "summary": "", "requires_dist": None}
        document = {"info": info, "releases": {version: urls}, "urls": urls}
        return Response(200, "application/json", json.dumps(document).encode())

    def _wheel(self, name: str) -> Response:
        for wheels in self._by_project.values():
            for wheel in wheels:
                if wheel.name == name:
                    return Response(200, "application/octet-stream", wheel.read_bytes())
        return _MISSING

    # ---- Node

    def _node(self, request: Request) -> Response:
        path = unquote(request.path).strip("/")
        match = re.fullmatch(r"((?:@[a-z0-9._~-]+/)?[A-Za-z0-9._~-]+)(?:/-/(.+\.tgz)|/([^/]+))?", path)
        if match is None or ".." in path or not (self._node_modules / match[1] / "package.json").is_file():
            return Response(404, "application/json", b'{"error":"Not found"}')
        name, archive, version = match.groups()
        if archive:
            return Response(200, "application/octet-stream", self._tarball(name))
        manifest = json.loads((self._node_modules / name / "package.json").read_text("utf-8"))
        present = manifest["version"]
        digest = base64.b64encode(hashlib.sha512(self._tarball(name)).digest()).decode()
        place = f"https://{NPM_HOSTS[0]}/{name}/-/{name.rpartition('/')[2]}-{present}.tgz"
        for key in ("scripts", "devDependencies"):
            manifest.pop(key, None)
        manifest["dist"] = {"tarball": place, "integrity": f"sha512-{digest}"}
        if version:
            known = version in (present, "latest")
            return Response(200, "application/json", json.dumps(manifest).encode()) if known else _MISSING
        document = {"name": name, "dist-tags": {"latest": present}, "versions": {present: manifest}}
        return Response(200, "application/json", json.dumps(document).encode())

    def _tarball(self, name: str) -> bytes:
        """The package as npm would have packed it; the same bytes every time."""
        with self._lock:
            if name not in self._archives:
                buffer = io.BytesIO()
                folder = self._node_modules / name
                with tarfile.open(fileobj=buffer, mode="w") as archive:
                    for path in sorted(folder.rglob("*")):
                        inner = path.relative_to(folder)
                        if path.is_file() and not path.is_symlink() and "node_modules" not in inner.parts:
                            info = tarfile.TarInfo(f"package/{inner.as_posix()}")
                            info.size = path.stat().st_size
                            info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                            with path.open("rb") as file:
                                archive.addfile(info, file)
                if len(self._archives) > 32:
                    self._archives.clear()
                self._archives[name] = _gzip(buffer.getvalue())
            return self._archives[name]


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wheel_address(name: str) -> str:
    return f"https://{PYPI_FILES}/packages/{name}"
