"""MCP's official conformance suite, as conformance_client and conformance_server use it."""
import json
import os
import pathlib
import re
import subprocess
import sys

NODE = "node@22.23.3"
VERSIONS = ("0.1.16", "0.2.0-alpha.12")


def cache():
    """Where this user's programs keep what they can get again."""
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "hoist"


def npm(folder, *arguments):
    """Runs npm in a folder; says how to do it by hand where that fails."""
    command = ["npm", *arguments, "--no-audit", "--no-fund", "--silent"]
    if subprocess.run(command, cwd=folder).returncode != 0:
        sys.exit(f"cannot install; once there is a network, run in {folder}: {' '.join(command)}")


def installed():
    """The folder that has Node and each version of the suite."""
    folder = cache() / "conformance-1"
    if not (folder / "installed").exists():
        for name, package in [("node", NODE)] + [(v, f"@modelcontextprotocol/conformance@{v}") for v in VERSIONS]:
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "package.json").write_text("{}")
            npm(folder / name, "install", package)
        (folder / "installed").touch()
    return folder


def node():
    """The Node that the suite needs."""
    return installed() / "node" / "node_modules" / ".bin" / "node"


def suite(version):
    """The command that runs a version of the suite."""
    return [node(), installed() / version / "node_modules/@modelcontextprotocol/conformance/dist/index.js"]


def checks(folder):
    """Each check that a run wrote to its folder, with its scenario."""
    for path in sorted(pathlib.Path(folder).glob("*/checks.json")):
        # The name is that of the scenario, between the mode and the time.
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[-\d]+Z$", "", path.parent.name)
        for check in json.loads(path.read_text()):
            yield scenario, check
