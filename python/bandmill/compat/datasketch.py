"""`MinHash`, `LeanMinHash` and `MinHashLSH` as datasketch 2 has them: ``from bandmill.compat.datasketch import MinHash``.

The same values, bytes, arguments and kinds of errors, for the schemes affine32, affine64 and legacy; the library does
``MinHash.bulk``.
"""

from bandmill.compat._lean import LeanMinHash
from bandmill.compat._lsh import MinHashLSH, MinHashLSHDeletionSession, MinHashLSHInsertionSession
from bandmill.compat._minhash import MinHash
from bandmill.compat._schemes import sha1_hash32, sha1_hash64

__all__ = [
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHDeletionSession",
    "MinHashLSHInsertionSession",
    "sha1_hash32",
    "sha1_hash64",
]
