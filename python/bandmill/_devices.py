# SPDX-License-Identifier: Apache-2.0
"""Lists and tests the devices that can sign on this machine."""

from __future__ import annotations

from typing import Any

from bandmill._apart import owned
from bandmill._call import Call
from bandmill._errors import text_of
from bandmill._native import ffi, lib
from bandmill._options import new

_TEXTS = ("spec", "name", "platform", "driver", "why", "pci", "uuid", "same_as", "same_by")
_KINDS = {
    lib.BM_DEVICE_NATIVE: "native",
    lib.BM_DEVICE_CL_CPU: "cpu",
    lib.BM_DEVICE_CL_GPU: "gpu",
    lib.BM_DEVICE_CL_OTHER: "other",
    lib.BM_DEVICE_CL_NONE: "none",
}


def version() -> dict[str, Any]:
    """Return the versions of the library, its kernels and its Unicode tables.

    >>> import bandmill
    >>> bandmill.version()["version"] == bandmill.__version__
    True
    """
    v = lib.bm_version()
    texts = {name: text_of(getattr(v, name)) for name in ("version", "compiler", "kernels", "unicode", "utf8proc_unicode")}
    return {**texts, "format": int(v.format)}


def devices() -> list[dict[str, Any]]:
    """List the devices, the native CPU first: spec (what ``device=`` takes), name, platform, driver, kind, usable …

    An OpenCL platform without devices is a row of kind "none", with the reason in ``why``. If two platforms list one GPU, only
    one of the two rows is used. The other row has the ``spec`` of the used row in ``same_as``, and in ``same_by`` what shows
    that it is the same GPU ("pci", "uuid", "name").

    >>> import bandmill
    >>> bandmill.devices()[0]["spec"]
    'cpu'
    """
    call = Call()
    o = new("device_list")
    call.callbacks(o.callbacks)
    out = owned("device_list")
    call.run(lib.bm_device_list_open_with, o, out)
    found = [lib.bm_device_list_at(out[0], i) for i in range(lib.bm_device_list_count(out[0]))]
    return [
        {
            **{name: text_of(getattr(d, name)) for name in _TEXTS},
            "kind": _KINDS[d.kind],
            "compute_units": int(d.compute_units),
            "memory_bytes": int(d.memory_bytes),
            "usable": bool(d.usable),
            "unified": bool(d.unified_bytes),
        }
        for d in found
    ]


def self_test(device: str = "cpu") -> int:
    """Compare the results of one device with known answers. Returns the number of answers that were compared. Raises Error with
    status "selftest" or "device".

    >>> import bandmill
    >>> bandmill.self_test("cpu") > 0
    True
    """
    call = Call()
    o = new("self_test")
    o.device.device = call.text(device)
    call.callbacks(o.callbacks)
    n = ffi.new("uint32_t *")
    call.run(lib.bm_device_self_test, o, n)
    return int(n[0])
