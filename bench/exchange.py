# SPDX-License-Identifier: Apache-2.0
"""exchange.py BANDMILL OUT.json -- `export` and `import` of each form beside `cp` of the same signatures, whole process; see exchange.sh.

200,000 signatures of 128 words of 4 bytes (102 MB), random; each contender takes its turn in every round."""

import json
import os
import sys
import tempfile

import measure

ROUNDS, DOCUMENTS, PERMS = 5, 200_000, 128
MEGABYTES = DOCUMENTS * PERMS * 4 / 1e6
TOLD = ["--scheme", "affine32", "--seed", "1", "--hash", "xxh3"]
EXPORTS = ("leanminhash", "npy", "milvus", "nemo", "text-dedup", "lance", "arrow", "parquet", "tsv", "datatrove")
IMPORTS = ("leanminhash", "nemo", "npy", "arrow", "parquet")


def make_words(path):
    """A NumPy array of random words, without NumPy."""
    head = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({DOCUMENTS}, {PERMS}), }}"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head.ljust(117).encode() + b"\n")
        for _ in range(DOCUMENTS // 1000):
            file.write(os.urandom(1000 * PERMS * 4))


def main():
    bandmill, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        words, signed, copy, made = (os.path.join(folder, name) for name in ("words.npy", "signed", "copy.npy", "made"))
        make_words(words)
        measure.run_once([bandmill, "import", words, "--from", "npy", "-q", "-o", signed, *TOLD])
        contenders = {"cp": (["cp", words, copy], None)}
        for form in EXPORTS:
            contenders[f"export {form}"] = ([bandmill, "export", signed, "--to", form, "-q", "-o", made], measure.remove(made))
        runs = measure.alternate(contenders, ROUNDS)
        contenders = {"cp (2)": (["cp", words, copy], None)}
        for form in IMPORTS:
            measure.run_once([bandmill, "export", signed, "--to", form, "-q", "-o", os.path.join(folder, form)])
            contenders[f"import {form}"] = ([bandmill, "import", os.path.join(folder, form), "--from", form, "-q", "-o", made], measure.remove(made))
        runs.update(measure.alternate(contenders, ROUNDS))
    result = {"question": "export and import, whole process, beside cp of the signatures", **measure.provenance(bandmill)}
    result["documents"], result["megabytes"] = DOCUMENTS, MEGABYTES
    result["seconds"] = {name: measure.summary(of) for name, of in runs.items()}
    measure.write(out, result)
    for name, of in result["seconds"].items():
        print(f"{name:24} {of['median']:8.3f} s {MEGABYTES / of['median']:9.0f} MB/s {DOCUMENTS / of['median']:12.0f} signatures/s")


if __name__ == "__main__":
    main()
