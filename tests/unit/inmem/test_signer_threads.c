/* SPDX-License-Identifier: Apache-2.0 */
/* The signer with any number of threads, batches and lengths, against a signer with scalar loops
 * and one text per call; and cancelled at any time. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

/* A text of `len` bytes, of which about one in a thousand is not UTF-8. */
static char *prose(size_t len)
{
    char *data = malloc(len + 1);
    for (size_t i = 0; i < len; i++) {
        uint64_t z = world_draw() % 7000;
        data[i] = z < 7 ? (char)0xC3 : z < 1200 ? ' ' : (char)('a' + z % 20);
    }
    return data;
}

typedef struct texts {
    size_t n;
    char *data;
    bm_str *texts;
} texts;

/* n texts of up to `most` bytes, a fifth of them empty; number `whole` has `whole_len` bytes. */
static texts make_texts(size_t n, size_t most, size_t whole, size_t whole_len)
{
    texts t = {.n = n, .data = prose(n * most + whole_len), .texts = calloc(n, sizeof *t.texts)};
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        size_t len = i == whole ? whole_len : world_draw() % 5 == 0 ? 0 : world_draw() % most;
        t.texts[i] = (bm_str){t.data + at, len};
        at += len;
    }
    return t;
}

static void drop(texts *t)
{
    free(t->data);
    free(t->texts);
}

enum { PERMS = 24, BANDS = 4, ROWS = 6 };

typedef struct rows {
    uint32_t *words, *counts;
    uint64_t *keys;
} rows;

static rows make_rows(size_t n)
{
    return (rows){calloc(n * PERMS + 1, 4), calloc(n + 1, 4), calloc(n * BANDS + 1, 8)};
}

static void drop_rows(rows *r)
{
    free(r->words);
    free(r->counts);
    free(r->keys);
}

static bm_signer_out out_of(const rows *r)
{
    return (bm_signer_out){.struct_size = sizeof(bm_signer_out),
                           .signatures = r->words,
                           .keys = r->keys,
                           .n_shingles = r->counts};
}

static void expect_rows(const rows *x, const rows *y, size_t n)
{
    cr_assert(memcmp(x->words, y->words, n * PERMS * 4) == 0);
    cr_assert(memcmp(x->counts, y->counts, n * 4) == 0);
    cr_assert(memcmp(x->keys, y->keys, n * BANDS * 8) == 0);
}

static bm_signer *open_with(bm_text_options text, const char *cpu, bm_resource_options resources)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.text = text;
    options.sketch.perms = PERMS;
    options.bands.bands = BANDS;
    options.bands.rows = ROWS;
    options.band_keys = true;
    options.device.cpu = cpu;
    options.resources = resources;
    return world_open(bm_signer, &options);
}

/* The expected rows: one text per call, one thread, scalar loops. */
static rows oracle(const texts *t, bm_text_options text)
{
    rows wanted = make_rows(t->n);
    bm_signer *signer = open_with(text, "scalar", (bm_resource_options){.threads = 1});
    for (size_t i = 0; i < t->n; i++) {
        bm_signer_out out = {.struct_size = sizeof out,
                             .signatures = wanted.words + i * PERMS,
                             .keys = wanted.keys + i * BANDS,
                             .n_shingles = wanted.counts + i};
        cr_assert_eq(bm_signer_sign_texts(signer, &t->texts[i], 1, &out, NULL), BM_OK);
    }
    bm_signer_close(signer);
    return wanted;
}

/* Signs with each number of threads and several batch sizes, in one call and in two. */
static void sign_all_ways(const texts *t, bm_text_options text, const uint32_t *batch_docs,
                          size_t n_sizes)
{
    rows wanted = oracle(t, text), got = make_rows(t->n);
    for (uint32_t threads = 1; threads <= 8; threads++) {
        for (size_t i = 0; i < n_sizes; i++) {
            bm_resource_options resources = {
                .threads = threads, .batch_docs = batch_docs[i], .memory = i % 2 * 100000};
            bm_signer *signer = open_with(text, NULL, resources);
            bm_signer_out out = out_of(&got);
            memset(got.words, 0xAB, t->n * PERMS * 4);
            memset(got.keys, 0xAB, t->n * BANDS * 8);
            cr_assert_eq(bm_signer_sign_texts(signer, t->texts, t->n, &out, NULL), BM_OK);
            expect_rows(&got, &wanted, t->n);
            const size_t first = t->n / 3;
            bm_signer_out rest = {.struct_size = sizeof rest,
                                  .signatures = got.words + first * PERMS,
                                  .keys = got.keys + first * BANDS,
                                  .n_shingles = got.counts + first};
            memset(got.words, 0xAB, t->n * PERMS * 4);
            cr_assert_eq(bm_signer_sign_texts(signer, t->texts + first, t->n - first, &rest, NULL),
                         BM_OK);
            cr_assert_eq(bm_signer_sign_texts(signer, t->texts, first, &out, NULL), BM_OK);
            expect_rows(&got, &wanted, t->n);
            bm_signer_close(signer);
        }
    }
    drop_rows(&wanted);
    drop_rows(&got);
}

static bm_text_options words_of(uint32_t k)
{
    return (bm_text_options){.normalize = BM_NORM_LOWER, .shingle_k = k};
}

Test(signer_threads, any_threads_and_batches_sign_texts_as_the_scalar_oracle_does)
{
    static const uint32_t batch_docs[] = {0, 1, 7, 1000};
    texts t = make_texts(3000, 900, 0, 0);
    sign_all_ways(&t, words_of(5), batch_docs, 4);
    drop(&t);
    t = make_texts(400, 3000, 0, 0);
    bm_text_options bytes = {.shingle = BM_SHINGLE_BYTE, .shingle_k = 8};
    sign_all_ways(&t, bytes, batch_docs, 2);
    drop(&t);
}

Test(signer_threads, a_text_of_ten_megabytes_among_others_is_signed_rightly)
{
    static const uint32_t batch_docs[] = {0};
    static const size_t places[] = {0, 57, 99};
    for (size_t i = 0; i < sized(3, 1); i++) {
        texts t = make_texts(100, 2000, places[i], 10 << 20);
        rows wanted = oracle(&t, words_of(3)), got = make_rows(t.n);
        for (uint32_t threads = 1; threads < 4; threads++) {
            bm_signer *signer =
                open_with(words_of(3), NULL,
                          (bm_resource_options){.threads = threads, .batch_docs = batch_docs[0]});
            bm_signer_out out = out_of(&got);
            memset(got.words, 0xAB, t.n * PERMS * 4);
            for (int again = 0; again < 2; again++)
                cr_assert_eq(bm_signer_sign_texts(signer, t.texts, t.n, &out, NULL), BM_OK);
            expect_rows(&got, &wanted, t.n);
            bm_signer_close(signer);
        }
        drop_rows(&wanted);
        drop_rows(&got);
        drop(&t);
    }
}

Test(signer_threads, many_tiny_and_many_empty_texts_are_signed_rightly)
{
    static const uint32_t batch_docs[] = {0, 313};
    texts t = make_texts(20000, 12, 0, 0);
    sign_all_ways(&t, words_of(1), batch_docs, 2);
    for (size_t i = 0; i < t.n; i++)
        t.texts[i] = (bm_str){NULL, 0};
    sign_all_ways(&t, words_of(1), batch_docs, 1);
    drop(&t);
}

/* n documents of 0 … 59 hashes; about every hundredth is longer than a task should be. */
static size_t make(size_t n, uint64_t *offsets, uint32_t **out)
{
    size_t total = 0;
    uint32_t *x = malloc((n * 60 + n / 100 * 5000 + 5000) * 4);
    for (size_t i = 0; i < n; i++) {
        offsets[i] = total;
        size_t size = world_draw() % 7 == 0 ? 0 : i % 100 == 99 ? 5000 : world_draw() % 60;
        for (size_t k = 0; k < size; k++, total++)
            x[total] = k > 0 && world_draw() % 4 == 0 ? x[total - 1] : (uint32_t)world_draw();
    }
    offsets[n] = total;
    *out = x;
    return total;
}

Test(signer_threads, any_threads_sign_hashes_as_one_does)
{
    enum { N = 4000 };
    static uint64_t offsets[N + 1];
    uint32_t *x;
    size_t total = make(N, offsets, &x);
    uint64_t *wide = malloc(total * 8);
    for (size_t i = 0; i < total; i++)
        wide[i] = x[i];
    bm_documents as64 = bm_documents_of_hashes(offsets, wide, N),
                 as32 = bm_documents_of_hashes32(offsets, x, N);
    rows one = make_rows(N), got = make_rows(N);
    bm_signer_out out_one = out_of(&one), out = out_of(&got);
    bm_signer *signer = open_with(words_of(5), "scalar", (bm_resource_options){.threads = 1});
    cr_assert_eq(bm_signer_sign(signer, &as64, &out_one, NULL), BM_OK);
    bm_signer_close(signer);
    for (uint32_t threads = 1; threads <= 8; threads++) {
        signer = open_with(words_of(5), NULL,
                           (bm_resource_options){.threads = threads, .batch_docs = threads * 11});
        cr_assert_eq(bm_signer_sign(signer, &as64, &out, NULL), BM_OK);
        expect_rows(&got, &one, N);
        memset(got.words, 0xAB, N * PERMS * 4);
        cr_assert_eq(bm_signer_sign(signer, &as32, &out, NULL), BM_OK);
        expect_rows(&got, &one, N);
        bm_signer_close(signer);
    }
    drop_rows(&one);
    drop_rows(&got);
    free(wide);
    free(x);
}

/* --- callbacks --- */

typedef struct asked {
    int left; /* calls that `stop` still answers with false */
    pthread_t by;
    bool other, told_more_than_all;
    uint64_t told;
} asked;

static bool stop(void *ctx)
{
    asked *a = ctx;
    a->other = a->other || !pthread_equal(a->by, pthread_self());
    return a->left-- <= 0;
}

static void tell(void *ctx, const bm_progress *progress)
{
    asked *a = ctx;
    a->other = a->other || !pthread_equal(a->by, pthread_self());
    a->told++;
    a->told_more_than_all = a->told_more_than_all || progress->done > progress->total;
}

Test(signer_threads, a_call_cancelled_at_any_time_says_so_and_the_next_is_as_if_nothing_was)
{
    texts t = make_texts(6000, 900, 0, 0);
    rows wanted = oracle(&t, words_of(5)), got = make_rows(t.n);
    asked a = {.by = pthread_self()};
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.bands.bands = BANDS;
    options.bands.rows = ROWS;
    options.band_keys = true;
    options.resources.threads = 3;
    options.callbacks = (bm_callbacks){.ctx = &a, .cancelled = stop, .progress = tell};
    bm_signer *signer = world_open(bm_signer, &options);
    bm_signer_out out = out_of(&got);
    int cancelled = 0;
    for (int at = 0;; at++, cancelled++) {
        bm_error err = {0};
        a.left = at;
        bm_status status = bm_signer_sign_texts(signer, t.texts, t.n, &out, &err);
        if (status == BM_OK)
            break;
        cr_assert_eq(status, BM_ERR_CANCELLED, "%s", err.message);
    }
    cr_assert_gt(cancelled, 0);
    expect_rows(&got, &wanted, t.n);
    cr_assert(a.told > 0 && !a.other && !a.told_more_than_all);
    bm_signer_close(signer);
    drop_rows(&wanted);
    drop_rows(&got);
    drop(&t);
}
