/* SPDX-License-Identifier: Apache-2.0 */
/* store_model.h -- a model of an index as plain arrays, and checks that a bm_store gives the same
 * answers. Header only. */
#pragma once

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_write.h"

#include "tests/world/world_calls.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"

#define BANDS   3u
#define SET_MAX 60u
#define DOCS    4096u

typedef struct model_doc {
    char id[24];
    uint64_t content, set[SET_MAX], keys[BANDS];
    uint32_t n, text_bytes;
    bool removed;
} model_doc;

typedef struct model {
    model_doc docs[DOCS];
    uint32_t n, made; /* `made`: documents ever made, for their ids */
    char note[32];    /* the note BM_NOTE_INPUTS */
} model;

/* Makes the document with this number. Some documents are empty; some keys are shared by many. */
static inline void model_make(model_doc *doc, uint32_t number, uint64_t *r)
{
    memset(doc, 0, sizeof *doc);
    snprintf(doc->id, sizeof doc->id, "doc-%" PRIu32 "-%" PRIu32, number, world_below(r, 1000));
    doc->content = world_random(r);
    doc->text_bytes = world_below(r, 5000);
    doc->n = world_below(r, 7) == 0 ? 0 : world_below(r, SET_MAX);
    for (uint32_t i = 0; i < doc->n; i++)
        doc->set[i] = world_random(r);
    qsort(doc->set, doc->n, sizeof doc->set[0], world_ascending);
    for (uint32_t b = 0; b < BANDS; b++)
        doc->keys[b] = world_below(r, 2) != 0
                           ? (world_below(r, 40) + 1) * UINT64_C(0x0123456789ABCDEF)
                           : world_random(r);
}

static inline bm_store_facts model_facts(void)
{
    static const char settings[] = "{\"shingle\": \"word:3\"}";
    return (bm_store_facts){
        .kind = BM_STORE_SETS, .bands = BANDS, .settings = {settings, sizeof settings - 1}};
}

/* Adds k documents to the model and the store; returns the store's status. */
static inline bm_status model_add(model *m, bm_store *store, uint32_t k, uint64_t *r, bm_error *err)
{
    bm_store_doc *docs = calloc(k + 1, sizeof *docs);
    const uint64_t **sets = calloc(k + 1, sizeof *sets);
    uint64_t *keys = calloc(k * BANDS + 1, sizeof *keys);
    cr_assert(m->n + k <= DOCS);
    for (uint32_t i = 0; i < k; i++) {
        model_doc *d = &m->docs[m->n + i];
        model_make(d, m->made++, r);
        docs[i] = (bm_store_doc){.id = {d->id, strlen(d->id)},
                                 .content = {d->content, ~d->content},
                                 .text_bytes = d->text_bytes,
                                 .line = d->content >> 40,
                                 .input = (uint32_t)d->content,
                                 .n_shingles = d->n};
        sets[i] = d->set;
        memcpy(keys + i * BANDS, d->keys, sizeof d->keys);
    }
    const bm_store_batch batch = {.n = k, .docs = docs, .sets = sets, .keys = keys};
    uint32_t first = UINT32_MAX;
    const bm_status status = bm_store_add(store, &batch, &first, err);
    if (status == BM_OK) {
        cr_assert_eq(first, m->n);
        m->n += k;
    }
    free(docs);
    free(sets);
    free(keys);
    return status;
}

/* Removes up to k documents from both. */
static inline bm_status model_remove(model *m, bm_store *store, uint32_t k, uint64_t *r,
                                     bm_error *err)
{
    uint32_t list[64], n = 0;
    for (uint32_t i = 0; i < k && i < 64 && m->n > 0; i++) {
        const uint32_t number = world_below(r, m->n);
        if (m->docs[number].removed)
            continue;
        m->docs[number].removed = true;
        list[n++] = number;
    }
    return bm_store_remove(store, list, n, err);
}

#define MODEL_EXPECT(what)                                                                         \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            snprintf(why, 200, "line %d: %s", __LINE__, #what);                                    \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static inline bool model_same_doc(const model *m, const bm_store_view *view, uint32_t number,
                                  char *why)
{
    const model_doc *d = &m->docs[number];
    bm_store_doc doc;
    uint64_t set[SET_MAX];
    uint32_t found = UINT32_MAX;
    const bm_str id = {d->id, strlen(d->id)};
    const bm_status status = bm_store_view_doc(view, number, &doc, NULL);
    if (d->removed) {
        MODEL_EXPECT(status == BM_NOT_FOUND);
        MODEL_EXPECT(bm_store_view_id(view, id, &found, NULL) == BM_NOT_FOUND);
        return true;
    }
    MODEL_EXPECT(status == BM_OK);
    MODEL_EXPECT(doc.id.len == id.len && memcmp(doc.id.data, d->id, id.len) == 0);
    MODEL_EXPECT(doc.content.lo == d->content && doc.content.hi == ~d->content);
    MODEL_EXPECT(doc.text_bytes == d->text_bytes && doc.n_shingles == d->n);
    MODEL_EXPECT(doc.line == d->content >> 40 && doc.input == (uint32_t)d->content);
    MODEL_EXPECT(bm_store_doc_set(&doc, set, NULL) == BM_OK);
    MODEL_EXPECT(memcmp(set, d->set, d->n * sizeof set[0]) == 0);
    MODEL_EXPECT(bm_store_view_id(view, id, &found, NULL) == BM_OK && found == number);
    return true;
}

static inline int by_hit(const void *a, const void *b)
{
    const bm_store_hit *x = a, *y = b;
    return x->asked != y->asked ? (x->asked > y->asked) - (x->asked < y->asked)
                                : (x->number > y->number) - (x->number < y->number);
}

typedef struct model_holder {
    uint64_t key;
    uint32_t number;
} model_holder;

static inline int by_key(const void *a, const void *b)
{
    const model_holder *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->number > y->number) - (x->number < y->number);
}

/* Fills `out` with the documents that have a key in the band, ordered by key, then by number;
 * returns how many. */
static inline size_t model_holders(const model *m, uint32_t band, model_holder *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (!m->docs[i].removed && m->docs[i].n != 0)
            out[n++] = (model_holder){m->docs[i].keys[band], i};
    qsort(out, n, sizeof *out, by_key);
    return n;
}

/* Are `hits` (sorted) the documents that have the asked keys (sorted)? */
static inline bool model_same_hits(const model *m, const bm_store_ask *ask,
                                   const bm_store_hits *hits, char *why)
{
    static model_holder holders[DOCS];
    const size_t n = model_holders(m, ask->table, holders);
    size_t at = 0, first = 0;
    for (size_t k = 0; k < ask->n; k++) {
        while (first < n && holders[first].key < ask->keys[k])
            first++;
        for (size_t i = first; i < n && holders[i].key == ask->keys[k]; i++, at++)
            MODEL_EXPECT(at < hits->n && hits->list[at].asked == k &&
                         hits->list[at].number == holders[i].number);
    }
    MODEL_EXPECT(at == hits->n);
    return true;
}

/* Looks up all keys of a band, and some that no document has; are the answers right? */
static inline bool model_same_band(const model *m, const bm_store_view *view, uint32_t band,
                                   char *why)
{
    uint64_t *keys = calloc(m->n + 3, sizeof *keys);
    bm_store_hits hits = {0};
    size_t n = 3;
    keys[1] = UINT64_MAX;
    keys[2] = UINT64_C(0x8000000000000000);
    for (uint32_t i = 0; i < m->n; i++)
        keys[n++] = m->docs[i].keys[band];
    qsort(keys, n, sizeof *keys, world_ascending);
    const bm_store_ask ask = {.table = band, .keys = keys, .n = n};
    bool same = bm_store_view_find(view, &ask, &hits, NULL) == BM_OK;
    if (hits.n > 0)
        qsort(hits.list, hits.n, sizeof *hits.list, by_hit);
    if (!same)
        snprintf(why, 200, "band %u cannot be asked", band);
    same = same && model_same_hits(m, &ask, &hits, why);
    free(keys);
    free(hits.list);
    return same;
}

/* `why`: 200 bytes, filled if the answers differ. */
static inline bool model_same(const model *m, const bm_store_view *view, bool bands, char *why)
{
    bm_store_counts want = {.next_number = m->n};
    const bm_store_counts got = bm_store_view_counts(view);
    uint32_t found;
    for (uint32_t i = 0; i < m->n; i++) {
        const model_doc *d = &m->docs[i];
        want.removed += d->removed;
        want.documents += !d->removed;
        want.empty += !d->removed && d->n == 0;
        want.shingles += d->removed ? 0 : d->n;
        want.text_bytes += d->removed ? 0 : d->text_bytes;
        if (!model_same_doc(m, view, i, why))
            return false;
    }
    MODEL_EXPECT(got.documents == want.documents && got.removed == want.removed);
    MODEL_EXPECT(got.empty == want.empty && got.shingles == want.shingles);
    MODEL_EXPECT(got.text_bytes == want.text_bytes && got.next_number == want.next_number);
    MODEL_EXPECT(bm_store_view_doc(view, m->n, NULL, NULL) == BM_NOT_FOUND);
    MODEL_EXPECT(bm_store_view_id(view, (bm_str){"no such", 7}, &found, NULL) == BM_NOT_FOUND);
    const bm_str note = bm_store_view_note(view, BM_NOTE_INPUTS);
    MODEL_EXPECT(note.len == strlen(m->note));
    MODEL_EXPECT(note.len == 0 || memcmp(note.data, m->note, note.len) == 0);
    for (uint32_t b = 0; bands && b < BANDS; b++)
        if (!model_same_band(m, view, b, why))
            return false;
    return true;
}

static inline bm_store *model_create(const char *dir)
{
    const bm_store_cfg cfg = {.mode = BM_STORE_WRITE, .memory = 1 << 20};
    const bm_store_facts facts = model_facts();
    bm_store *store = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_store_create(dir, &facts, &cfg, &store, &err), BM_OK, "%s", err.message);
    return store;
}

static inline bm_store *model_open(const char *dir, bm_store_mode mode)
{
    const bm_store_cfg cfg = {.mode = mode};
    bm_store *store = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_store_open(dir, &cfg, &store, &err), BM_OK, "%s: %s", err.file, err.message);
    const bm_store_facts *facts = bm_store_facts_of(store), want = model_facts();
    cr_assert(facts->bands == BANDS && facts->kind == BM_STORE_SETS && facts->words == 0);
    cr_assert(facts->settings.len == want.settings.len &&
              memcmp(facts->settings.data, want.settings.data, want.settings.len) == 0);
    return store;
}

static inline void model_commit(bm_store *store)
{
    bm_error err = {0};
    cr_assert_eq(bm_store_commit(store, &err), BM_OK, "%s: %s", err.file, err.message);
}

static inline void model_say(void *ctx, const char *what)
{
    (void)ctx;
    fprintf(stderr, "check: %s\n", what);
}

static inline void model_expect_sound(const char *dir)
{
    const bm_store_check_cfg cfg = {.report = model_say};
    bm_error err = {0};
    cr_assert_eq(bm_store_check(dir, &cfg, &err), BM_OK, "%s", err.message);
}

static inline void model_check(const model *m, bm_store *store, bool bands)
{
    char why[200];
    bm_store_view *view = world_open(bm_store_view, store);
    cr_assert(model_same(m, view, bands, why), "%s", why);
    bm_store_view_close(view);
}
