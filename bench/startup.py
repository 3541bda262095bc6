# SPDX-License-Identifier: Apache-2.0
"""startup.py BANDMILL OUT.json -- the shortest commands, whole process, median of 20; see startup.sh.

`--version`; `sign --device cpu` of one short file; the same on the first OpenCL device, whose programs the first run left in the
cache. Each contender takes its turn in every round."""

import json
import os
import subprocess
import sys
import tempfile

import measure

ROUNDS = 20


def has_opencl(bandmill):
    devices = json.loads(subprocess.run([bandmill, "devices", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    return any(device["usable"] and device["spec"].startswith("opencl") for device in devices["devices"])


def main():
    bandmill, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        text, signed = os.path.join(folder, "short.txt"), os.path.join(folder, "signed")
        with open(text, "w", encoding="utf-8") as file:
            file.write("the quick brown fox jumps over the lazy dog and runs away from it\n")
        sign = [bandmill, "sign", text, "-q", "-o", signed, "--device"]
        contenders = {
            "version": ([bandmill, "--version"], None),
            "sign_cpu": (sign + ["cpu"], measure.remove(signed)),
        }
        if has_opencl(bandmill):
            contenders["sign_opencl_warm_cache"] = (sign + ["opencl"], measure.remove(signed))
        runs = measure.alternate(contenders, ROUNDS)
    result = {"question": "start-up: whole process, seconds", **measure.provenance(bandmill)}
    result["seconds"] = {name: measure.summary(of) for name, of in runs.items()}
    measure.write(out, result)
    print(json.dumps(result["seconds"], indent=2))


if __name__ == "__main__":
    main()
