#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_computed.py -- docs/large-jobs.md is what bench/large_jobs.py makes of the measured figures that it names, and the model is that of its
description: by hand, and step by step, where each worker does its share of what is not serial."""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "large-jobs.md")
sys.path.insert(0, os.path.join(ROOT, "bench"))
import large_jobs  # noqa: E402


def near(a, b):
    assert abs(a - b) <= 1e-9 * max(abs(a), abs(b)), (a, b)


def job():
    one = {"seconds": 20, "cpu_seconds": 10, "clocks": 20, "read": 1, "deliver": .6}
    return {"gb": 2, "perms": 91, "shingles": 1e9, "double_cpu_seconds": 7, "1": one, "2": {"cpu_seconds": 11, "alone": {"match": .11, "seal": .55}}}


def test_the_serial_share_is_what_one_thread_at_a_time_can_do():
    near(large_jobs.serial_share(job()["1"], job()["2"]), .05 + .03 + .01 + .05)


def test_of_a_stage_it_is_what_the_busiest_thread_does_more_than_the_second():
    samples = [(.0, {"1": .0}), (.9, {"1": .4, "2": .4}), (1.4, {"1": .7, "2": .5}), (1.9, {"1": 1.2, "2": .9, "3": .1}), (2.4, {"1": 1.3, "2": .9, "3": .1}), (2.5, {})]
    found = large_jobs.alone(samples, {"sign": 1, "match": 1, "seal": 1})
    assert sorted(found) == ["match", "seal"]
    near(found["match"], (1.2 - .4) - (.9 - .4))  # between the last samples before 1 and before 2 seconds
    near(found["seal"], .1)


def test_time_is_that_of_workers_who_share_all_but_the_serial_part():
    for cores in (1, 2, 3, 16, 64, 128):
        shares = [8.6 / cores] * cores  # of 10 CPU seconds 1.4 are serial
        near(large_jobs.seconds_of(job(), cores), (1.4 + max(shares)) / 2)


def test_beside_devices_the_serial_part_stays_and_the_rest_is_what_the_host_still_does():
    host, device = large_jobs.beside_devices(job(), 64, 8)
    near(host, (1.4 + 5.6 / 64) / 2)
    near(device, 5e8 * 91 / (8 * .7 * 132 * 64 * 1.98e9))  # seconds a GB of 5e8 shingles


def test_the_page_says_what_the_figures_give():
    with open(PAGE, encoding="utf-8") as file:
        source = re.search(r"Computed from \[(bench/results/[a-z0-9-]+\.json)\]", file.read())
    assert source, "the page names no figures"
    subprocess.run([sys.executable, "bench/large_jobs.py", "--from", source[1], "--page", PAGE, "--check"], cwd=ROOT, check=True)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: passed")
