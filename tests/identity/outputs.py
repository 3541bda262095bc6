# SPDX-License-Identifier: Apache-2.0
"""outputs.py -- what tests of identity compare, and where they compute: the files of a job as digests, and OpenCL devices.

Standard library only."""
import hashlib
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import harness

REPORTS = ("manifest.json", "report.json")


def without_run(data):
    """A report's JSON but for "run": its members in their order, numbers as they are written."""
    members = json.loads(data, object_pairs_hook=list, parse_int=str, parse_float=str)
    return repr([member for member in members if member[0] != "run"]).encode()


def digests(folder):
    """{name: digest} of all files below a folder; what may differ in reports is left out."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            data = harness.read_file(base, name)
            found[os.path.relpath(os.path.join(base, name), folder)] = hashlib.sha256(
                without_run(data) if name in REPORTS else data).hexdigest()
    return found


def differing(got, wanted):
    """The names of files that differ or are missing on one side, in order."""
    return sorted(name for name in {*got, *wanted} if got.get(name) != wanted.get(name))


def opencl_environment():
    """Where OpenCL's implementations are, if nobody said. PoCL compiles a kernel twice: for the launch, and for launches of any
    size, which is what the program keeps. The second alone here, a quarter less time; the tests of parity/ compile the first."""
    venv, once = os.path.join(harness.ROOT, ".venv"), {"POCL_WORK_GROUP_SPECIALIZATION": "0"}
    if "OCL_ICD_VENDORS" in os.environ or not os.path.isdir(os.path.join(venv, "vendors")):
        return once
    libraries = [os.path.join(venv, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return {**once, "OCL_ICD_VENDORS": os.path.join(venv, "vendors"), "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}


def devices(bandmill, env):
    """(spec, platform, name) of the usable OpenCL devices; all are printed."""
    answer = json.loads(bandmill.run("devices", "--json", env=env).stdout)
    rows = answer["devices"] if isinstance(answer, dict) else answer
    for row in rows:
        if row["spec"] != "cpu":
            print(f"device {row['spec']}: {row['name']} ({row['platform']}){'' if row['usable'] else ', not usable'}")
    return [(row["spec"], row["platform"], row["name"]) for row in rows if row["spec"] != "cpu" and row["usable"]]


def alone(bandmill, env, folder):
    """{(platform, name): (spec, environment)} where the device's implementation is the only one that is loaded, and no process
    tries it before the job's own: a job then starts in a quarter of the time. A device that is not in it is reached by `env`
    alone."""
    vendors = env.get("OCL_ICD_VENDORS") or os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors"
    found = {}
    for name in sorted(os.listdir(vendors) if os.path.isdir(vendors) else []):
        if not name.endswith(".icd"):
            continue
        only = os.path.join(folder, "vendors-" + name)
        os.mkdir(only)
        shutil.copy(os.path.join(vendors, name), only)
        here = {**env, "OCL_ICD_VENDORS": only, "BANDMILL_PROBE": ""}
        for row in json.loads(bandmill.run("devices", "--json", env=here).stdout)["devices"]:
            if row["spec"] != "cpu" and row["usable"]:
                found[row["platform"], row["name"]] = row["spec"], here
    return found
