/* SPDX-License-Identifier: Apache-2.0 */
/* Texts cut and hashed on every OpenCL device here, in both shapes of the kernels: words, keys,
 * counts of distinct shingles and content hashes equal those of the exact shingler and the scalar
 * reference.
 *
 * Without a device the tests are skipped, with the reason. BANDMILL_REQUIRE_OPENCL=N: fewer than N
 * platforms is a failure. BANDMILL_TEST_DEVICE=opencl:P.D: only that device, which must exist, in
 * both shapes with each K. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/cl_listing.h"
#include "opencl/cl_backend.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "sketch/scheme.h"
#include "tests/parity/parity_able.h"
#include "tests/unit/text/shingle_oracle.h"
#include "tests/world/world_random.h"
#include "text/unit_text.h"

enum { PERMS = 20, BANDS = 5, ROWS = 4 };

static const char *const families[] = {"cpu", "gpu"};

typedef struct corpus {
    size_t n_docs, cap_docs, cap_texts;
    bm_str *texts;
    char *block;
} corpus;

static bm_device_info *find_devices(size_t *n)
{
    bm_cl_listing listing;
    bm_error err = {0};
    cr_assert_eq(bm_cl_list(&listing, &err), BM_OK, "%s", err.message);
    bm_device_info *infos = listing.rows;
    *n = 0;
    for (size_t i = 0; i < listing.n; ++i)
        if (infos[i].kind != BM_DEVICE_CL_NONE)
            infos[(*n)++] = infos[i];
    size_t platforms = 0;
    for (size_t i = 0; i < *n; ++i)
        platforms += i == 0 || strcmp(infos[i].platform, infos[i - 1].platform) != 0;
    const char *required = getenv("BANDMILL_REQUIRE_OPENCL");
    if (required != NULL)
        cr_assert_geq(platforms, strtoul(required, NULL, 10), "%zu OpenCL platforms here; %s",
                      platforms, listing.note);
    const char *only = getenv("BANDMILL_TEST_DEVICE");
    if (only != NULL) {
        const size_t all = *n;
        *n = 0;
        for (size_t i = 0; i < all; ++i)
            if (strcmp(infos[i].spec, only) == 0)
                infos[(*n)++] = infos[i];
        cr_assert_eq(*n, 1, "there is no device %s", only);
    }
    if (*n == 0)
        cr_skip("no OpenCL device: %s", listing.note);
    return infos;
}

/* --- documents --- */

static void add_text(corpus *c, char *data, size_t len)
{
    if (c->n_docs == c->cap_texts)
        c->texts = realloc(c->texts, (c->cap_texts = c->cap_texts * 2 + 64) * sizeof *c->texts);
    c->texts[c->n_docs++] = (bm_str){data, len};
}

/* A text of n pieces. Kind 0: only ASCII letters; 1: words; 2: anything. */
static void add_random(corpus *c, uint64_t *state, size_t n, int kind)
{
    static const char *const pieces[] = {"a",
                                         "b",
                                         "c",
                                         " ",
                                         "the ",
                                         "and ",
                                         "Word ",
                                         "longer-one ",
                                         "\n ",
                                         "x",
                                         "\xC3\xA9t\xC3\xA9 ",
                                         "\xE4\xB8\xAD",
                                         "\xE6\x96\x87",
                                         "\xF0\x9F\x98\x80 ",
                                         "0",
                                         "\xC2\xA0",
                                         "\u00AD",
                                         "\u200B",
                                         "\uFE0F\u20E3",
                                         "\xFF",
                                         "\xE4\xB8"};
    char *data = malloc(n * 12 + 1);
    size_t len = 0;
    for (size_t i = 0; i < n; ++i) {
        const char *piece = pieces[kind == 0 ? world_random(state) % 3
                                             : world_random(state) % (kind == 1 ? 10 : 21)];
        memcpy(data + len, piece, strlen(piece));
        len += strlen(piece);
    }
    add_text(c, data, len);
}

/* Lengths for each path of the shapes: empty, around K, packed, a chunk of its own, in parts. */
static corpus make_corpus(uint32_t k, uint64_t seed)
{
    corpus c = {0};
    const size_t edges[] = {0,  1,   k - 1, k,   k + 1, 2 * k, 3,    4,    5,    8,    9,   16,
                            17, 128, 129,   240, 241,   242,   1023, 1024, 1025, 2000, 9000};
    for (int kind = 0; kind < 3; ++kind)
        for (size_t i = 0; i < sizeof edges / sizeof *edges; ++i)
            add_random(&c, &seed, edges[i], kind);
    for (size_t i = 0; i < 60; ++i)
        add_random(&c, &seed, world_random(&seed) % 300, (int)(world_random(&seed) % 3));
    add_random(&c, &seed, 80000, 1);
    add_random(&c, &seed, 0, 1);
    return c;
}

static void free_corpus(corpus *c)
{
    for (size_t i = 0; c->block == NULL && i < c->n_docs; ++i)
        free((void *)(uintptr_t)c->texts[i].data);
    free(c->block);
    free(c->texts);
}

/* --- expected and actual results --- */

typedef struct result {
    bm_text_batch text;
    uint32_t *words, *right_words, *counts;
    uint64_t *keys, *right_keys;
    bm_hash128 *content;
    bm_shingle_batch right;
} result;

static void make_result(result *r, const corpus *c, const bm_text_options *options)
{
    bm_error err = {0};
    bm_shingler *shingler = NULL;
    bm_scheme_params params;
    const bm_sketch_options sketch = {.perms = PERMS, .seed = 5};
    *r = (result){.text.options = *options};
    r->words = malloc(c->n_docs * PERMS * sizeof *r->words);
    r->right_words = malloc(c->n_docs * PERMS * sizeof *r->words);
    r->keys = malloc(c->n_docs * BANDS * sizeof *r->keys);
    r->right_keys = malloc(c->n_docs * BANDS * sizeof *r->keys);
    r->counts = malloc(c->n_docs * sizeof *r->counts);
    r->content = malloc(c->n_docs * sizeof *r->content);
    cr_assert_eq(bm_shingler_open(options, NULL, &shingler, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_scheme_affine32.draw(&sketch, &params, &err), BM_OK);
    for (size_t i = 0; i < c->n_docs; ++i) {
        bm_buf fixed = {0};
        uint64_t n_bad = 0;
        cr_assert_eq(bm_utf8_repair(c->texts[i].data, c->texts[i].len, &fixed, &n_bad, &err),
                     BM_OK);
        const bm_str text = n_bad > 0 ? (bm_str){fixed.data, fixed.len} : c->texts[i];
        cr_assert_eq(bm_unit_text_add(shingler, text, &r->text, &err), BM_OK, "%s", err.message);
        /* The exact path is quadratic: long documents use the fast one, which has its own tests. */
        bm_status status = text.len < 4000 ? shingle_exactly(options, text, &r->right, &err)
                                           : bm_shingler_add(shingler, text, &r->right, &err);
        cr_assert_eq(status, BM_OK, "%s", err.message);
        const size_t n = (size_t)(r->right.offsets[i + 1] - r->right.offsets[i]);
        const uint64_t *hashes = n > 0 ? r->right.hashes + r->right.offsets[i] : NULL;
        bm_scheme_affine32.sign(&params, hashes, n, r->right_words + i * PERMS);
        bm_band_keys_scalar(r->right_words + i * PERMS, BANDS, ROWS, n == 0,
                            r->right_keys + i * BANDS);
        bm_buf_reset(&fixed);
    }
    bm_scheme_params_reset(&params);
    bm_shingler_close(shingler);
}

static void free_result(result *r)
{
    bm_text_batch_reset(&r->text);
    bm_shingle_batch_reset(&r->right);
    free(r->words);
    free(r->right_words);
    free(r->keys);
    free(r->right_keys);
    free(r->counts);
    free(r->content);
}

static void compare(const result *r, bool words, bool keys, const char *what)
{
    for (size_t i = 0; i < r->text.n_docs; ++i) {
        const bm_text_doc *doc = &r->text.docs[i];
        if (doc->by_host)
            continue;
        const uint64_t distinct = r->right.offsets[i + 1] - r->right.offsets[i];
        cr_assert_eq(r->counts[i], distinct,
                     "%s: document %zu of %llu bytes: %u distinct shingles, right are %llu", what,
                     i, (unsigned long long)doc->len, r->counts[i], (unsigned long long)distinct);
        cr_assert_eq(memcmp(&r->content[i], &r->right.content[i], sizeof *r->content), 0,
                     "%s: content hash of document %zu of %llu bytes", what, i,
                     (unsigned long long)doc->len);
        if (words)
            cr_assert(memcmp(r->words + i * PERMS, r->right_words + i * PERMS,
                             PERMS * sizeof *r->words) == 0,
                      "%s: words of document %zu of %llu bytes", what, i,
                      (unsigned long long)doc->len);
        if (keys)
            cr_assert(memcmp(r->keys + i * BANDS, r->right_keys + i * BANDS,
                             BANDS * sizeof *r->keys) == 0,
                      "%s: keys of document %zu of %llu bytes", what, i,
                      (unsigned long long)doc->len);
    }
}

static bm_sign_task task_of(result *r, bool words, bool keys)
{
    const size_t n = r->text.n_docs;
    memset(r->words, 0xA5, n * PERMS * sizeof *r->words);
    memset(r->keys, 0xA5, n * BANDS * sizeof *r->keys);
    memset(r->counts, 0xA5, n * sizeof *r->counts);
    memset(r->content, 0xA5, n * sizeof *r->content);
    return (bm_sign_task){.offsets = r->text.slots,
                          .text = &r->text,
                          .n_docs = n,
                          .words = words ? r->words : NULL,
                          .keys = keys ? r->keys : NULL,
                          .n_shingles = r->counts,
                          .content = r->content};
}

static bm_backend *open_device(const bm_device_info *device, const bm_text_options *options,
                               const char *family, size_t limit, bool staged)
{
    const bm_device_settings settings = {.kernel_family = family, .buffer_limit_bytes = limit};
    bm_backend *backend = NULL;
    bm_error err = {0};
    bm_backend_cfg cfg = {.sketch = {.perms = PERMS, .seed = 5},
                          .bands = BANDS,
                          .rows = ROWS,
                          .text = options,
                          .device = device->spec,
                          .settings = &settings,
                          .cache_dir = parity_programs(device)};
    cr_assert_eq(bm_cl_backend_open(&cfg,
                                    &(bm_cl_open_options){.no_probe = true, .no_zero_copy = staged},
                                    &backend, &err),
                 BM_OK, "%s %s: %s", device->spec, family, err.message);
    return backend;
}

/* With each K, one of the pairs of device and shape runs, in rotation. */
static void check_options(const bm_device_info *infos, size_t n, const bm_text_options *options,
                          size_t turn)
{
    corpus c = make_corpus(options->shingle_k, options->shingle_k * 3 + options->shingle);
    result r;
    make_result(&r, &c, options);
    for (size_t i = 0; i < n; ++i)
        for (size_t s = 0; s < 2; ++s) {
            if ((i * 2 + s + turn) % (n == 1 ? 2 : 4) != 0 && !parity_whole())
                continue;
            if (!parity_able(&infos[i], families[s]))
                continue;
            char what[256];
            bm_error err = {0};
            snprintf(what, sizeof what, "%s, %s, kind %d, K %u", infos[i].name, families[s],
                     options->shingle, options->shingle_k);
            bm_backend *backend = open_device(&infos[i], options, families[s], 0, false);
            cr_assert(backend->accepts_text);
            for (int wanted = 1; wanted < 4; ++wanted) {
                bm_sign_task task = task_of(&r, wanted & 1, wanted & 2);
                cr_assert_eq(backend->ops->submit(backend, &task, &err), BM_OK, "%s: %s", what,
                             err.message);
                cr_assert_eq(backend->ops->wait(backend, &task, &err), BM_OK, "%s: %s", what,
                             err.message);
                compare(&r, wanted & 1, wanted & 2, what);
            }
            backend->ops->close(backend);
        }
    free_result(&r);
    free_corpus(&c);
}

/* The order of K: lengths of one case of XXH3 meet both shapes, and PoCL, as the second device, has
 * the programs of tests/cli/cases/device_text.sh. */
static void check_kind(bm_shingle_kind kind, const uint32_t *ks)
{
    size_t n;
    bm_device_info *infos = find_devices(&n);
    for (size_t turn = 3; *ks != 0; ++ks, ++turn) {
        bm_text_options options = {.normalize = BM_NORM_LOWER, .shingle = kind, .shingle_k = *ks};
        options.short_rule = *ks % 2 == 0 ? BM_SHORT_SKIP : BM_SHORT_WHOLE;
        options.normalize |= *ks % 5 == 0 ? BM_NORM_PUNCT : 0;
        options.normalize |= *ks % 3 != 0 ? BM_NORM_INVISIBLE : 0;
        options.words = (bm_words)(*ks % 3);
        check_options(infos, n, &options, turn);
    }
    bm_free(infos);
}

Test(parity_text, byte_shingles_equal_the_reference)
{
    check_kind(BM_SHINGLE_BYTE, (const uint32_t[]){5, 1, 9, 8, 17, 129, 240, 0});
}

Test(parity_text, character_shingles_equal_the_reference)
{
    check_kind(BM_SHINGLE_CHAR, (const uint32_t[]){1, 60, 8, 5, 61, 0});
}

Test(parity_text, word_shingles_equal_the_reference)
{
    check_kind(BM_SHINGLE_WORD, (const uint32_t[]){1, 31, 5, 2, 120, 0});
}
