# SPDX-License-Identifier: Apache-2.0
"""devices.py BANDMILL ISA OUT.json -- see devices.sh."""

import json
import os
import subprocess
import sys

import measure


def main():
    bandmill, isa, out = sys.argv[1:]
    env = dict(os.environ, BANDMILL_CPU=isa)
    devices = json.loads(subprocess.run([bandmill, "devices", "--json"], check=True, stdout=subprocess.PIPE).stdout)["devices"]
    best = isa == devices[0]["driver"]  # the native CPU comes first, with the instruction set that it would choose
    core = str(max(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, bandmill, "bench", "--threads", "1", "--words", "space", "--normalize", "none", "--seconds", "600", "--json"]
    if not best:
        command += ["--device", "cpu"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env).stdout)
    result = {**report, **measure.provenance(bandmill)}
    result["command"] = [f"BANDMILL_CPU={isa}"] + [measure.short(word) for word in command]
    measure.write(out, result)


if __name__ == "__main__":
    main()
