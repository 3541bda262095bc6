"""MinHash signatures and near-duplicate detection on any GPU and any CPU.

    import bandmill

    r = bandmill.dedup(table, text="text", id="id", threshold=0.8)
    clean = r.take(table)

Words, defaults and values of the options are those of the program `bandmill`.
"""

from bandmill._devices import devices, self_test, version
from bandmill._errors import Error
from bandmill._index import Index
from bandmill._jobs import Dedup, Signatures, dedup, hash_shingles, load, pairs, sign, tune

__version__ = version()["version"]
__all__ = [
    "Dedup",
    "Error",
    "Index",
    "Signatures",
    "dedup",
    "devices",
    "hash_shingles",
    "load",
    "pairs",
    "self_test",
    "sign",
    "tune",
    "version",
]
