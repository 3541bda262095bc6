/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking ahead: the bytes, digests and errors of sources are those of the packed files, or those
 * that one thread gets, for any number of threads, any memory and any fault. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"
#include "input/input_ahead.h"
#include "input/input_digest.h"
#include "read_records.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

#define MIB       ((uint64_t)1 << 20)
#define MANY      (UINT64_C(1) << 40)
#define N_SOURCES 9u

/* Words that compress to about a third. */
static char *words(size_t n, uint64_t seed)
{
    char *text = malloc(n + 16);
    cr_assert_not_null(text);
    for (size_t len = 0; len < n;) {
        const uint32_t drawn = (uint32_t)world_random(&seed);
        for (unsigned bits = drawn >> 12 & 0xFFF; bits != 0; bits >>= 4)
            text[len++] = "etaoinshrdlucmfw"[bits & 15];
        text[len++] = (drawn >> 24 & 15) != 0 ? ' ' : '\n';
    }
    return text;
}

static size_t pack(bm_compression kind, const char *data, size_t n, char *out, size_t cap);

/* Packs the data in members of `size` bytes, as block compressors do. */
static size_t pack_members(bm_compression kind, size_t size, const char *data, size_t n, char *out,
                           size_t cap)
{
    size_t len = 0;
    for (size_t at = 0; at < n; at += size)
        len += pack(kind, data + at, n - at < size ? n - at : size, out + len, cap - len);
    return len;
}

static size_t pack(bm_compression kind, const char *data, size_t n, char *out, size_t cap)
{
    if (kind == BM_COMPRESSION_NONE) {
        memcpy(out, data, n);
        return n;
    }
    if (kind == BM_COMPRESSION_ZST)
        return ZSTD_compress(out, cap, data, n, 1);
    z_stream z = {.next_in = (Bytef *)data,
                  .avail_in = (uInt)n,
                  .next_out = (Bytef *)out,
                  .avail_out = (uInt)cap};
    cr_assert_eq(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return cap - z.avail_out;
}

/* A source: its size, its fault and its members. */
typedef enum fault { WHOLE, DAMAGED, CUT, TAR, GONE, SHRUNK, GROWN } fault;

typedef struct source {
    bm_compression kind;
    size_t n;
    fault fault;
    size_t members; /* bytes of each member; 0: a single member */
} source;

typedef struct sources {
    scratch dir;
    char *plain[N_SOURCES];
    const char *paths[N_SOURCES];
    size_t n[N_SOURCES];
    bm_input_set *set;
} sources;

static void make(sources *s, const source *of, size_t n, bm_on_error on_error)
{
    static const char *const endings[BM_COMPRESSIONS] = {
        [BM_COMPRESSION_NONE] = "txt", [BM_COMPRESSION_GZ] = "gz", [BM_COMPRESSION_ZST] = "zst"};
    *s = (sources){.dir = scratch_open()};
    for (size_t i = 0; i < n; i++) {
        const size_t cap = 2 * ZSTD_compressBound(of[i].n) + 4096;
        char *packed = malloc(cap), name[32];
        s->n[i] = of[i].n;
        s->plain[i] = words(of[i].n, i);
        if (of[i].fault == TAR)
            memcpy(s->plain[i] + 257, "ustar", 6);
        size_t len = of[i].members != 0 ? pack_members(of[i].kind, of[i].members, s->plain[i],
                                                       of[i].n, packed, cap)
                                        : pack(of[i].kind, s->plain[i], of[i].n, packed, cap);
        if (of[i].fault == DAMAGED)
            memset(packed + len / 2, 0xFF, 64);
        sprintf(name, "%zu.%s", i, endings[of[i].kind]);
        s->paths[i] = scratch_put(&s->dir, name, packed, of[i].fault == CUT ? len - 9 : len);
        free(packed);
    }
    bm_input_options o = test_options(s->paths, n, BM_FORMAT_LINES);
    o.on_error = on_error;
    bm_error err = {0};
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &s->set, &err), BM_OK, "%s", err.message);
    for (size_t i = 0; i < n; i++) { /* changes after the set was opened */
        if (of[i].fault == GONE)
            cr_assert_eq(unlink(s->paths[i]), 0);
        if (of[i].fault == SHRUNK || of[i].fault == GROWN)
            cr_assert_eq(truncate(s->paths[i],
                                  (off_t)(of[i].fault == GROWN ? of[i].n + 3000000 : of[i].n / 2)),
                         0);
    }
}

static void unmake(sources *s)
{
    bm_input_set_close(s->set);
    for (size_t i = 0; i < N_SOURCES; i++)
        free(s->plain[i]);
    scratch_close(&s->dir);
}

/* The result of reading a source. */
typedef struct outcome {
    bm_status status;
    char message[sizeof((bm_error *)NULL)->message];
    size_t n;
    uLong sum; /* of the bytes */
    bool broken;
    bm_hash128 digest;
} outcome;

/* Threads that unpack while they wait for the reader, as the workers of an ingest do. */
typedef struct helpers {
    bm_input_ahead *ahead;
    atomic_bool stop;
    size_t n;
    pthread_t threads[8];
} helpers;

#define NOT_HELPED SIZE_MAX /* no helpers: `ahead` starts threads of its own */

static void *help(void *ctx)
{
    helpers *h = ctx;
    while (!atomic_load(&h->stop))
        if (!bm_input_ahead_help(h->ahead))
            sched_yield();
    return NULL;
}

static void start_helpers(helpers *h, bm_input_ahead *ahead, size_t n)
{
    *h = (helpers){.ahead = ahead, .n = n == NOT_HELPED ? 0 : n};
    if (n != NOT_HELPED)
        bm_input_ahead_set_helped(ahead);
    for (size_t i = 0; i < h->n; i++)
        cr_assert_eq(pthread_create(&h->threads[i], NULL, help, h), 0);
}

static void end_helpers(helpers *h)
{
    atomic_store(&h->stop, true);
    for (size_t i = 0; i < h->n; i++)
        pthread_join(h->threads[i], NULL);
}

/* Reads all sources as a reader does that skips broken ones, or that ends at the first. */
static void read_all(sources *s, size_t n, size_t cap, bool skips, size_t n_helpers, outcome *out)
{
    helpers h;
    bm_error err = {0};
    char *block = malloc(cap);
    uint64_t stored = 0;
    bm_input_ahead *ahead = world_open(bm_input_ahead, s->set);
    start_helpers(&h, ahead, n_helpers);
    for (size_t i = 0; i < n; i++) {
        outcome *o = &out[i];
        size_t got = 1;
        *o = (outcome){.status = bm_input_ahead_begin(ahead, i, &err)};
        while (o->status == BM_OK && got > 0) {
            o->status = bm_input_ahead_read(ahead, block, cap, &got, &err);
            if (o->status != BM_OK)
                break;
            o->n += got;
            o->sum = crc32(o->sum, (const Bytef *)block, (uInt)got);
            cr_assert_geq(bm_input_ahead_stored(ahead), stored);
            stored = bm_input_ahead_stored(ahead);
        }
        if (o->status != BM_OK) {
            strcpy(o->message, err.message);
            o->broken = bm_input_ahead_is_broken(ahead);
            if (skips && o->broken)
                cr_assert_eq(bm_input_ahead_pass_over(ahead, &err), BM_OK);
        }
        o->digest = bm_input_set_source(s->set, i)->digest;
        if (!skips && o->status != BM_OK)
            break;
    }
    end_helpers(&h);
    bm_input_ahead_close(ahead);
    free(block);
}

static void forget_digests(sources *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bm_input_set_source(s->set, i)->digest = (bm_hash128){0};
        bm_input_set_source(s->set, i)->bytes_read = 0;
    }
}

/* With any threads, memory and sizes of reads, the outcomes are those of a single thread. */
static void assert_as_alone(const source *of, size_t n, bool skips)
{
    static const struct {
        uint32_t threads;
        uint64_t memory;
        size_t cap, helpers;
    } with[] = {{2, 8 * MIB, 300000, NOT_HELPED},
                {8, 40 * MIB, 5000000, NOT_HELPED},
                {2, 128 * MIB, 3001, NOT_HELPED},
                {8, MANY, 100000, NOT_HELPED},
                {8, 40 * MIB, 300000, 3},
                {2, 128 * MIB, 3001, 1},
                {9, MANY, 5000000, 2},
                {8, MANY, 100000, 7},
                {8, MANY, 70000, 0}};
    sources s;
    outcome alone[N_SOURCES] = {0}, got[N_SOURCES] = {0};
    make(&s, of, n, skips ? BM_ON_ERROR_SKIP : BM_ON_ERROR_FAIL);
    cr_assert_eq(bm_input_ahead_grant(s.set, 1, MANY), 0);
    read_all(&s, n, 65536, skips, NOT_HELPED, alone);
    for (size_t m = 0; m < sizeof with / sizeof *with; m++) {
        cr_assert_leq(bm_input_ahead_grant(s.set, with[m].threads, with[m].memory), with[m].memory);
        if (m % 2 == 0) /* else they are compared with those of the run before */
            forget_digests(&s, n);
        memset(got, 0, sizeof got);
        read_all(&s, n, with[m].cap, skips, with[m].helpers, got);
        for (size_t i = 0; i < n; i++) {
            cr_assert_eq(got[i].status, alone[i].status, "source %zu: %s", i, got[i].message);
            cr_assert_str_eq(got[i].message, alone[i].message);
            cr_assert_eq(got[i].n, alone[i].n, "source %zu: %zu for %zu", i, got[i].n, alone[i].n);
            cr_assert_eq(got[i].sum, alone[i].sum, "source %zu", i);
            cr_assert_eq(got[i].broken, alone[i].broken);
            cr_assert(memcmp(&got[i].digest, &alone[i].digest, sizeof(bm_hash128)) == 0,
                      "source %zu", i);
        }
    }
    unmake(&s);
}

#define GZ  BM_COMPRESSION_GZ
#define ZST BM_COMPRESSION_ZST
#define TXT BM_COMPRESSION_NONE

Test(input_ahead, bytes_and_digests_are_those_of_the_files_whatever_threads_and_memory)
{
    const source of[N_SOURCES] = {
        {GZ, 900000, WHOLE, 0},   {ZST, 1500000, WHOLE, 0}, {GZ, 0, WHOLE, 0},
        {TXT, 100000, WHOLE, 0},  {ZST, 1, WHOLE, 0},       {GZ, 1 << 20, WHOLE, 0},
        {ZST, 2 << 20, WHOLE, 0}, {TXT, 0, WHOLE, 0},       {GZ, 2200000, WHOLE, 0}};
    sources s;
    outcome got[N_SOURCES];
    bm_hash128 digest;
    make(&s, of, N_SOURCES, BM_ON_ERROR_FAIL);
    cr_assert_gt(bm_input_ahead_grant(s.set, 2, MANY), 0);
    read_all(&s, N_SOURCES, 100000, false, NOT_HELPED, got);
    for (size_t i = 0; i < N_SOURCES; i++) {
        cr_assert_eq(got[i].n, of[i].n);
        cr_assert_eq(got[i].sum, crc32(0, (const Bytef *)s.plain[i], (uInt)of[i].n));
        cr_assert_eq(bm_input_digest_file(&BM_DIGEST_OF_FILE(s.paths[i]), NULL, &digest, NULL),
                     BM_OK);
        cr_assert(memcmp(&digest, &got[i].digest, sizeof digest) == 0, "source %zu", i);
    }
    unmake(&s);
    assert_as_alone(of, N_SOURCES, false);
}

Test(input_ahead, members_of_one_file_are_unpacked_as_one_stream_would_be)
{
    const source one[] = {{GZ, 30000000, WHOLE, 4 << 20}};
    assert_as_alone(one, 1, false);
    const source of[] = {{GZ, 3000000, WHOLE, 70000},    {ZST, 9000000, WHOLE, 4 << 20},
                         {ZST, 500000, WHOLE, 7000},     {GZ, 9000000, WHOLE, 4 << 20},
                         {GZ, 11000000, WHOLE, 5 << 20}, {ZST, 11000000, WHOLE, 5 << 20}};
    assert_as_alone(of, 6, false);
}

Test(input_ahead, plain_files_are_read_ahead_as_one_thread_reads_them)
{
    static const fault faults[] = {WHOLE, GONE, SHRUNK, GROWN};
    for (size_t i = 0; i < 4; i++) {
        const source of[] = {{TXT, 30000001, WHOLE, 0},    {GZ, 900000, WHOLE, 0},
                             {TXT, 9000000, faults[i], 0}, {TXT, 4 << 20, WHOLE, 0},
                             {TXT, 10, WHOLE, 0},          {ZST, 2000000, WHOLE, 0}};
        assert_as_alone(of, 6, true);
        assert_as_alone(of + 2, 2, false);
    }
}

Test(input_ahead, damage_in_a_member_is_met_where_one_thread_meets_it)
{
    static const fault faults[] = {DAMAGED, CUT, TAR};
    for (size_t i = 0; i < 3; i++) {
        const source of[] = {{GZ, 900000, WHOLE, 100000},
                             {ZST, 3000000, faults[i], 600000},
                             {GZ, 3000000, faults[i], 200000},
                             {ZST, 900000, WHOLE, 400000}};
        assert_as_alone(of, 4, true);
        assert_as_alone(of, 4, false);
        assert_as_alone(of + 2, 2, false);
    }
}

Test(input_ahead, what_is_wrong_with_a_source_is_met_where_one_thread_meets_it)
{
    static const fault faults[] = {DAMAGED, CUT, TAR, GONE};
    for (size_t i = 0; i < 4; i++) {
        const source of[] = {{GZ, 500000, WHOLE, 0},
                             {ZST, 1000000, WHOLE, 0},
                             {GZ, 2300000, faults[i], 0},
                             {ZST, 1400000, faults[i], 0},
                             {GZ, 100000, WHOLE, 0}};
        assert_as_alone(of, 5, true);
        assert_as_alone(of + 1, 4, false);
        const source zst[] = {of[0], of[3], of[4]};
        assert_as_alone(zst, 3, false);
    }
}

Test(input_ahead, who_waits_for_the_reader_unpacks_other_files_whatever_their_compression)
{
    static const bm_compression kinds[] = {GZ, ZST};
    for (size_t k = 0; k < 2; k++) {
        const source of[] = {{kinds[k], 9000000, WHOLE, 0},
                             {kinds[k], 9000000, WHOLE, 0},
                             {kinds[k], 9000000, WHOLE, 0}};
        sources s;
        size_t n = 0;
        make(&s, of, 3, BM_ON_ERROR_FAIL);
        cr_assert_gt(bm_input_ahead_grant(s.set, 2, MANY), 0);
        bm_input_ahead *ahead = world_open(bm_input_ahead, s.set);
        bm_input_ahead_set_helped(ahead);
        cr_assert_eq(bm_input_ahead_begin(ahead, 0, NULL), BM_OK);
        while (bm_input_ahead_help(ahead))
            n++;
        cr_assert_gt(n, 2, "%zu blocks", n); /* more than the file being read has */
        bm_input_ahead_close(ahead);
        unmake(&s);
    }
}

Test(input_ahead, nothing_is_unpacked_ahead_by_one_thread_or_with_little_memory)
{
    const source of[] = {{GZ, 100000, WHOLE, 0}, {TXT, 100000, WHOLE, 0}, {ZST, 100000, WHOLE, 0}};
    sources s;
    make(&s, of, 3, BM_ON_ERROR_FAIL);
    cr_assert_eq(bm_input_ahead_grant(s.set, 1, MANY), 0);
    cr_assert_eq(bm_input_ahead_grant(s.set, 8, 5 * MIB), 0);
    cr_assert_gt(bm_input_ahead_grant(s.set, 8, 30 * MIB), 0);
    unmake(&s);
    make(&s, of, 2, BM_ON_ERROR_FAIL); /* one source may have many members */
    cr_assert_eq(bm_input_ahead_grant(s.set, 8, 20 * MIB), 0);
    cr_assert_gt(bm_input_ahead_grant(s.set, 8, MANY), 0);
    unmake(&s);
}

/* A later frame has a larger window than the first frames suggest: the reader's own decoder takes
 * it. */
Test(input_ahead, a_window_larger_than_was_foreseen_is_read_by_the_reader)
{
    sources s;
    outcome got[3];
    const source of[] = {
        {ZST, 100000, WHOLE, 0}, {ZST, 20 << 20, WHOLE, 0}, {ZST, 100000, WHOLE, 0}};
    make(&s, of, 3, BM_ON_ERROR_FAIL);
    const size_t cap = ZSTD_compressBound(of[1].n);
    char *packed = malloc(cap);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t n = ZSTD_compress(packed, cap, s.plain[1], 1000, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 24);
    n += ZSTD_compress2(c, packed + n, cap - n, s.plain[1] + 1000, of[1].n - 1000);
    ZSTD_freeCCtx(c);
    bm_input_set_close(s.set);
    s.paths[1] = scratch_put(&s.dir, "1.zst", packed, n);
    bm_input_options o = test_options(s.paths, 3, BM_FORMAT_LINES);
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &s.set, NULL), BM_OK);
    cr_assert_gt(bm_input_ahead_grant(s.set, 2, MANY), 0);
    for (size_t k = 0; k < 4; k++) {
        read_all(&s, 3, 1 << 20, false, k < 3 ? k : NOT_HELPED, got);
        for (size_t i = 0; i < 3; i++)
            cr_assert(got[i].status == BM_OK && got[i].n == of[i].n, "%s", got[i].message);
    }
    free(packed);
    unmake(&s);
}

Test(input_ahead, what_was_unpacked_is_dropped_for_a_long_record_and_the_bytes_go_on)
{
    const source of[] = {{GZ, 1500000, WHOLE, 0},
                         {ZST, 3000000, WHOLE, 0},
                         {TXT, 7200000, WHOLE, 0},
                         {ZST, 40000, WHOLE, 0}};
    for (size_t at = 1, k = 0; at < 11700000; at = at * 2 + 99991, k++) {
        sources s;
        helpers h;
        bm_error err = {0};
        size_t all = 0;
        char *block = malloc(100000);
        make(&s, of, 4, BM_ON_ERROR_FAIL);
        cr_assert_gt(bm_input_ahead_grant(s.set, 8, 64 * MIB), 0);
        bm_input_ahead *ahead = world_open(bm_input_ahead, s.set);
        start_helpers(&h, ahead, k % 2 == 0 ? 3 : NOT_HELPED);
        for (size_t i = 0; i < 4; i++) {
            size_t n = 0, got = 1;
            cr_assert_eq(bm_input_ahead_begin(ahead, i, &err), BM_OK, "%s", err.message);
            while (got > 0) {
                cr_assert_eq(bm_input_ahead_read(ahead, block, 100000, &got, &err), BM_OK, "%s",
                             err.message);
                cr_assert_eq(memcmp(block, s.plain[i] + n, got), 0);
                n += got;
                if (all < at && all + got >= at)
                    for (int twice = 0; twice < 2; twice++)
                        cr_assert_eq(bm_input_ahead_yield(ahead, MANY, &err), BM_OK);
                cr_assert_eq(bm_input_ahead_yield(ahead, 1000, &err), BM_OK);
                all += got;
            }
            cr_assert_eq(n, of[i].n);
        }
        end_helpers(&h);
        bm_input_ahead_close(ahead);
        free(block);
        unmake(&s);
    }
}

static bool is_asked(void *ctx)
{
    return ++*(unsigned *)ctx > 20;
}

Test(input_ahead, it_stops_when_it_is_told_and_when_it_is_closed_early)
{
    const source of[] = {
        {GZ, 5000000, WHOLE, 0}, {GZ, 9000000, WHOLE, 0}, {ZST, 9000000, WHOLE, 0}};
    sources s;
    unsigned asked = 0;
    make(&s, of, 3, BM_ON_ERROR_FAIL);
    bm_input_set_close(s.set);
    const bm_callbacks callbacks = {.cancelled = is_asked, .ctx = &asked};
    bm_input_options o = test_options(s.paths, 3, BM_FORMAT_LINES);
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, &callbacks, &s.set, NULL), BM_OK);
    cr_assert_gt(bm_input_ahead_grant(s.set, 4, MANY), 0);
    outcome got[3];
    for (size_t k = 0; k < 4; k++) {
        asked = 0;
        read_all(&s, 3, 300000, false, k < 3 ? k : NOT_HELPED, got);
        size_t i = 0;
        while (got[i].status == BM_OK)
            i++;
        cr_assert(i < 3 && got[i].status == BM_ERR_CANCELLED && !got[i].broken);
    }
    asked = 0;
    bm_input_ahead *ahead = world_open(bm_input_ahead, s.set);
    cr_assert_eq(bm_input_ahead_begin(ahead, 0, NULL), BM_OK);
    bm_input_ahead_close(ahead);
    unmake(&s);
}
