#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""from_ctypes.py LIBRARY -- the library from a language that has no compiler at hand.

Constants and structs are written down from the headers, as a generator of bindings would. Signs two documents of
hashes, and makes their band keys by the formula of schemes.h: the library has to give the same."""
import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

MASK = (1 << 64) - 1
NO_SHINGLE, NO_BAND_KEY = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF  # BM_NO_SHINGLE32, BM_NO_BAND_KEY


class Error(ctypes.Structure):  # bm_error
    _fields_ = [("status", c_int), ("code", c_int64), ("line", c_uint64), ("field", c_char * 64), ("file", c_char * 1024),
                ("message", c_char * 1024)]


class Plan(ctypes.Structure):  # bm_band_plan
    _fields_ = [("perms", c_uint32), ("bands", c_uint32), ("rows", c_uint32), ("threshold", c_double), ("recall", c_double),
                ("predicted_recall", c_double)]


def fmix(h, bits, first, second, shifts):
    for shift, factor in zip(shifts, (first, second, 1)):
        h = ((h ^ h >> shift) * factor) % (1 << bits)
    return h


def fmix32(h):
    return fmix(h, 32, 0x85EBCA6B, 0xC2B2AE35, (16, 13, 16))


def fmix64(h):
    return fmix(h, 64, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, (33, 33, 33))


def band_key(values, band):
    k = band + 1
    for value in values:
        k = (k * 0x9E3779B97F4A7C15 + value) & MASK
    return fmix64(k)


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.bm_version_number.restype = c_uint32
    lib.bm_affine32_coefficients.argtypes = [c_uint32, c_uint32, POINTER(c_uint32), POINTER(c_uint32), POINTER(Error)]
    lib.bm_band_keys.argtypes = [POINTER(c_uint32), c_size_t, POINTER(Plan), POINTER(c_uint64), POINTER(Error)]
    lib.bm_signer_close.argtypes = [c_void_p]
    err, k, bands = Error(), 64, 16
    a, b = (c_uint32 * k)(), (c_uint32 * k)()
    if lib.bm_affine32_coefficients(1, k, a, b, byref(err)) != 0:
        sys.exit(err.message.decode())
    documents = [[7, 11, 1 << 31], []]
    values = (c_uint32 * (2 * k))()
    for i, hashes in enumerate(documents):  # affine32, by its formula
        for j in range(k):
            values[i * k + j] = min(((a[j] * fmix32(x) + b[j]) % (1 << 32) for x in hashes), default=NO_SHINGLE)
    plan, keys = Plan(perms=k, bands=bands, rows=k // bands), (c_uint64 * (2 * bands))()
    if lib.bm_band_keys(values, 2, byref(plan), keys, byref(err)) != 0:
        sys.exit(err.message.decode())
    rows = k // bands
    own = [band_key(values[band * rows:(band + 1) * rows], band) for band in range(bands)] + [NO_BAND_KEY] * bands
    if list(keys) != own:
        sys.exit("the keys differ from those of the library")
    if lib.bm_band_keys(values, 2, byref(Plan(perms=k, bands=bands, rows=k)), keys, byref(err)) != 2 or err.field != b"bands":
        sys.exit("a plan that does not fit was taken")
    print(f"bandmill {lib.bm_version_number()}: {len(own)} band keys are those of the formula")


main()
