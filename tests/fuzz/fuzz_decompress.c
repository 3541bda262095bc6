/* fuzz_decompress.c -- any bytes as each kind of compression: at most what was asked for comes
 * out, and small steps give the same bytes, and end, as large ones do, also before damage. At most
 * 1 MiB is unpacked: more than a block of most kinds. */
#include <string.h>

#include "fuzz_check.h"
#include "io/bytes/decompress.h"

#define OUT_MAX ((size_t)1 << 20)

/* sum * 31 + byte for each byte; of eight at once, since it takes nearly all of the time. */
static uint64_t sum_of(uint64_t sum, const unsigned char *at, size_t n)
{
    for (; n >= 8; n -= 8, at += 8)
        sum = sum * UINT64_C(852891037441) + at[0] * UINT64_C(27512614111) +
              at[1] * UINT64_C(887503681) + at[2] * UINT64_C(28629151) + at[3] * UINT64_C(923521) +
              at[4] * UINT64_C(29791) + at[5] * UINT64_C(961) + at[6] * UINT64_C(31) + at[7];
    for (; n > 0; n--)
        sum = sum * 31 + *at++;
    return sum;
}

static bm_status unpack(bm_compression kind, const uint8_t *data, size_t size, size_t step,
                        uint64_t *sum)
{
    static char out[4096];
    bm_decompress *d;
    bm_error err = {0};
    size_t total = 0;
    CHECK(bm_decompress_open(kind, &d, NULL) == BM_OK);
    bm_decompress_begin(d, "fuzz");
    bm_status status = BM_OK;
    *sum = 0;
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
            if (status == BM_OK)
                *sum = sum_of(*sum, (const unsigned char *)out, s.n_out);
            total += s.n_out;
        }
        CHECK(status != BM_OK || total >= OUT_MAX || s.used == n);
        at += n;
    }
    if (status == BM_OK && total < OUT_MAX)
        status = bm_decompress_end(d, &err);
    else if (total >= OUT_MAX)
        *sum = 0, status = BM_OK; /* stopped at a bound that depends on the steps */
    bm_decompress_close(d);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned kind = 1; kind < BM_COMPRESSIONS; kind++) {
        uint64_t one, many;
        bm_status a = unpack((bm_compression)kind, data, size, size + 1, &one);
        bm_status b = unpack((bm_compression)kind, data, size, 7, &many);
        CHECK(a == b);
        CHECK(one == many);
    }
    return 0;
}
