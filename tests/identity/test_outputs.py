# SPDX-License-Identifier: Apache-2.0
"""The same bytes out for every instruction set, device, number of threads and batch size, on real text.

Compared, byte for byte, with the run of this processor's fastest code on one thread, which the scalar code too must equal: every
file that `sign --band-keys` and `dedup --pairs` write (signatures.npy band_keys.npy n_shingles.npy ids.txt sources.tsv
pairs.tsv groups.jsonl removed.tsv and all that is kept), and manifest.json and report.json but for their "run".

A job is a corpus, a shingle, K and what goes with them; a path is an instruction set or device with a number of threads and
a batch size. Threads (1, 2, 5) and batches (1, 7, 1000 documents and none given) take turns over the paths, so that each meets
each device. Sizes:

  small   2 jobs, on every path
  normal  all shingles x K in {1, 16, 100, 128, 256}, each on one of the corpora, which take turns; the largest are cut. Each job
          on every other path, so that a path meets each shingle and each K
  full    the same on every corpus, whole, and on every path

`sign` and `dedup` take turns over the jobs, in `full` over the corpora of each too.

Batches of one document only on corpora of at most 1,200: each is a launch. `--perms K…` runs the jobs of these K, as many as
a test of ctest. OpenCL devices are those that `bandmill devices --json` calls usable, by .venv/vendors where it is there and
OCL_ICD_VENDORS is not set. Every seventh job sees all implementations at once, the others the one that they are to use.
BANDMILL_REQUIRE_OPENCL=2 makes fewer than two implementations (platforms) a failure. Python's standard library only."""
import json
import os
import platform
import shutil
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import harness
from outputs import REPORTS, alone, devices, differing, digests, opencl_environment

PERMS = (1, 16, 100, 128, 256)
SHINGLES = (["--shingle", "word:5"], ["--shingle", "word:3", "--words", "space", "--normalize", "none"],
            ["--shingle", "char:7", "--normalize", "nfkc,lower"], ["--shingle", "char:3", "--short", "skip"],
            ["--shingle", "byte:8", "--normalize", "none"], ["--shingle", "byte:24", "--normalize", "lower,strip-accents"])
THREADS = (1, 2, 5)
BATCHES = (7, 1000, None, 1)
SMALL_DOCS = 1200


# --- corpora ---

class Corpus:
    def __init__(self, name, n_docs, arguments):
        self.name, self.n_docs, self.arguments = name, n_docs, arguments


def cut(folder, name, data, limit):
    """The first `limit` lines (all for None) as a file; (path, lines)."""
    lines = data.split(b"\n")[:-1]
    lines = lines if limit is None else lines[:limit]
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(b"\n".join(lines) + b"\n")
    return path, len(lines)


def corpora(folder, full):
    """Unpack what is there. Each is read through a reader of its own kind: jsonl, tsv, zst, lines, files, directories."""
    made, limit = [], None if full else 2000  # two batches of 1,000
    path = harness.corpus_file("spdx_texts", "docs.tsv.zst")
    if path:
        made.append(Corpus("spdx_texts", 819, ["--id-field", "1", "--text-field", "3", path]))
    path = harness.corpus_file("scancode_rules", "docs.jsonl.zst")
    if path:
        plain, n = cut(folder, "scancode_rules.jsonl", harness.unzstd(path), limit)
        made.append(Corpus("scancode_rules", n, [plain]))
    path = harness.corpus_file("udhr2", "udhr2.zip")
    if path:
        harness.unzip(path, folder)
        made.append(Corpus("udhr2", 388, ["--format", "files", os.path.join(folder, "udhr2")]))
    path = harness.corpus_file("minhash_articles", "articles_1000.train")
    if path:
        made.append(Corpus("minhash_articles", 1000, ["--format", "lines", path]))
    for name in ("oeb_us_uk", "er_cddb"):
        path = harness.corpus_file(name, "docs.tsv.zst")
        if path:
            plain, n = cut(folder, name + ".tsv", harness.unzstd(path), limit)
            made.append(Corpus(name, n, ["--id-field", "1", "--text-field", "3", plain]))
    path = harness.corpus_file("textreuse", "ats.tar.zst")
    if path:
        with open(os.path.join(folder, "ats.tar"), "wb") as file:
            file.write(harness.unzstd(path))
        with tarfile.open(os.path.join(folder, "ats.tar")) as archive:
            for member in archive.getmembers():
                if member.isfile() and member.name.endswith(".txt"):
                    target = os.path.join(folder, "textreuse", os.path.basename(member.name))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with archive.extractfile(member) as source, open(target, "wb") as file:
                        shutil.copyfileobj(source, file)
        for name in ("ca1851-match.txt", "ca1851-nomatch.txt", "ny1850-match.txt"):
            shutil.copy(harness.corpus_file("textreuse", name), os.path.join(folder, "textreuse", name))
        made.append(Corpus("textreuse", 11, [os.path.join(folder, "textreuse")]))
    path = harness.corpus_file("febrl_dataset1", "docs.tsv")
    if path:
        made.append(Corpus("febrl_dataset1", 1000, ["--id-field", "1", "--text-field", "3", path]))
    return made


# --- paths ---

def instruction_sets():
    """Those of this processor beside scalar."""
    if platform.machine() in ("aarch64", "arm64"):
        return ["neon"]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        flags = []
    sets = ["avx2"] * ("avx2" in flags and "bmi2" in flags)
    return sets + ["avx512"] * all(f"avx512{part}" in flags for part in ("f", "bw", "dq", "vl"))


class Path:
    """One way to the same bytes: a name, a spec and environment, the device that the report must name (None: any), the form in
    which it must have had its documents, the commands that it is a way for, and the jobs that it meets: (one in so many, from).
    `only`: spec and environment in which no other implementation is loaded."""

    def __init__(self, name, spec, env, device=None, form=None, commands=("sign", "dedup"), jobs=(1, 0), only=None):
        self.name, self.device, self.form, self.commands, self.jobs = name, device, form, commands, jobs
        only_spec, only_env = only or (spec, env)
        self.in_company, self.alone = (spec, env), (only_spec, {**env, **only_env})

    def way(self, number):
        """Arguments and environment of a job by its number."""
        spec, env = self.alone if number % 7 else self.in_company
        return ["--device", spec], env


def paths(claims, bandmill, folder):
    env = opencl_environment()
    native = [Path(f"cpu {isa}", "cpu", {"BANDMILL_CPU": isa}) for isa in [*reversed(instruction_sets()), "scalar"]]
    found = devices(bandmill, env)
    wanted = int(os.environ.get("BANDMILL_REQUIRE_OPENCL") or 0)
    n = len({platform_name for _, platform_name, _ in found})
    if wanted or n:
        claims.check(f"{n} OpenCL implementations, {wanted} required", n >= wanted)
    only = alone(bandmill, env, folder)
    hashes = [Path(f"{spec} ({platform_name})", spec, {**env, "BANDMILL_CL_TEXT": "off"}, device,
                   only=only.get((platform_name, device))) for spec, platform_name, device in found]
    # A program is built for each shingle and K, so texts meet a quarter of the jobs on each device; every other time in the
    # shape for GPUs.
    texts = [Path(f"{spec} ({platform_name}) given texts, shape {shape}", spec,
                  {**env, "BANDMILL_CL_TEXT": "on", "BANDMILL_CL_SHAPE": shape}, device, "text", ("sign",), (8, (i % 2) * 3 + 4 * half),
                  only.get((platform_name, device)))
             for i, (spec, platform_name, device) in enumerate(found) for half, shape in enumerate(("cpu", "gpu"))]
    return native + hashes + texts


# --- runs ---

def expected_files(command):
    if command == "sign":
        return {"signatures.npy", "band_keys.npy", "n_shingles.npy", "n_bytes.npy", "content_hash.npy", "text_hash.npy", "ids.txt",
                "sources.tsv", "manifest.json"}
    return {"pairs.tsv", "groups.jsonl", "removed.tsv", "sources.tsv", "report.json"}


def band_arguments(perms):
    """A plan that every K allows, and that yields pairs on each corpus."""
    rows = 1 if perms < 16 else 4
    return ["--bands", min(perms // rows, 32), "--rows", rows, "--threshold", "0.6"]


class Runner:
    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0

    def outputs(self, command, job, number, path, more):
        """The digests of one run, which must have been on the path's device; its folder is removed."""
        corpus, shingle, perms = job
        device, env = path.way(number)
        self.n += 1
        target = os.path.join(self.folder, f"out-{self.n}")
        self.bandmill.run(command, *shingle, "--perms", perms, *band_arguments(perms),
                          "--band-keys" if command == "sign" else "--pairs", *device, *more, "-q", "-o", target,
                          *corpus.arguments, env=env)
        found = digests(target)
        run = json.loads(harness.read_file(target, REPORTS[command == "dedup"]))["run"]
        if path.device and run["device"] != path.device:
            raise ValueError(f"ran on {run['device']}, not on {path.device}")
        if path.form and run["device_input"]["form"] != path.form:
            raise ValueError(f"the device was given {run['device_input']['form']}, not {path.form}")
        shutil.rmtree(target)
        return found


def make_jobs(made, size):
    every = [(shingle, perms) for perms in PERMS for shingle in SHINGLES]
    if size == "full":
        return [(corpus, shingle, perms) for shingle, perms in every for corpus in made]
    if size == "small":
        every = [every[3 * len(SHINGLES)], every[7]]
    # A step more after each K, so that no shingle stays with one corpus.
    return [(made[(i + i // len(SHINGLES)) % len(made)], shingle, perms) for i, (shingle, perms) in enumerate(every)]


def wrong(got, wanted):
    files = differing(got, wanted)
    return files and f"differ from one thread: {files}"


def its_turn(size, number, i):
    """Whether a job, by its number, runs on path i: on texts always, which few jobs meet."""
    return size != "normal" or (number + number // len(SHINGLES) + i) % 2 == 0


def check_job(claims, runner, job, all_paths, number, size):
    """`number` of the job: threads and batch of a path take turns over the jobs."""
    corpus, shingle, perms = job
    name = f"{corpus.name} ({corpus.n_docs} documents), {' '.join(shingle)}, K={perms}"
    turn = 0 if number % 4 in (0, 3) else 1  # both commands with each shingle and with each K
    met = [(i, path, path.commands[turn % len(path.commands)]) for i, path in enumerate(all_paths)
           if number % path.jobs[0] == path.jobs[1] and (path.form or its_turn(size, number, i))]
    try:
        base = {command: runner.outputs(command, job, number, all_paths[0], ["--threads", 1])
                for command in dict.fromkeys(command for _, _, command in met)}
    except harness.ProgramFailed as error:
        claims.check(f"{name}: {all_paths[0].name}, one thread", False, error)
        return
    for command, files in base.items():
        missing = expected_files(command) - set(files)
        claims.check(f"{name}: {command} writes what it should", not missing and (command == "sign" or any(
            file.startswith("kept") for file in files)), f"missing {sorted(missing)}, has {sorted(files)}")
    for i, path, command in met:
        threads, batch = THREADS[(i + number) % len(THREADS)], BATCHES[(i + number // len(THREADS)) % len(BATCHES)]
        if batch == 1 and corpus.n_docs > SMALL_DOCS:
            batch = 7
        more = ["--threads", threads] + (["--batch-docs", batch] if batch else [])
        claims.attempt(f"{name}: {command} on {path.name}, {threads} threads, batches of {batch or 'any'}",
                       lambda: wrong(runner.outputs(command, job, number, path, more), base[command]))


def main():
    args = harness.arguments("the same bytes on every path", ("--perms", {"type": int, "choices": PERMS, "nargs": "+"}))
    harness.need_corpora()
    claims, bandmill, started = harness.Claims(), harness.Program(args.program, args.server), time.monotonic()
    with harness.scratch() as folder:
        all_paths = paths(claims, bandmill, folder)
        made = corpora(folder, args.size == "full")
        print("corpora:", ", ".join(f"{corpus.name} {corpus.n_docs}" for corpus in made))
        jobs, runner = list(enumerate(make_jobs(made, args.size))), Runner(bandmill, folder)
        jobs = [(number, job) for number, job in jobs if not args.perms or job[2] in args.perms]
        for number, job in jobs:
            check_job(claims, runner, job, all_paths, number, args.size)
        print(f"{len(jobs)} jobs on {len(all_paths)} paths, {runner.n} runs, {time.monotonic() - started:.0f} s")
    bandmill.close()
    claims.end()


if __name__ == "__main__":
    main()
