# SPDX-License-Identifier: Apache-2.0
"""tool_venv.py -- the virtual environment of the comparison: pinned versions, nothing of the system's Python.

All at once first, as pip resolves them together; if that fails, one requirement after the other, so that a tool that does
not install here is named with pip's own words and the others are measured all the same. A stamp of the requirements makes
the next run cost nothing."""
import hashlib
import os
import re
import subprocess
import sys
import venv


def pip(python, *arguments):
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0, done.stdout.decode(errors="replace").strip()


def requirements_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def versions_of(python):
    """{name in lower case: version} of what is installed."""
    out = subprocess.run([python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    return {name.lower(): version for name, _, version in (line.partition("==") for line in out.splitlines())}


def prepare(folder, requirements):
    """(python, versions, {name: why it is missing}); the interpreter is the one that runs this program."""
    python = os.path.join(folder, "bin", "python")
    stamp = os.path.join(folder, "requirements.stamp")
    with open(requirements, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    fresh = os.path.exists(stamp) and open(stamp, encoding="ascii").read() == wanted
    failed = {}
    if not fresh:
        print(f"compare: installing the tools into {folder}", file=sys.stderr, flush=True)
        if not os.path.exists(python):
            venv.create(folder, with_pip=True)
        good, _ = pip(python, "--requirement", requirements)
        for line in [] if good else requirements_of(requirements):
            one, why = pip(python, line)
            if not one:
                failed[re.split(r"[=<>]", line)[0].lower()] = (why.splitlines() or ["pip said nothing"])[-1]
        if not failed:
            with open(stamp, "w", encoding="ascii") as file:
                file.write(wanted)
    versions = versions_of(python)
    for line in requirements_of(requirements):
        name, _, version = line.partition("==")
        have = versions.get(name.lower())
        if have != version:
            failed.setdefault(name.lower(), f"version {have} is installed, {version} wanted" if have else "not installed")
    return python, versions, failed
