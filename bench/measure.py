# SPDX-License-Identifier: Apache-2.0
"""measure.py -- run whole processes alternately and say what they took: what the comparisons of this folder share.

A figure is the median over the repeats of one run, with the least and the most; contenders take turns, so that a machine
that slows down slows down all of them. Peak memory is ru_maxrss of the child (its own; the threads are in it). Standard
library only."""
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def run_once(command, cpus=None, env=None):
    """One child, bound to these processors: {"seconds", "cpu_seconds", "peak_mb", "stdout", "stderr"}; its failure ends us."""
    if cpus:
        command = ["taskset", "-c", ",".join(map(str, cpus))] + command
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    # Both pipes carry a few lines at most, so that reading one after the other cannot block the child.
    out, err = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    child.stderr.close()
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {child.returncode}\n{err.decode(errors='replace')[-2000:]}")
    return {"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024,
            "stdout": out.decode(errors="replace"), "stderr": err.decode(errors="replace")}


def alternate(contenders, repeats, cpus=None, warm_up=True):
    """contenders: {name: (command, before)}, `before` (or None) is called ahead of each run. A dictionary of lists of
    runs; the first round only warms caches and is dropped."""
    runs = {name: [] for name in contenders}
    for i in range(-1 if warm_up else 0, repeats):
        for name, (command, before) in contenders.items():
            if before:
                before()
            result = run_once(command, cpus)
            if i >= 0:
                runs[name].append(result)
            print(f"  {name:<44} {result['seconds']:8.3f} s  {result['peak_mb']:7.0f} MB"
                  f"{'' if i >= 0 else '  (warm-up)'}", file=sys.stderr, flush=True)
    return runs


def summary(runs, key="seconds"):
    values = [run[key] for run in runs]
    return {"median": round(statistics.median(values), 4), "min": round(min(values), 4), "max": round(max(values), 4),
            "runs": len(values)}


def output_of(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                              cwd=ROOT).stdout.decode(errors="replace").strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    model, flags = platform.processor(), ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    model = line.split(":", 1)[1].strip()
                elif line.startswith("flags"):
                    flags = line
    except OSError:
        pass
    return {"processor": model, "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
            "instruction_sets": [name for name in ("avx2", "avx512f", "asimd") if f" {name}" in flags],
            "load_before": round(os.getloadavg()[0], 2)}


def wrapped(paragraph):
    """A paragraph of a page, its lines as long as those that people write there."""
    return textwrap.fill(paragraph, 100, break_long_words=False, break_on_hyphens=False)


def short(argument):
    """A path below the repository as seen from its root, one in memory or among temporary files by its last name: what a
    command was does not depend on where the tree lay."""
    path = os.path.abspath(argument)
    if path.startswith(ROOT + os.sep) and os.path.lexists(path):
        return os.path.relpath(path, ROOT)
    scratch = ("/dev/shm" + os.sep, tempfile.gettempdir() + os.sep)
    return os.path.join("SCRATCH", os.path.basename(path)) if argument.startswith(scratch) else argument


def provenance(program):
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": output_of(["git", "rev-parse", "--short=12", "HEAD"]),
            "changed_files": len(output_of(["git", "status", "--porcelain", "--untracked-files=no", "--", ":!bench/results", ":!docs"]).splitlines()),
            "version": output_of([program, "--version"]).splitlines()[:6], "machine": machine(),
            "command": [short(argument) for argument in sys.argv]}


def write(path, result):
    """The result of a benchmark, as JSON."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def remove(path):
    """A function that removes what one run of ours wrote at `path`, so that the next finds nothing there."""
    return lambda: shutil.rmtree(path, ignore_errors=True)


def scratch_folder():
    """Where outputs go: memory, so that the disk is no part of the figure; the temporary folder where there is none."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
