# SPDX-License-Identifier: Apache-2.0
"""band_keys.py -- band keys that a script makes itself, for `bandmill pairs --format keys`, and the rows that come back."""
import sys

import program

NO_BUCKET = 2 ** 64 - 1  # the key of what is in no bucket of a band


def write(path, keys, bands):
    """An .npy of <u8 (rows, bands) from an array("Q") of rows * bands keys. The array is in no order to be used again after."""
    if sys.byteorder == "big":
        keys.byteswap()
    head = f"{{'descr': '<u8', 'fortran_order': False, 'shape': ({len(keys) // bands}, {bands}), }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        keys.tofile(file)


def pairs(bandmill, path):
    """The pairs of rows, from 0, that share a key of a band."""
    found = path + ".tsv"
    program.output(bandmill, "pairs", "--format", "keys", "--verify", "none", "-q", "--force", "-o", found, path)
    with open(found, "rb") as file:
        return [tuple(map(int, row.split(b"\t")[:2])) for row in file.read().splitlines()[1:]]
