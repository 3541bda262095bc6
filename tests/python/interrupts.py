# SPDX-License-Identifier: Apache-2.0
"""interrupts.py [--interrupts N] [--seed S]: Ctrl-C at random moments of every call of the package.

A child makes the calls, each with a signal after a random time, or several that follow each other; another thread queries the
same index meanwhile. After each the objects must answer as before. The child ends with everything still open: a crash, a call
that hangs, an index that is closed, an answer that differs, a directory that stays behind, or a word on stderr is a failure.
Further children are interrupted and do not catch it: they end with one traceback, that of KeyboardInterrupt.
"""

import argparse
import collections
import faulthandler
import json
import logging
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

HOW = {"device": "cpu", "threads": 1}
WORDS = [a + b for a in ("ar", "be", "co", "du", "el", "fi") for b in ("ba", "ce", "di", "fo", "gu", "ha")]
UNCAUGHT = """
import signal, sys, bandmill, pyarrow as pa
texts = [f"{i} {i + 1} {i % 7} some words of a text {i * 3}" for i in range(300)]
first = pa.table({"id": [f"first-{j}" for j in range(50)], "text": texts[:50]})
with bandmill.Index.build(sys.argv[1], first, id="id", device="cpu", threads=1) as ix:
    made = bandmill.sign(texts, device="cpu")
    print("ready", flush=True)
    for i in range(10**6):
        ids = [f"{i}-{j}" for j in range(30)]
        ix.add(pa.table({"id": ids, "text": [f"more words of {id}" for id in ids]}), id="id", device="cpu", threads=1)
        ix.query(texts[:5])
        bandmill.dedup(texts, device="cpu", threads=1)
"""


def texts_of(n, seed):
    """Texts of words."""
    draw = random.Random(seed)
    return [" ".join(draw.choice(WORDS) for _ in range(20)) for _ in range(n)]


class Interrupts:
    """Signals that raise KeyboardInterrupt while a call is made, at most so many; none outside of it."""

    def __init__(self, draw):
        """Drawn by ``draw``."""
        self.draw, self.left, self.sent = draw, 0, 0
        signal.signal(signal.SIGALRM, self._handler)
        signal.signal(signal.SIGINT, self._handler)

    def _handler(self, number, frame):
        if self.left > 0:
            self.left -= 1
            self.sent += 1
            if self.left == 0:
                signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    def _from_a_thread(self, delay):
        def body():
            time.sleep(delay)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=body)
        thread.start()
        return thread

    def during(self, call, usual):
        """Makes the call; what it gives, or None: it was interrupted."""
        draw, found, thread = self.draw, None, None
        delay = draw.uniform(0, 1.2 * usual) if draw.random() < 0.6 else usual * 10 ** -draw.uniform(0, 3)
        n = draw.choice((1, 1, 1, 2, 3))
        if draw.random() < 0.2:
            thread = self._from_a_thread(delay)
        self.left = n
        try:
            if thread is None:
                signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6), draw.uniform(1e-4, 1e-3) if n > 1 else 0)
            found = (call(),)
        except KeyboardInterrupt:
            pass
        while True:
            try:
                self.left = 0
                signal.setitimer(signal.ITIMER_REAL, 0)
                if thread is not None:
                    thread.join()
                return found
            except KeyboardInterrupt:
                found = None


def calls_of(work):
    """(name, call, check of the answer) for each call, and a check of what lives on."""
    import numpy as np
    import pyarrow as pa

    import bandmill
    from bandmill.compat.datasketch import LeanMinHash, MinHash, MinHashLSH
    from bandmill.distributed import Plan, join

    texts = texts_of(60, 1)
    texts += texts[:10]
    table = pa.table({"id": [f"d{i}" for i in range(len(texts))], "text": texts})
    file = work / "in.jsonl"
    file.write_text("".join(json.dumps({"id": f"d{i}", "text": t}) + "\n" for i, t in enumerate(texts)))
    ix = bandmill.Index.build(work / "ix", table, id="id", **HOW)
    numbers = iter(range(10**9))
    place = lambda: str(work / f"out{next(numbers)}")  # noqa: E731
    signed = bandmill.sign(table, id="id", **HOW)
    made = bandmill.dedup(table, id="id", pairs=True, **HOW)
    of_file = bandmill.dedup(file, **HOW)
    words = np.array(signed.signatures)
    pairs = bandmill.pairs(table, id="id", **HOW)
    sets = [[w.encode() for w in t.split()] for t in texts]
    lsh = MinHashLSH(threshold=0.5, num_perm=32)
    sketches = MinHash.bulk(sets, num_perm=32)
    lean = LeanMinHash(sketches[5])
    found = lambda i: {t for t in ix.query([texts[i]]).column("target").to_pylist()}  # noqa: E731
    known = {"d3", "d63"}

    def add():
        n = next(numbers)
        ix.add(pa.table({"id": [f"new{n}-{i}" for i in range(20)], "text": texts_of(20, n + 2)}), id="id", **HOW)
        return len(ix)

    def add_unique():
        n = next(numbers)
        data = pa.table({"id": [f"u{n}-{i}" for i in range(5)], "text": texts_of(5, n + 2)})
        return ix.add(data, id="id", unique=True, threshold=0.9, **HOW).num_rows

    def opened():
        with bandmill.Index.open(work / "ix2", threads=1) as other:
            return len(other)

    def sketched():
        n = next(numbers)
        with lsh.insertion_session() as session:
            for i, sketch in enumerate(sketches):
                session.insert((n, i), sketch)
        lsh.remove((n, 0))
        return len(lsh.query(sketches[1])) > 0

    def written():
        made = bandmill.sign(texts, **HOW)
        return made.path.is_dir() and made.path.is_dir()

    def progress():
        seen = []
        bandmill.dedup(table, id="id", progress=lambda *step: seen.append(step), **HOW)
        return True

    def distributed():
        forests = [row for rows in plan.split(table.to_batches()) for row in join([rows])]
        chosen = plan.select(table.to_batches(), plan.components(forests))
        return len(plan.dedup(pa.Table.from_batches(chosen))[0])

    bandmill.Index.build(work / "ix2", texts, **HOW).close()
    plan = Plan(parts=1, **{name: value for name, value in HOW.items() if name != "threads"})
    calls = {
        "Index.add": (add, lambda n: n > 0),
        "Index.add unique": (add_unique, lambda n: n >= 0),
        "Index.query": (lambda: found(3), lambda f: f == known),
        "Index.query as a job": (
            lambda: ix.query(table.slice(3, 1), id="id", skip_same_id=True).column("target").to_pylist(),
            lambda f: f == ["d63"],
        ),
        "Index.remove": (lambda: ix.remove([f"new{next(numbers)}-1", "nothing"]), lambda n: n in (0, 1)),
        "Index.compact": (lambda: ix.compact(), lambda _: True),
        "Index.info": (lambda: len(ix.info()), lambda n: n > 3),
        "len(Index)": (lambda: len(ix), lambda n: n > 0),
        "Index.open": (opened, lambda n: n == len(texts)),
        "Index.build": (lambda: bandmill.Index.build(place(), texts, **HOW).close(), lambda _: True),
        "sign": (lambda: bandmill.sign(table, id="id", **HOW).signatures, lambda s: np.array_equal(s, words)),
        "sign of a file": (lambda: bandmill.sign(file, **HOW).signatures, lambda s: np.array_equal(s, words)),
        "Signatures.path": (written, lambda there: there),
        "Signatures.ids": (lambda: bandmill.sign(table, id="id", **HOW).ids[3], lambda i: i == "d3"),
        "Signatures.save": (lambda: len(signed.save(place())), lambda n: n == len(texts)),
        "Signatures pickled": (lambda: len(pickle.loads(pickle.dumps(signed))), lambda n: n == len(texts)),
        "dedup": (lambda: bandmill.dedup(table, id="id", **HOW).kept.sum(), lambda n: n == 60),
        "dedup of a file": (lambda: bandmill.dedup(file, **HOW).report["counts"]["kept"], lambda n: n == 60),
        "dedup against an index": (lambda: bandmill.dedup(texts, against=ix, **HOW).kept.sum(), lambda n: n == 0),
        "Dedup pickled": (lambda: pickle.loads(pickle.dumps(made)).kept.sum(), lambda n: n == 60),
        "Dedup.take": (lambda: made.take(table).num_rows, lambda n: n == 60),
        "Dedup.groups": (lambda: made.groups.num_rows, lambda n: n == 10),
        "Dedup.removed": (lambda: made.removed.num_rows, lambda n: n == 10),
        "Dedup.pairs": (lambda: made.pairs.num_rows, lambda n: n == 10),
        "Dedup.to_html": (lambda: len(made.to_html()), lambda n: n > 1000),
        "Dedup.explain": (lambda: str(made.explain("d3", "d63")), lambda said: "d63" in said),
        "Dedup.filter": (lambda: of_file.filter(place()), lambda path: path.is_dir()),
        "pairs": (lambda: bandmill.pairs(table, id="id", **HOW).num_rows, lambda n: n == 10),
        "hash_shingles": (lambda: len(bandmill.hash_shingles(texts)[0]), lambda n: n == len(texts) + 1),
        "tune": (lambda: bandmill.tune(texts, threshold=0.7), lambda found: len(found) > 0),
        "self_test": (lambda: bandmill.self_test("cpu"), lambda n: n > 0),
        "cluster": (lambda: bandmill.cluster(pairs).num_rows, lambda n: n == 10),
        "export": (lambda: bandmill.export(signed, "npy", place()), lambda path: path.is_dir()),
        "query": (lambda: bandmill.query(texts[:3], targets=table, id=None, **HOW).num_rows, lambda n: n >= 3),
        "load": (lambda: len(bandmill.load(of_sign)), lambda n: n == len(texts)),
        "progress": (progress, lambda done: done),
        "MinHash.bulk": (lambda: MinHash.bulk(sets, num_perm=32)[5] == sketches[5], lambda same: same),
        "MinHash.update": (lambda: _updated(MinHash, sets[5]) == sketches[5], lambda same: same),
        "LeanMinHash": (
            lambda: pickle.loads(pickle.dumps(lean)) == lean,
            lambda same: same,
        ),
        "MinHashLSH": (sketched, lambda found: found),
        "distributed": (distributed, lambda n: n == sum(made.groups.column("size").to_pylist())),
    }
    of_sign = signed.save(place()).path

    def alive():
        assert found(3) == known, "the index answers otherwise"
        assert len(ix) >= len(texts)
        assert signed.path.is_dir() and np.array_equal(signed.signatures, words)

    return calls, alive, lambda: found(4)


def _updated(kind, items):
    made = kind(num_perm=32)
    made.update_batch(items)
    return made


def child(wanted, seed, work):
    """Makes the calls until so many interrupts came."""
    import bandmill._workplace

    bandmill._workplace._RAM = work / "ram"
    logging.getLogger("bandmill").addHandler(logging.NullHandler())
    logging.getLogger("bandmill").propagate = False
    draw = random.Random(seed)
    calls, alive, ask = calls_of(work)
    usual = {}
    for name, (call, check) in calls.items():
        begun = time.perf_counter()
        assert check(call()), name
        usual[name] = time.perf_counter() - begun
    interrupts, met, ended = Interrupts(draw), collections.Counter(), threading.Event()
    failed = []

    def beside():
        try:
            while not ended.wait(0.002):
                assert "d4" in ask()
        except BaseException as e:
            failed.append(repr(e))

    other = threading.Thread(target=beside)
    other.start()
    try:
        while interrupts.sent < wanted and not failed:
            faulthandler.dump_traceback_later(300, exit=True)  # a call that hangs
            name = draw.choice(
                list(calls) if draw.random() < 0.1 else [name for name in calls if name != "self_test"]
            )  # a slow one
            call, check = calls[name]
            answer = interrupts.during(call, usual[name])
            met[name] += answer is None
            assert answer is None or check(answer[0]), f"{name} answers otherwise: {answer[0]!r}"
            alive()
    finally:
        ended.set()
        other.join()
    assert not failed, failed
    print(
        json.dumps({"interrupts": interrupts.sent, "calls that ended so": sum(met.values()), "of": dict(sorted(met.items()))})
    )


def uncaught(draw, work, n):
    """Processes that end by an interrupt."""
    for i in range(n):
        with subprocess.Popen(
            [sys.executable, "-c", UNCAUGHT, str(work / f"u{i}")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as p:
            p.stdout.readline()
            time.sleep(draw.uniform(0, 0.1))
            p.send_signal(signal.SIGINT)
            said = p.communicate(timeout=300)[1]
        assert said.count("Traceback") == 1 and said.rstrip().endswith("KeyboardInterrupt"), said
        assert p.returncode in (-signal.SIGINT, 130), p.returncode


def main():
    """The children, and what they leave."""
    wish = argparse.ArgumentParser()
    wish.add_argument("--interrupts", type=int, default=100)
    wish.add_argument("--seed", type=int, default=1)
    wish.add_argument("--uncaught", type=int, default=1)
    wish.add_argument("--child", type=pathlib.Path)
    wish = wish.parse_args()
    if wish.child is not None:
        child(wish.interrupts, wish.seed, wish.child)
        return
    with tempfile.TemporaryDirectory() as work:
        for name in ("ram", "temp"):
            (pathlib.Path(work) / name).mkdir()
        more = ["--interrupts", str(wish.interrupts), "--seed", str(wish.seed), "--child", work]
        where = {**os.environ, "TMPDIR": str(pathlib.Path(work) / "temp")}
        done = subprocess.run([sys.executable, __file__, *more], capture_output=True, text=True, env=where, check=False)
        left = [p.name for name in ("ram", "temp") for p in (pathlib.Path(work) / name).iterdir()]
        sys.stdout.write(done.stdout)
        assert done.returncode == 0 and not done.stderr, f"ended with {done.returncode}: {done.stderr}"
        assert not left, f"left behind: {left}"
        uncaught(random.Random(wish.seed), pathlib.Path(work), wish.uncaught)


if __name__ == "__main__":
    main()
