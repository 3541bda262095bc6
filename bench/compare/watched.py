# SPDX-License-Identifier: Apache-2.0
"""watched.py -- one command with a time limit: wall and processor seconds, peak memory of its whole tree.

Peak memory: ru_maxrss, which is exact, for one process. While there are several, the sum of their proportional set sizes
(shared pages once), sampled; the larger counts."""
import os
import signal
import subprocess
import threading
import time

SAMPLE_SECONDS = 0.1


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            own = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return own + [grandchild for child in own for grandchild in children_of(child)]


def pss_kib(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


class Sampler(threading.Thread):
    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak_kib, self.done = pid, 0, threading.Event()

    def run(self):
        while not self.done.wait(SAMPLE_SECONDS):
            others = children_of(self.pid)
            if others:
                self.peak_kib = max(self.peak_kib, sum(map(pss_kib, [self.pid, *others])))


def end_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, cpus, limit, folder):
    """{"status": "done", "failed" or "over the limit", "seconds", "cpu_seconds", "peak_mb", "stdout", "stderr"}."""
    command = ["taskset", "-c", ",".join(map(str, cpus)), *command]
    with open(os.path.join(folder, "stdout"), "w+b") as out, open(os.path.join(folder, "stderr"), "w+b") as err:
        start = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        sampler = Sampler(child.pid)
        sampler.start()
        timer = threading.Timer(limit, end_group, [child.pid])
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        timer.cancel()
        end_group(child.pid)  # what it may have left behind
        sampler.done.set()
        sampler.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complained = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    over = seconds >= limit and child.returncode == -signal.SIGKILL
    return {"status": "over the limit" if over else "done" if child.returncode == 0 else "failed", "seconds": seconds,
            "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": max(usage.ru_maxrss, sampler.peak_kib) / 1024,
            "stdout": said, "stderr": complained[-2000:]}
