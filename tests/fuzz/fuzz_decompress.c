/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_decompress.c -- arbitrary bytes as each kind of compression: never more output than was
 * asked for; small steps give the same bytes and the same end as large ones, also before damage. At
 * most 1 MiB is unpacked: more than a block of most kinds. */
#include <string.h>

#include "fuzz_check.h"
#include "input/decompress.h"

#define OUT_MAX ((size_t)1 << 20)

/* The unpacked bytes; empty if unpacking stopped at a limit that depends on the steps. */
typedef struct unpacked {
    char bytes[OUT_MAX + 4096];
    size_t n;
} unpacked;

static bm_status unpack(bm_compression kind, const uint8_t *data, size_t size, size_t step,
                        unpacked *all)
{
    static char out[4096]; /* a separate buffer, so that overruns are detected */
    bm_decompress *d;
    bm_error err = {0};
    size_t total = 0;
    all->n = 0;
    CHECK(bm_decompress_open(kind, &d, NULL) == BM_OK);
    bm_decompress_begin(d, "fuzz");
    bm_status status = BM_OK;
    bool end = false;
    for (size_t at = 0; !end && status == BM_OK && total < OUT_MAX;) {
        size_t n = size - at < step ? size - at : step;
        end = n == 0;
        bm_decompress_step s = {.in = {(const char *)data + at, n},
                                .end = end,
                                .out = out,
                                .out_cap = sizeof out,
                                .n_out = 1};
        while (status == BM_OK && s.n_out > 0 && total < OUT_MAX) {
            status = bm_decompress_run(d, &s, &err);
            CHECK(s.used <= n && s.n_out <= sizeof out);
            if (status == BM_OK) {
                memcpy(all->bytes + all->n, out, s.n_out);
                all->n += s.n_out;
            }
            total += s.n_out;
        }
        CHECK(status != BM_OK || total >= OUT_MAX || s.used == n);
        at += n;
    }
    if (status == BM_OK && total < OUT_MAX)
        status = bm_decompress_end(d, &err);
    else if (total >= OUT_MAX)
        all->n = 0, status = BM_OK;
    bm_decompress_close(d);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned kind = 1; kind < BM_COMPRESSIONS; kind++) {
        static unpacked one, many;
        bm_status a = unpack((bm_compression)kind, data, size, size + 1, &one);
        bm_status b = unpack((bm_compression)kind, data, size, 7, &many);
        CHECK(a == b);
        CHECK(fuzz_same(one.bytes, one.n, many.bytes, many.n));
    }
    return 0;
}
