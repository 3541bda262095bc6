/* SPDX-License-Identifier: Apache-2.0 */
/* compression_memory.c -- each allocation of the compression libraries, in both directions, fails
 * once in turn: the result is BM_ERR_NOMEM, never a report of broken data or of an internal error.
 *
 * The linker cannot wrap malloc inside shared libraries. So this program defines a malloc of its
 * own, which they find first: the C library's, except for the call that must fail. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/compression_kinds.h"
#include "input/decompress.h"
#include "output/compress.h"
#include "tests/world/world_random.h"

static struct {
    bool armed, failed;
    long left; /* allocations until the one that fails */
} memory;

static bool runs_out(void)
{
    if (!memory.armed || memory.left-- != 0)
        return false;
    memory.failed = true;
    errno = ENOMEM;
    return true;
}

#define FOUND_FIRST __attribute__((visibility("default")))

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t n);
FOUND_FIRST void *malloc(size_t n)
{
    return runs_out() ? NULL : __libc_malloc(n);
}

FOUND_FIRST void *calloc(size_t n, size_t size)
{
    return runs_out() ? NULL : __libc_calloc(n, size);
}

FOUND_FIRST void *realloc(void *block, size_t n)
{
    return runs_out() ? NULL : __libc_realloc(block, n);
}

enum { TEXT_BYTES = 300000, ROOM = 1 << 20 };
static char text[TEXT_BYTES], packed[ROOM], unpacked[ROOM];

static void make_text(void)
{
    world_fill(text, TEXT_BYTES, 3, "abcdefghijklmnopqrstuvw");
}

static bm_status pack(bm_compression kind, size_t *n, bm_error *err)
{
    bm_compressor *compressor = NULL;
    bm_compress_step step = {.in = {text, TEXT_BYTES}, .end = true, .out = packed, .cap = ROOM};
    bm_status status =
        bm_compressor_open(kind, (bm_pack_lanes){.threads = 1}, "out", &compressor, err);
    while (status == BM_OK && !step.done)
        status = bm_compressor_run(compressor, &step, err);
    bm_compressor_close(compressor);
    *n = step.len;
    return status;
}

static bm_status unpack(bm_compression kind, size_t n, size_t *n_out, bm_error *err)
{
    bm_decompress *d = NULL;
    bm_decompress_step step = {.in = {packed, n}, .end = true, .out_cap = ROOM};
    bm_status status = bm_decompress_open(kind, &d, err);
    *n_out = 0;
    if (status == BM_OK)
        bm_decompress_begin(d, "in");
    for (bool more = true; status == BM_OK && more;) {
        step.out = unpacked + *n_out;
        step.out_cap = ROOM - *n_out;
        status = bm_decompress_run(d, &step, err);
        more = step.n_out > 0;
        *n_out += step.n_out;
    }
    if (status == BM_OK)
        status = bm_decompress_end(d, err);
    bm_decompress_close(d);
    return status;
}

/* For each kind of compression, each allocation fails in turn until a run has no failure. */
static void fail_each(bool packs)
{
    make_text();
    for (unsigned kind = BM_COMPRESSION_GZ; kind < BM_COMPRESSIONS; kind++) {
        const char *name = bm_compression_name((bm_compression)kind);
        size_t n = 0, n_out = 0;
        cr_assert_eq(pack((bm_compression)kind, &n, NULL), BM_OK, "%s", name);
        long at = 0;
        for (memory.failed = true; memory.failed; at++) {
            bm_error err = {0};
            memory.failed = false;
            memory.left = at;
            memory.armed = true;
            bm_status status = packs ? pack((bm_compression)kind, &n, &err)
                                     : unpack((bm_compression)kind, n, &n_out, &err);
            memory.armed = false;
            if (status != BM_OK)
                cr_assert_eq(status, BM_ERR_NOMEM, "%s, allocation %ld: %d %s", name, at,
                             (int)status, err.message);
            cr_assert(status == BM_OK || (memory.failed && err.message[0] != '\0'), "%s", name);
            cr_assert(packs || status != BM_OK ||
                          (n_out == TEXT_BYTES && memcmp(unpacked, text, n_out) == 0),
                      "%s, allocation %ld", name, at);
        }
        cr_expect_gt(at, packs ? 3 : 2, "%s: %ld allocations were made to fail", name, at);
    }
}

Test(compression_memory, a_compressor_without_memory_is_out_of_memory)
{
    fail_each(true);
}

Test(compression_memory, a_decompressor_without_memory_is_out_of_memory)
{
    fail_each(false);
}
