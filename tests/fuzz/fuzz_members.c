/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_members.c -- arbitrary bytes as whole members in memory, compared with the stream decoders:
 * deflate data unpack as zlib unpacks them; a member that is cut off a gzip or Zstandard file and
 * unpacked at once gives the stream's bytes, and is refused if the stream is. At most 384 KiB a
 * member: three blocks of Zstandard. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fuzz_check.h"
#include "input/decompress.h"
#include "input/inflate.h"
#include "input/members.h"

#define OUT_MAX ((size_t)384 << 10)

static char streamed[OUT_MAX + 1];

/* Runs zlib: is the data whole? Then sets *used and *given; the output is at `streamed`. */
static bool zlib_run(bm_str in, size_t *used, size_t *given)
{
    z_stream z = {.next_in = (z_const Bytef *)in.data,
                  .avail_in = (uInt)in.len,
                  .next_out = (Bytef *)streamed,
                  .avail_out = OUT_MAX};
    CHECK(inflateInit2(&z, -15) == Z_OK);
    const bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
    *used = z.total_in;
    *given = z.total_out;
    inflateEnd(&z);
    return whole;
}

static void check_inflate(bm_str in)
{
    bm_inflate *inflate;
    size_t used, given, same_used = 0, same_given = 0;
    const bool whole = zlib_run(in, &used, &given);
    const size_t cap = whole ? given : OUT_MAX;
    char *out = malloc(cap + 1); /* one byte more, to detect an overrun */
    CHECK(out != NULL && bm_inflate_open(&inflate, NULL) == BM_OK);
    CHECK(bm_inflate_run(inflate, in, out, cap, &same_used, &same_given) == whole);
    CHECK(!whole || (used == same_used && fuzz_same(streamed, given, out, same_given)));
    CHECK(!whole || given == 0 ||
          !bm_inflate_run(inflate, in, out, given - 1, &same_used, &same_given));
    bm_inflate_close(inflate);
    free(out);
}

/* Is it a whole file of the kind, with at most OUT_MAX bytes? Then sets *n; they are at `streamed`.
 */
static bool stream_run(bm_compression kind, bm_str in, size_t *n)
{
    bm_decompress *d;
    CHECK(bm_decompress_open(kind, &d, NULL) == BM_OK);
    bm_decompress_begin(d, "fuzz");
    bm_decompress_step step = {
        .in = in, .end = true, .out = streamed, .out_cap = OUT_MAX + 1, .n_out = 1};
    bm_status status = BM_OK;
    for (*n = 0; status == BM_OK && step.n_out > 0 && *n <= OUT_MAX; *n += step.n_out) {
        step.out = streamed + *n;
        step.out_cap = OUT_MAX + 1 - *n;
        status = bm_decompress_run(d, &step, NULL);
    }
    const bool whole = status == BM_OK && *n <= OUT_MAX && bm_decompress_end(d, NULL) == BM_OK;
    bm_decompress_close(d);
    return whole;
}

/* One decoder unpacks all members of the file; each is compared with a new decoder's result. */
static void check_members(bm_compression kind, bm_str in)
{
    bm_members *members;
    bm_members_cut cut = {0};
    size_t n = 0;
    CHECK(bm_members_open(kind, &members, NULL) == BM_OK);
    while (bm_members_cut_off(kind, in, true, OUT_MAX, &cut) == BM_MEMBERS_CUT) {
        char *out = malloc(cut.plain + 1);
        CHECK(out != NULL && cut.stored > 0 && cut.stored <= in.len && cut.plain <= OUT_MAX);
        const bm_str one = {in.data, cut.stored};
        const bool whole = stream_run(kind, one, &n),
                   same = bm_members_run(members, one, out, cut.plain);
        CHECK(!same || (whole && fuzz_same(streamed, n, out, cut.plain)));
        /* members of gzip are cut where they seem to end */
        CHECK(same || !whole || n != cut.plain || kind == BM_COMPRESSION_GZ);
        free(out);
        in.data += cut.stored;
        in.len -= cut.stored;
        cut = (bm_members_cut){0};
    }
    bm_members_close(members);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bm_str in = {(const char *)data, size};
    check_inflate(in);
    check_members(BM_COMPRESSION_GZ, in);
    check_members(BM_COMPRESSION_ZST, in);
    return 0;
}
