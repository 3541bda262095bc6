/* SPDX-License-Identifier: Apache-2.0 */
/* cl_selftest.c -- checks a program before it is used. A driver may compile wrong code, and a
 * cached binary may belong to another kernel. In both cases every call succeeds, but the words are
 * wrong. So the program signs documents, and the results are compared with the scalar reference.
 *
 * The batch is small (a few thousand shingles, made by a fixed generator) and covers every path: no
 * shingle, incomplete quads, several documents in a chunk, one document in a chunk, and a document
 * in parts. To get a document in parts, the limits of cutting are lowered during the test.
 *
 * One more document has as many shingles as a work-group can sign at once, because Mesa's llvmpipe
 * leaves loops after 65,535 iterations in total. The document repeats a few distinct shingles. It
 * ends with a shingle that occurs nowhere else and changes its words. So the right answer is cheap
 * to compute, and a loop that ends too early cannot give it.
 *
 * Texts are made by a fixed generator from a small alphabet, so that shingles repeat. They have
 * code points of one to four bytes. Their shingles are cut here exactly as model/batches.h defines,
 * and are hashed by the xxHash library. The documents have up to a few thousand units. One document
 * has none, and one is shorter than a shingle.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/parity/test_parity_text.c,
 *        tests/parity/test_oclgrind.c, tests/fault/device/answers.sh, tests/parity/test_mesa.sh */
#include "opencl/cl_selftest.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "opencl/known_answers.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/orders.h"
#include "base/random.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

static const uint32_t sizes[] = {0, 1, 2, 17, 118, 0, 5, 1000, 33, 4, 3001, 64, 7};
enum { N_DOCS = sizeof sizes / sizeof *sizes, LONGEST = 65536, DISTINCT = 64 };

typedef struct answers {
    const uint32_t *sizes;
    size_t n_docs;  /* at most N_DOCS */
    bool repeating; /* make_long makes the only document */
    uint64_t offsets[N_DOCS + 1];
    uint64_t *hashes, *keys, *right_keys;
    uint32_t *words, *right_words;
} answers;

/* Make a document of n shingles with DISTINCT different ones, n > DISTINCT. The document repeats
 * all but one of these, always in the same order, and ends with the remaining one. The signature
 * depends on the remaining one. The last DISTINCT shingles are all different. */
static void make_long(const bm_cl_stream *stream, uint64_t *hashes, size_t n)
{
    const bm_scheme_ops *scheme = stream->shape->scheme;
    const size_t bytes = stream->shape->row_uints * sizeof(uint32_t);
    uint64_t set[DISTINCT], state = 21;
    uint32_t with[2 * BM_PERMS_MAX], without[2 * BM_PERMS_MAX];
    for (size_t i = 0; i < DISTINCT; ++i)
        set[i] = bm_splitmix64(&state);
    scheme->sign(stream->params, set, DISTINCT, with);
    for (size_t i = DISTINCT; i-- > 0;) {
        const uint64_t alone = set[i];
        set[i] = set[DISTINCT - 1];
        set[DISTINCT - 1] = alone;
        scheme->sign(stream->params, set, DISTINCT - 1, without);
        if (memcmp(with, without, bytes) != 0)
            break;
    }
    for (size_t i = 0; i + 1 < n; ++i)
        hashes[i] = set[i % (DISTINCT - 1)];
    hashes[n - 1] = set[DISTINCT - 1];
}

static bm_status reserve(answers *a, const bm_cl_shape *shape, bm_error *err)
{
    const size_t n = (size_t)a->offsets[a->n_docs];
    const size_t words = a->n_docs * shape->row_uints, keys = a->n_docs * shape->bands;
    a->hashes = bm_alloc(n, sizeof *a->hashes);
    a->keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->right_keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->words = bm_alloc_zero(words, sizeof *a->words);
    a->right_words = bm_alloc_zero(words, sizeof *a->words);
    if (!a->hashes || !a->keys || !a->right_keys || !a->words || !a->right_words)
        return bm_fail_nomem(err, n * 8 + words * 8 + keys * 16);
    return BM_OK;
}

/* Make documents and their right answers. a->sizes, n_docs and repeating are set. */
static bm_status prepare(answers *a, const bm_cl_stream *stream, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    uint64_t state = 20;
    for (size_t i = 0; i < a->n_docs; ++i)
        a->offsets[i + 1] = a->offsets[i] + a->sizes[i];
    BM_TRY(reserve(a, shape, err));
    const size_t n = (size_t)a->offsets[a->n_docs];
    for (size_t i = 0; i < n && !a->repeating; ++i)
        a->hashes[i] = bm_splitmix64(&state);
    if (a->repeating)
        make_long(stream, a->hashes, n);
    for (size_t i = 0; i < a->n_docs; ++i) {
        uint32_t *words = a->right_words + i * shape->row_uints;
        const size_t different = a->repeating ? DISTINCT : a->sizes[i];
        shape->scheme->sign(stream->params, a->hashes + a->offsets[i + 1] - different, different,
                            words);
        if (shape->bands > 0)
            bm_band_keys_of(bm_scheme_value_bytes(shape->scheme->scheme))(
                words, shape->bands, shape->rows, a->sizes[i] == 0,
                a->right_keys + i * shape->bands);
    }
    return BM_OK;
}

static bm_status compare(const answers *a, const bm_cl_shape *shape, bm_error *err)
{
    for (size_t i = 0; i < a->n_docs * shape->row_uints; ++i)
        if (a->words[i] != a->right_words[i])
            return bm_fail(err, BM_ERR_SELFTEST,
                           "self-test: word %zu of a document of %u shingles is %08x (%08x was "
                           "expected)",
                           i % shape->row_uints * shape->perms / shape->row_uints,
                           a->sizes[i / shape->row_uints], a->words[i], a->right_words[i]);
    for (size_t i = 0; i < a->n_docs * shape->bands; ++i)
        if (a->keys[i] != a->right_keys[i])
            return bm_fail(err, BM_ERR_SELFTEST,
                           "self-test: key %zu of a document of %u shingles is %016llx (%016llx "
                           "was expected)",
                           i % shape->bands, a->sizes[i / shape->bands],
                           (unsigned long long)a->keys[i], (unsigned long long)a->right_keys[i]);
    return BM_OK;
}

/* Sign the documents with the present cutting of the stream, and compare the results. */
static bm_status check(bm_cl_stream *stream, answers a, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    bm_status status = BM_OK;
    BM_TRY_OUT(prepare(&a, stream, err));
    bm_sign_task task = {.offsets = a.offsets,
                         .hashes = a.hashes,
                         .n_docs = a.n_docs,
                         .words = a.words,
                         .keys = shape->bands > 0 ? a.keys : NULL};
    BM_TRY_OUT(bm_cl_stream_run(stream, &task, err));
    status = compare(&a, shape, err);
out:
    bm_free_all(a.hashes, a.keys, a.right_keys, a.words, a.right_words);
    return status;
}

/* --- texts --- */

/* For each document, how many units follow its first shingle. The longest document fits into the
 * smallest buffer limit, but is split while the limits of cutting are lowered. */
static const uint32_t text_sizes[] = {0, 0, 0, 1, 2, 17, 118, 0, 5, 1000, 33, 3, 1500, 64};
enum { N_TEXTS = sizeof text_sizes / sizeof *text_sizes, EMPTY = 1, SHORT = 2 };

typedef struct text_answers {
    bm_text_batch text;
    uint64_t *hashes, *keys, *right_keys; /* hashes: those of a single document */
    uint32_t *words, *right_words, *counts;
    uint32_t right_counts[N_TEXTS];
    bm_hash128 *content, right_content[N_TEXTS];
} text_answers;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u); /* SplitMix64 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return (uint32_t)((z ^ z >> 31) >> 33) % below;
}

/* Append a unit: a word of at most `longest` bytes, a character, or a byte. */
static bm_status add_unit(bm_text_batch *text, uint64_t *state, uint32_t longest, bool ascii,
                          bm_error *err)
{
    static const char *const characters[] = {
        "a", "e", " ", "t", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80"};
    if (text->options.shingle == BM_SHINGLE_BYTE)
        return bm_buf_add(&text->bytes, &"abcdefgh\x80"[draw(state, 9)], 1, err);
    if (text->options.shingle == BM_SHINGLE_CHAR)
        return bm_buf_add_text(&text->bytes, characters[draw(state, ascii ? 4 : 7)], err);
    const uint32_t len = 1 + draw(state, longest);
    return bm_buf_add(&text->bytes, &"wordswordsandwords"[draw(state, 3)], len, err);
}

static bool begins_character(const char *p)
{
    return ((unsigned char)*p & 0xC0) != 0x80;
}

/* Add a document of n units. */
static bm_status add_doc(bm_text_batch *text, uint64_t *state, uint32_t n, bm_error *err)
{
    const uint32_t k = text->options.shingle_k;
    const bool words = text->options.shingle == BM_SHINGLE_WORD;
    const uint32_t longest = BM_TEXT_SHINGLE_MAX / k - 1 < 15 ? BM_TEXT_SHINGLE_MAX / k - 1 : 15;
    bm_text_doc doc = {.begin = text->bytes.len, .first_start = text->n_starts};
    doc.ascii = draw(state, 2) == 0 || k * 4 > BM_TEXT_SHINGLE_MAX;
    uint64_t slots = n < k ? n > 0 : n - k + 1, last = 0;
    bm_status status = BM_OK;
    for (uint32_t i = 0; i < n; ++i) {
        if (words)
            text->starts[text->n_starts++] = (uint32_t)(text->bytes.len - doc.begin);
        /* from here on no shingle begins */
        if (i + k == n + 1)
            last = text->bytes.len - doc.begin;
        BM_TRY_OUT(add_unit(text, state, longest, doc.ascii, err));
        if (words)
            BM_TRY_OUT(bm_buf_add(&text->bytes, " ", 1, err));
    }
out:
    doc.len = text->bytes.len - doc.begin - (words && n > 0);
    if (words && n > 0)
        text->starts[text->n_starts++] = (uint32_t)doc.len + 1;
    if (words && n > 0 && n < k) {
        text->starts[doc.first_start + 1] = (uint32_t)doc.len + 1;
        text->n_starts = doc.first_start + 2;
    }
    if (!words && n >= k)
        slots = k == 1 ? doc.len : last;
    doc.n_starts = (uint32_t)(text->n_starts - doc.first_start);
    text->docs[text->n_docs] = doc;
    text->slots[text->n_docs + 1] = text->slots[text->n_docs] + slots;
    text->n_docs++;
    return status;
}

static uint64_t hash_slot(const bm_text_batch *text, size_t at, uint64_t i)
{
    const bm_text_doc *doc = &text->docs[at];
    const char *data = text->bytes.data + doc->begin;
    const uint32_t *starts = text->starts + doc->first_start;
    const uint32_t k = text->options.shingle_k;
    uint64_t begin = i, end = i;
    if (text->options.shingle == BM_SHINGLE_WORD) {
        begin = starts[i];
        end = starts[i + k < doc->n_starts ? i + k : doc->n_starts - 1] - 1;
    } else if (text->options.shingle == BM_SHINGLE_BYTE) {
        end = i + k < doc->len ? i + k : doc->len;
    } else {
        while (!begins_character(data + begin))
            --begin;
        end = begin;
        for (uint32_t units = 0; units < k && end < doc->len; ++units)
            for (++end; end < doc->len && !begins_character(data + end);)
                ++end;
    }
    return XXH3_64bits(data + begin, (size_t)(end - begin));
}

/* The content hash of a document. If shingles are cut by characters, slots within a code point do
 * not count. */
static bm_hash128 content_of(const text_answers *a, size_t doc, size_t n_slots, uint64_t *run)
{
    const char *text = a->text.bytes.data + a->text.docs[doc].begin;
    bm_content_sums sums = {0};
    size_t n = 0;
    for (size_t i = 0; i < n_slots; ++i)
        if (a->text.options.shingle != BM_SHINGLE_CHAR || begins_character(text + i))
            run[n++] = hash_slot(&a->text, doc, i);
    a->text.docs[doc].n_shingles = n;
    bm_content_add(run, n, 0, &sums);
    return bm_content_end(&sums, n);
}

static void answer(text_answers *a, size_t doc, const bm_cl_stream *stream)
{
    const bm_cl_shape *shape = stream->shape;
    const size_t n = (size_t)(a->text.slots[doc + 1] - a->text.slots[doc]);
    uint32_t *words = a->right_words + doc * shape->perms;
    a->right_content[doc] = content_of(a, doc, n, a->hashes);
    for (size_t i = 0; i < n; ++i)
        a->hashes[i] = hash_slot(&a->text, doc, i);
    shape->scheme->sign(stream->params, a->hashes, n, words);
    if (shape->bands > 0)
        bm_band_keys_scalar(words, shape->bands, shape->rows, n == 0,
                            a->right_keys + doc * shape->bands);
    qsort(a->hashes, n, sizeof *a->hashes, bm_order_u64);
    for (size_t i = 0; i < n; ++i)
        a->right_counts[doc] += i == 0 || a->hashes[i] != a->hashes[i - 1];
}

static bm_status prepare_texts(text_answers *a, const bm_cl_stream *stream, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    const size_t words = (size_t)N_TEXTS * shape->perms, keys = (size_t)N_TEXTS * shape->bands;
    size_t units = 0;
    for (size_t i = 0; i < N_TEXTS; ++i)
        units += text_sizes[i] + shape->text.k;
    memset(a, 0, sizeof *a);
    a->text.options.shingle = (bm_shingle_kind)shape->text.kind;
    a->text.options.shingle_k = shape->text.k;
    a->text.docs = bm_alloc_zero(N_TEXTS, sizeof *a->text.docs);
    a->text.slots = bm_alloc_zero(N_TEXTS + 1, sizeof *a->text.slots);
    a->text.starts = bm_alloc_zero(units + N_TEXTS, sizeof *a->text.starts);
    a->hashes = bm_alloc(units * 4, sizeof *a->hashes);
    a->keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->right_keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->words = bm_alloc_zero(words, sizeof *a->words);
    a->right_words = bm_alloc_zero(words, sizeof *a->words);
    a->counts = bm_alloc_zero(N_TEXTS, sizeof *a->counts);
    a->content = bm_alloc_zero(N_TEXTS, sizeof *a->content);
    if (!a->text.docs || !a->text.slots || !a->text.starts || !a->hashes || !a->keys ||
        !a->right_keys || !a->words || !a->right_words || !a->counts || !a->content)
        return bm_fail_nomem(err, units * 48 + words * 8 + keys * 16);
    uint64_t state = 20;
    for (size_t i = 0; i < N_TEXTS; ++i) {
        const uint32_t n = i == EMPTY   ? 0
                           : i == SHORT ? shape->text.k - 1
                                        : text_sizes[i] + shape->text.k;
        BM_TRY(add_doc(&a->text, &state, n, err));
        answer(a, i, stream);
    }
    return BM_OK;
}

static bm_status compare_texts(const text_answers *a, const bm_cl_shape *shape, bm_error *err)
{
    for (size_t i = 0; i < N_TEXTS; ++i) {
        const char *what = NULL;
        if (a->counts[i] != a->right_counts[i])
            what = "the count of distinct shingles";
        else if (memcmp(a->words + i * shape->perms, a->right_words + i * shape->perms,
                        shape->perms * sizeof *a->words) != 0)
            what = "a word";
        else if (memcmp(a->keys + i * shape->bands, a->right_keys + i * shape->bands,
                        shape->bands * sizeof *a->keys) != 0)
            what = "a key";
        else if (memcmp(&a->content[i], &a->right_content[i], sizeof a->content[i]) != 0)
            what = "the content hash";
        if (what != NULL)
            return bm_fail(err, BM_ERR_SELFTEST,
                           "self-test: %s of a text of %llu bytes, %llu slots, is wrong (%u "
                           "distinct, expected %u)",
                           what, (unsigned long long)a->text.docs[i].len,
                           (unsigned long long)(a->text.slots[i + 1] - a->text.slots[i]),
                           a->counts[i], a->right_counts[i]);
    }
    return BM_OK;
}

static bm_status check_texts(bm_cl_stream *stream, uint32_t *n_checks, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    text_answers a;
    bm_status status = BM_OK;
    BM_TRY_OUT(prepare_texts(&a, stream, err));
    bm_sign_task task = {.offsets = a.text.slots,
                         .text = &a.text,
                         .n_docs = N_TEXTS,
                         .words = a.words,
                         .keys = shape->bands > 0 ? a.keys : NULL,
                         .n_shingles = a.counts,
                         .content = a.content};
    BM_TRY_OUT(bm_cl_stream_run(stream, &task, err));
    BM_TRY_OUT(compare_texts(&a, shape, err));
    if (n_checks != NULL)
        *n_checks += N_TEXTS * (shape->perms + shape->bands + 2);
out:
    bm_text_batch_reset(&a.text);
    bm_free_all(a.hashes, a.keys, a.right_keys, a.words, a.right_words, a.counts, a.content);
    return status;
}

/* --- the self-test --- */

/* Lower the limits of cutting, so that documents of a few thousand shingles cover every path. */
static void lower_cut(bm_cl_stream *stream)
{
    const bm_cl_shape *shape = stream->shape;
    stream->cut.pack_units = shape->chunk.pack < 64 ? shape->chunk.pack : 64;
    stream->cut.whole_units = shape->chunk.whole < 256 ? shape->chunk.whole : 256;
    stream->cut.part_units = bm_cl_part_units(shape, 300);
}

/* Return the size of the long document: as many shingles as a work-group signs at once, but no more
 * than fit into a batch, and at most LONGEST. */
static uint32_t longest_of(const bm_cl_stream *stream)
{
    const bm_cl_chunk_units *chunk = &stream->shape->chunk;
    const size_t parts = chunk->whole > chunk->part ? chunk->whole : chunk->part;
    const size_t one = stream->cut.doc_units > 0 ? (size_t)stream->cut.doc_units : parts;
    const size_t most = stream->cut.max_units < one ? stream->cut.max_units : one;
    const size_t n = most * stream->shape->unit;
    return n < LONGEST ? (uint32_t)n : LONGEST;
}

bm_status bm_cl_selftest(bm_cl_stream *stream, uint32_t *n_checks, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    const uint32_t longest = longest_of(stream);
    if (bm_device_answers != BM_ANSWERS_CHECKED)
        return BM_OK;
    lower_cut(stream);
    bm_status status = check(stream, (answers){.sizes = sizes, .n_docs = N_DOCS}, err);
    bm_cl_stream_cut(stream);
    uint32_t n_docs = N_DOCS;
    if (status == BM_OK && longest > DISTINCT && !stream->brief) {
        status = check(stream, (answers){.sizes = &longest, .n_docs = 1, .repeating = true}, err);
        ++n_docs;
    }
    if (status == BM_OK && n_checks != NULL)
        *n_checks = n_docs * (shape->perms + shape->bands);
    if (status == BM_OK && shape->text.used) {
        lower_cut(stream);
        status = check_texts(stream, n_checks, err);
        bm_cl_stream_cut(stream);
    }
    return status;
}
