# SPDX-License-Identifier: Apache-2.0
"""MinHash signatures and near-duplicate detection on CPUs and OpenCL devices; no GPU has run it yet.

    import bandmill

    r = bandmill.dedup(table, text="text", id="id", threshold=0.8)
    clean = r.take(table)

Words, defaults and values of the options are those of the program `bandmill`.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bandmill._dedup import Dedup, dedup
    from bandmill._devices import devices, self_test, version
    from bandmill._directories import explain, filter, load, report
    from bandmill._errors import Error
    from bandmill._index import Index
    from bandmill._jobs import Tuned, hash_shingles, pairs, tune
    from bandmill._overlap import Overlap, overlap
    from bandmill._signatures import Signatures, sign
    from bandmill._tools import cluster, export, query

    __version__: str
else:
    # Modules are loaded only when something in them is needed. The command needs none of them, and NumPy takes longer to load
    # than most jobs on a few documents take.
    _PLACES = {
        "_dedup": ("Dedup", "dedup"),
        "_devices": ("devices", "self_test", "version"),
        "_directories": ("explain", "filter", "load", "report"),
        "_errors": ("Error",),
        "_index": ("Index",),
        "_jobs": ("Tuned", "hash_shingles", "pairs", "tune"),
        "_overlap": ("Overlap", "overlap"),
        "_signatures": ("Signatures", "sign"),
        "_tools": ("cluster", "export", "query"),
    }

    def __getattr__(name):
        if name == "__version__":
            value = __getattr__("version")()["version"]
        else:
            place = next((place for place, names in _PLACES.items() if name in names), None)
            if place is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            value = getattr(importlib.import_module(f"{__name__}.{place}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "Dedup",
    "Error",
    "Index",
    "Overlap",
    "Signatures",
    "Tuned",
    "cluster",
    "dedup",
    "devices",
    "explain",
    "export",
    "filter",
    "hash_shingles",
    "load",
    "overlap",
    "pairs",
    "query",
    "report",
    "self_test",
    "sign",
    "tune",
    "version",
]
