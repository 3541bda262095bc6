/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h -- test bytes, and their digests by pieces of 64 bytes, from Python's hashlib and
 * xxhash. Header only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PIECE      64u
#define PIECES_MAX 200u

static inline void fill_pieces(char *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(unsigned char)((uint64_t)i * 2654435761u >> 13);
}

/* Digests by pieces: h(p) of each piece, joined and hashed again if there is more than one. */
static const struct by_pieces {
    size_t len;
    const char *sha256, *xxh3;
} by_pieces[] = {
    {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
     "99aa06d3014798d86001c324468d497f"},
    {1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
     "a6cd5e9392000f6ac44bdff4074eecdb"},
    {63, "d54ef68e60852bbbef6cc25985de164140cb7bd52e739508a2321cc7b18aba3c",
     "7799ae11f05a258afb05e0b272e66ddf"},
    {64, "fc134a3ea0e6c07d4df416a6751701becfd8675a944dd57ed6a5bfbed3b38a3e",
     "492893316886558766fa129223be93a5"},
    {65, "b4bdfced09937a35349fa3351a2459fdeb1028075aa038066ecc4682310f8660",
     "0abf9b19255cb3b87bb2ac7aaf7e12bc"},
    {128, "d305f2095a4d4b1ff13583abe3b0a7bab39127c633819c12edf6e10619953cfa",
     "b24c4e4fabb178fd332e639d4218ba80"},
    {200, "7d1924debc4c076165435e0286c5bca5c41018d822b87e93acdb273fc93726a0",
     "2d989b63b78029eb7c5ea398d772b502"},
};

#define N_BY_PIECES (sizeof by_pieces / sizeof by_pieces[0])
