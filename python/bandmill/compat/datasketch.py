# SPDX-License-Identifier: Apache-2.0
"""The interface of datasketch 2, under the same names: ``from bandmill.compat.datasketch import MinHash``.

Values, bytes, arguments and types of errors are those of datasketch, for the schemes affine32, affine64 and legacy. The library
computes ``MinHash.bulk``. Some classes of datasketch do not exist here. If a program imports one of these, the error names the
import from datasketch itself.
"""

import sys
from opcode import opmap
from typing import NoReturn

from bandmill.compat._forest import MinHashLSHEnsemble, MinHashLSHForest
from bandmill.compat._lean import LeanMinHash, bBitMinHash
from bandmill.compat._lsh import MinHashLSH, MinHashLSHDeletionSession, MinHashLSHInsertionSession
from bandmill.compat._minhash import MinHash
from bandmill.compat._schemes import sha1_hash32, sha1_hash64
from bandmill.compat._weighted import WeightedMinHash, WeightedMinHashGenerator

WeightedMinHashLSH = MinHashLSH
WeightedMinHashLSHForest = MinHashLSHForest

_ELSEWHERE = {
    "HNSW": "bandmill.Index answers queries exactly",
    "HyperLogLog": "MinHash.count estimates how many items a set has",
    "HyperLogLogPlusPlus": "MinHash.count estimates how many items a set has",
    "MinHashLSHBloom": "MinHashLSH tells which sketches are alike",
    "AsyncMinHashLSH": "MinHashLSH is in memory, so that nothing waits",
}


def __getattr__(name: str) -> NoReturn:
    if name in _ELSEWHERE:
        hint = f"bandmill has no {name} ({_ELSEWHERE[name]}): from datasketch import {name}"
        asked = sys._getframe(1)
        if asked.f_code.co_code[asked.f_lasti] == opmap["IMPORT_FROM"]:  # Python would not show the hint of an AttributeError
            raise ImportError(hint, name=name)
        raise AttributeError(hint)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHDeletionSession",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "MinHashLSHInsertionSession",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "bBitMinHash",
    "sha1_hash32",
    "sha1_hash64",
]
