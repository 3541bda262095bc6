# SPDX-License-Identifier: Apache-2.0
"""The same bytes for every memory, number of threads, batch size and device, taken together as a product.

    --memory 64M 256M 8G  x  --threads 1 2 8  x  --batch-docs 1 1000 100000  x  the native CPU, Intel's CPU runtime, PoCL

For each of `dedup`, `dedup --pairs`, `dedup --cluster star` and `sign --band-keys`, every file that is written
(signatures.npy band_keys.npy n_shingles.npy ids.txt sources.tsv pairs.tsv groups.jsonl removed.tsv, what is kept, and the
reports but for their "run") is compared, byte for byte, with that of one thread, the native CPU, 8G and batches by bytes. A
leg is a corpus with options for its documents:

  real    300 documents of scancode_rules (documents of bench/planted.c where that is not there): `dedup` in 27 cells, in which
          each value meets each two values of any two others, the other commands in nine, in which it meets each value of the others
  sets    6,250 documents of bench/planted.c in byte:8: 64M are too little for their shingle sets, 256M are enough. Nine cells
          again, less batches of one on OpenCL: seven; three of `pairs` and `sign`, each value once in them
  edges   1,400 documents, each pair of which is an edge: 64M are too little for these, of `pairs`, which has those of these cells
          that are not 8G; `star` has three again
  keys    6,000 documents with 1,000 bands: 64M are too little for sets and band keys. The same cells
  tiny    110,000 documents of 4 bytes: batches of 100,000 are really that large. Devices x batches of 1,000 and 100,000

That a job of 64M did spill, and one of 8G did not, is a claim of its own, as is the device that signed. A device that is not
here is said and its cells are left out; BANDMILL_REQUIRE_OPENCL=2 makes that a failure. --size small (sanitizers): nine cells
of `real`, one of `sets`. `--leg real:dedup` runs one leg, of its commands that one alone where it is said.

The larger form, by hand (6 minutes on two cores, 1 GB below $TMPDIR), with --memory 128M 512M 8G:

    IDENTITY_FULL=1 tests/reference/run.sh tests/identity/test_product.py --program build/bandmill --planted build/bench/planted

  full    150,000 documents of bench/planted.c and 2,500 of which each pair is an edge: spills at 128M only. All 27 cells of the
          native CPU, and of the other devices those of the nine cells
  real    as above, `dedup` in all 81 cells

Python's standard library only."""
import concurrent.futures
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import harness
from outputs import alone, devices, differing, digests, opencl_environment

MEMORIES = ("64M", "256M", "8G")
LARGE = ("128M", "512M", "8G")  # of the leg `full`
THREADS = (1, 2, 8)
BATCHES = (1, 1000, 100000)
PLATFORMS = ("native", "Intel", "Portable Computing Language")
DEDUP = {"groups.jsonl", "removed.tsv", "sources.tsv", "report.json"}
COMMANDS = {
    "dedup": (["dedup"], DEDUP),
    "pairs": (["dedup", "--pairs"], DEDUP | {"pairs.tsv"}),
    "star": (["dedup", "--cluster", "star", "--keep", "longest"], DEDUP),
    "sign": (["sign", "--band-keys"],
             {"signatures.npy", "band_keys.npy", "n_shingles.npy", "n_bytes.npy", "content_hash.npy", "text_hash.npy", "ids.txt", "sources.tsv",
              "manifest.json"}),
}


# --- cells ---

class Cell:
    def __init__(self, memory, threads, batch, device):
        self.memory, self.threads, self.batch, self.device = memory, threads, batch, device

    def arguments(self):
        """Of the command line, and the environment. One in nine sees all OpenCL implementations, the others that of their device."""
        more = ["--batch-docs", self.batch] if self.batch else []
        spec, env = self.device.in_company if (self.memory, self.threads) == ("8G", 1) else self.device.alone
        return ["--memory", self.memory, "--threads", self.threads, "--device", spec, *more], env

    def __str__(self):
        return f"{self.memory}, {self.threads} threads, batches of {self.batch or 'any'}, {self.device.name}"


class Device:
    """`only`: spec and environment in which no other implementation is loaded."""

    def __init__(self, spec, name, reported, env, only=None):
        self.spec, self.name, self.reported = spec, name, reported
        self.in_company, self.alone = (spec, env), only or (spec, env)


def product(made, memories):
    return [Cell(*values) for values in itertools.product(memories, THREADS, BATCHES, made)]


def by_three(made):
    """Orthogonal, of strength three: of four factors with three values each, every three values meet once."""
    return [Cell(MEMORIES[i], THREADS[j], BATCHES[k], made[(i + j + k) % 3])
            for i, j, k in itertools.product(range(3), repeat=3) if made[(i + j + k) % 3]]


def nine(made, memories=MEMORIES):
    """Two orthogonal Latin squares: of four factors with three values each, every two values meet once."""
    return [Cell(memories[i], THREADS[(i + j) % 3], BATCHES[(i + 2 * j) % 3], device)
            for i in range(3) for j, device in enumerate(made) if device]


def find_devices(claims, bandmill, env, folder):
    """The three devices in the order of PLATFORMS; None for one that is not here."""
    found, made = devices(bandmill, env), [Device("cpu", "native CPU", None, env)]
    only = alone(bandmill, env, folder)
    for platform in PLATFORMS[1:]:
        spec, full, name = next((row for row in found if platform in row[1]), (None, None, None))
        made.append(Device(spec, platform, name, env, only.get((full, name))) if spec else None)
        if not spec:
            print(f"SKIPPED: the cells of {platform}, which is not here", flush=True)
    wanted = int(os.environ.get("BANDMILL_REQUIRE_OPENCL") or 0)
    claims.check(f"{len(found)} OpenCL devices, {wanted} required", len([d for d in made[1:] if d]) >= wanted)
    return made


# --- legs ---

class Leg:
    """A corpus, its options, cells, commands, and the members of "temporary_files" that the least memory must have by command.
    `few`: the cells of commands that have others."""

    def __init__(self, name, path, options, cells, spills=None, commands=tuple(COMMANDS), few=None):
        self.name, self.path, self.options, self.cells = name, path, options, cells
        self.spills, self.commands, self.few = spills or {}, commands, few or {}

    def cells_of(self, command):
        return self.few.get(command, self.cells)


class Corpora:
    def __init__(self, folder, planted):
        self.folder, self.planted = folder, planted

    def real(self):
        path, name = harness.corpus_file("scancode_rules", "docs.jsonl.zst"), os.path.join(self.folder, "real.jsonl")
        if not path:
            return self.made("real.jsonl", (300, "clusters"))
        with open(name, "wb") as file:
            file.write(b"".join(line + b"\n" for line in harness.unzstd(path).split(b"\n")[:300]))
        return name

    def made(self, name, *parts):
        """Documents of bench/planted.c, one part after another; ids are numbers of their own in each part."""
        name = os.path.join(self.folder, name)
        with open(name, "wb") as file:
            for i, (n, mode) in enumerate(parts):
                lines = subprocess.run([self.planted, str(n), "--mode", mode], stdout=subprocess.PIPE, check=True).stdout
                file.write(lines.replace(b'{"id":"', b'{"id":"%d-' % i))
        return name

    def tiny(self):
        name, draw = os.path.join(self.folder, "tiny.txt"), random.Random(7)
        with open(name, "w", encoding="ascii") as file:
            file.writelines("".join(draw.choices("abcdefghijklmnop", k=4)) + "\n" for _ in range(110000))
        return name


def sets_leg(corpora, cells, commands, few=None):
    return Leg("sets", corpora.made("sets.jsonl", (6250, "clusters")), ["--shingle", "byte:8"], cells,
               {command: ["set_bytes"] for command in ("dedup", "pairs", "star")}, commands, few)


def some(made):
    """Of large legs, batches of one on the native CPU only: elsewhere they are a launch a document, seconds."""
    return [cell for cell in nine(made) if cell.batch > 1 or cell.device.spec == "cpu"]


def diagonal(made):
    """Each value of each factor once; batches of one on the native CPU."""
    return [Cell(MEMORIES[i], THREADS[i], BATCHES[i], device) for i, device in enumerate(made) if device]


def real(corpora, made):
    return real_leg(corpora, made, by_three(made))


def real_leg(corpora, made, cells):
    return Leg("real", corpora.real(), ["--threshold", "0.6"], cells,
               few={command: nine(made) for command in ("pairs", "star", "sign")})


def sets(corpora, made):
    return sets_leg(corpora, some(made), ("dedup", "pairs", "sign"), {"pairs": diagonal(made), "sign": diagonal(made)})


def edges(corpora, made):
    return Leg("edges", corpora.made("edges.jsonl", (1400, "one-word")), ["--threshold", "0.7"],
               [cell for cell in some(made) if cell.memory != "8G"], # which they are compared with
               {"pairs": ["edge_bytes"]}, ("pairs", "star"), {"star": diagonal(made)})


def keys(corpora, made):
    return Leg("keys", corpora.made("keys.jsonl", (6000, "clusters")), ["--bands", "1000", "--rows", "1"], some(made),
               {"dedup": ["set_bytes", "key_bytes"]}, ("dedup",))


def tiny(corpora, made):
    cells = [Cell("256M", 2, batch, device) for device in made if device for batch in BATCHES[1:]]
    return Leg("tiny", corpora.tiny(), ["--format", "lines", "--shingle", "char:2", "--bands", "4", "--rows", "4"], cells,
               None, ("pairs", "sign"))


def small_real(corpora, made):
    return Leg("real", corpora.real(), ["--threshold", "0.6"], nine(made))


def small_sets(corpora, made):
    return sets_leg(corpora, [Cell("64M", 2, 1000, made[0])], ("pairs",))


def full(corpora, made):
    cells = product(made[:1], LARGE) + [cell for cell in nine(made, LARGE) if cell.device.spec != "cpu"]
    both = {"dedup": ["set_bytes"], "pairs": ["set_bytes", "edge_bytes"], "star": ["set_bytes"]}
    return Leg("full", corpora.made("full.jsonl", (150000, "clusters"), (2500, "one-word")), ["--threshold", "0.7"], cells, both)


def whole_real(corpora, made):
    return real_leg(corpora, made, product([device for device in made if device], MEMORIES))


LEGS = {
    "small": {"real": small_real, "sets": small_sets},
    "normal": {"real": real, "sets": sets, "edges": edges, "keys": keys, "tiny": tiny},
    "full": {"full": full, "real": whole_real},
}


# --- runs ---

class Runner:
    def __init__(self, bandmill, folder):
        self.bandmill, self.folder = bandmill, folder
        self.lock, self.n = threading.Lock(), 0

    def outputs(self, leg, command, cell, look=None):
        """The digests of one run and its report's "run"; its folder is removed, when `look` has seen it."""
        with self.lock:
            self.n += 1
            target = os.path.join(self.folder, f"out-{self.n}")
        arguments, env = cell.arguments()
        self.bandmill.run(*COMMANDS[command][0], *leg.options, *arguments, "-q", "-o", target, leg.path, env=env)
        found = digests(target)
        run = json.loads(harness.read_file(target, "manifest.json" if command == "sign" else "report.json"))["run"]
        if look:
            look(target)
        shutil.rmtree(target)
        return found, run

    def wrong(self, leg, command, cell, wanted):
        """What is wrong with one cell, or nothing."""
        found, run = self.outputs(leg, command, cell)
        files = differing(found, wanted)
        if files:
            return f"differ from one thread, 8G, native CPU: {files}"
        if cell.device.reported and run["device"] != cell.device.reported:
            return f"ran on {run['device']}, not on {cell.device.reported}"
        if run["threads"] != cell.threads:
            return f"{run['threads']} threads"
        used = run.get("temporary_files", {})
        for member in leg.spills.get(command, ()):
            if (used[member] > 0) != (cell.memory in (MEMORIES[0], LARGE[0])):
                return f"{member} is {used[member]}: {used}"
        return None


def holds_duplicates(claims, leg, target):
    """What `dedup --pairs` wrote: a comparison of empty files would show nothing."""
    rows = {name: harness.read_file(target, name).count(b"\n") - 1 for name in ("pairs.tsv", "removed.tsv")}
    claims.check(f"{leg.name}: {rows['removed.tsv']} removed, {rows['pairs.tsv']} pairs", min(rows.values()) >= 10)


def check_leg(claims, runner, leg, base, workers):
    look = lambda target: holds_duplicates(claims, leg, target)
    if "pairs" not in leg.commands:
        runner.outputs(leg, "pairs", base, look)
    for command in leg.commands:
        try:
            wanted, _ = runner.outputs(leg, command, base, look if command == "pairs" else None)
        except harness.ProgramFailed as error:
            claims.check(f"{leg.name}: {command}, {base}", False, error)
            continue
        missing = COMMANDS[command][1] - set(wanted)
        kept = command == "sign" or any(name.startswith("kept") for name in wanted)
        claims.check(f"{leg.name}: {command} writes what it should", kept and not missing, sorted(missing))
        cells = leg.cells_of(command)
        jobs = [workers.submit(runner.wrong, leg, command, cell, wanted) for cell in cells]
        for cell, job in zip(cells, jobs):
            claims.attempt(f"{leg.name}: {command}, {cell}", job.result)


def chosen(size, choice, corpora, made):
    """The legs of a size; of `--leg NAME[:COMMAND]` the one, if this size has it."""
    name, _, command = (choice or "").partition(":")
    if choice and name not in LEGS[size]:
        harness.skip(f"size {size} has no leg {name}", "BANDMILL_REQUIRE_LEGS")
    for make in [LEGS[size][name]] if choice else LEGS[size].values():
        leg = make(corpora, made)
        leg.commands = tuple(one for one in leg.commands if not command or one == command)
        if not leg.commands:
            harness.skip(f"size {size} has no {choice}", "BANDMILL_REQUIRE_LEGS")
        yield leg


def main():
    args = harness.arguments("the same bytes for every memory, threads, batch and device", ("--planted", {"required": True}),
                             ("--leg", {}))
    claims, bandmill, env = harness.Claims(), harness.Program(args.program, args.server), opencl_environment()
    size = "full" if os.environ.get("IDENTITY_FULL") == "1" else args.size
    n_workers = 1 if args.leg or size == "full" else 2
    with harness.scratch() as folder, concurrent.futures.ThreadPoolExecutor(n_workers) as workers:
        made = find_devices(claims, bandmill, env, folder)
        runner = Runner(bandmill, folder)
        for leg in chosen(size, args.leg, Corpora(folder, os.path.abspath(args.planted)), made):
            began, n = time.monotonic(), runner.n
            check_leg(claims, runner, leg, Cell("8G", 1, None, made[0]), workers)
            print(f"{leg.name}: {runner.n - n} runs, {time.monotonic() - began:.0f} s", flush=True)
    bandmill.close()
    claims.end()


if __name__ == "__main__":
    main()
