/* SPDX-License-Identifier: Apache-2.0 */
/* search_block.c -- see search_hits.h.
 *
 * Tests: tests/unit/index/test_search.c */
#include "index/search_hits.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"

/* In a block of n documents, a shingle is rare if at most RARE_LEAST + n / RARE_PART of them have
 * it. */
#define RARE_LEAST 16u
#define RARE_PART  256u

enum { CORE, SOME, RARE };

/* --- one document --- */

bm_status bm_search_target_find(const bm_search_cfg *cfg, uint32_t number, bm_search_target *t,
                                bm_error *err)
{
    bm_status status = bm_store_view_doc(cfg->view, number, &t->doc, err);
    if (status == BM_NOT_FOUND)
        return bm_fail(err, BM_ERR_FORMAT,
                       "the index is damaged: its bands name document %u, which is not there",
                       (unsigned)number);
    t->number = number;
    t->read = false;
    return status;
}

bm_status bm_search_target_read(const bm_search_cfg *cfg, bm_search_target *t, bm_error *err)
{
    const bm_store_facts *facts = cfg->facts;
    if (t->read)
        return BM_OK;
    if (facts->kind == BM_STORE_SIGNATURES) {
        BM_TRY(bm_grow_array(&t->words, &t->cap_words, facts->words, err));
        BM_TRY(bm_store_doc_words(&t->doc, t->words, facts->words, err));
    } else if (t->doc.n_shingles > t->doc.body.len) { /* impossible, because a hash takes at least
                                                       * one byte */
        return bm_fail(err, BM_ERR_FORMAT,
                       "the index is damaged: document %u has a set of another size",
                       (unsigned)t->number);
    } else {
        BM_TRY(bm_grow_array(&t->set, &t->cap_set, t->doc.n_shingles, err));
        BM_TRY(bm_store_doc_set(&t->doc, t->set, err));
    }
    t->read = true;
    return BM_OK;
}

void bm_search_target_reset(bm_search_target *t)
{
    bm_free_all(t->set, t->words);
    *t = (bm_search_target){0};
}

/* --- shingles --- */

static uint64_t hash_of(uint64_t value, uint64_t seed)
{
    return seed == 0 ? value * UINT64_C(0x9E3779B97F4A7C15) : bm_hash_seeded(value, 0, seed);
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    return hash_of(((const bm_block_shingles *)owner)->values[number], seed);
}

static bool has_value(const void *owner, uint32_t number, const void *key)
{
    return ((const bm_block_shingles *)owner)->values[number] == *(const uint64_t *)key;
}

/* Set *id to the number of the value. A new value gets the next number. */
static bm_status insert(bm_block_shingles *s, uint64_t value, uint32_t *id, bm_error *err)
{
    BM_TRY(bm_hash_table_reserve(&s->table, hash_again, s, err));
    const uint64_t hash = hash_of(value, s->table.seed);
    const size_t at = bm_hash_table_find(&s->table, hash, has_value, s, &value);
    if (bm_hash_table_is_free(&s->table, at)) {
        BM_TRY(bm_grow_array(&s->values, &s->cap_values, s->table.n + 1, err));
        s->values[s->table.n] = value;
        bm_hash_table_put(&s->table, at, hash, (uint32_t)s->table.n);
    }
    *id = bm_hash_table_number(&s->table, at);
    return BM_OK;
}

/* --- a block --- */

/* Work data for making a block. */
typedef struct making {
    bm_search_block *block;
    uint32_t *ids;           /* ids of the shingles of each document, document by document */
    uint64_t *begin;         /* for each document, where it begins in `ids`; n + 1 entries */
    uint32_t *counts;        /* for each shingle, its number of documents */
    uint32_t *kinds;         /* for each document of the block */
    uint32_t *sizes;         /* for each document */
    uint32_t *patterns;      /* for each kind: its SOME shingles, then the core shingles that it
                                lacks */
    uint64_t *pattern_begin; /* n_kinds + 1 */
    uint64_t *hashes;        /* for each kind: a hash of its pattern */
    bm_hash_table table;     /* table of the kinds */
    uint32_t *seen;          /* for each core shingle: 1 + index of the last document in which it
                              * was found */
    size_t cap_ids, cap_patterns;
} making;

static void making_reset(making *m)
{
    bm_free_all(m->ids, m->begin, m->counts, m->kinds, m->sizes, m->patterns, m->pattern_begin,
                m->hashes);
    bm_hash_table_reset(&m->table);
    bm_free(m->seen);
}

/* The number of shingles of a document. All signatures have the same number of words. */
static uint32_t shingles_of(const bm_search_cfg *cfg, const bm_store_doc *doc)
{
    return cfg->facts->kind == BM_STORE_SIGNATURES ? cfg->facts->words : doc->n_shingles;
}

static inline uint64_t word_at(const uint32_t *words, uint32_t i)
{
    return (uint64_t)i << 32 | words[i];
}

bm_status bm_search_block_reach(const bm_search_cfg *cfg, const uint32_t *numbers, size_t n,
                                uint64_t most, size_t *reach, bm_error *err)
{
    bm_search_target t = {0};
    uint64_t all = 0;
    for (*reach = 0; *reach < n; ++*reach) {
        BM_TRY(bm_search_target_find(cfg, numbers[*reach], &t, err));
        all += shingles_of(cfg, &t.doc);
        if (all > most && *reach > 0)
            break;
    }
    return BM_OK;
}

static bm_status number_shingles(making *m, const bm_search_cfg *cfg, bm_error *err)
{
    bm_search_block *b = m->block;
    bm_search_target t = {0};
    bm_status status = BM_OK;
    m->begin[0] = 0;
    BM_TRY(bm_hash_table_reserve(&b->shingles.table, hash_again, &b->shingles, err));
    for (size_t i = 0; i < b->n; i++) {
        if (i + 8 < b->n)
            bm_store_view_expect(cfg->view, b->numbers[i + 8], true);
        BM_TRY_OUT(bm_search_target_find(cfg, b->numbers[i], &t, err));
        BM_TRY_OUT(bm_search_target_read(cfg, &t, err));
        const uint32_t n = shingles_of(cfg, &t.doc);
        BM_TRY_OUT(bm_grow_array(&m->ids, &m->cap_ids, m->begin[i] + n, err));
        uint32_t *ids = m->ids + m->begin[i];
        for (uint32_t k = 0; k < n; k++)
            BM_TRY_OUT(insert(&b->shingles, t.words != NULL ? word_at(t.words, k) : t.set[k],
                              &ids[k], err));
        m->sizes[i] = n;
        m->begin[i + 1] = m->begin[i] + n;
    }
out:
    bm_search_target_reset(&t);
    return status;
}

static bm_status choose_roles(making *m, bm_error *err)
{
    bm_search_block *b = m->block;
    const size_t n = b->shingles.table.n, rare = RARE_LEAST + b->n / RARE_PART;
    BM_TRY(bm_new_zero(&m->counts, n, err));
    BM_TRY(bm_new(&b->roles, n, err));
    BM_TRY(bm_new(&b->core_at, n, err));
    for (uint64_t i = 0; i < m->begin[b->n]; i++)
        m->counts[m->ids[i]]++;
    for (size_t i = 0; i < n; i++) {
        b->roles[i] = 2 * (size_t)m->counts[i] > b->n ? CORE : m->counts[i] <= rare ? RARE : SOME;
        b->n_core += b->roles[i] == CORE;
    }
    BM_TRY(bm_new(&b->core, b->n_core, err));
    BM_TRY(bm_new_zero(&m->seen, b->n_core, err));
    b->n_core = 0;
    for (size_t i = 0; i < n; i++)
        if (b->roles[i] == CORE) {
            b->core_at[i] = (uint32_t)b->n_core;
            b->core[b->n_core++] = (uint32_t)i;
        }
    return BM_OK;
}

/* Append the pattern of a document to m->patterns, after the patterns of the known kinds. *len
 * becomes the length of the pattern, and *missing the number of core shingles that the document
 * lacks. */
static bm_status make_pattern(making *m, size_t doc, size_t *len, uint32_t *missing, bm_error *err)
{
    bm_search_block *b = m->block;
    const uint64_t begin = m->pattern_begin[b->n_kinds];
    const uint64_t most = begin + (m->begin[doc + 1] - m->begin[doc]) + b->n_core;
    BM_TRY(bm_grow_array(&m->patterns, &m->cap_patterns, most, err));
    uint32_t *to = m->patterns + begin;
    *len = *missing = 0;
    for (uint64_t i = m->begin[doc]; i < m->begin[doc + 1]; i++) {
        const uint32_t id = m->ids[i];
        if (b->roles[id] == SOME)
            to[(*len)++] = id;
        else if (b->roles[id] == CORE)
            m->seen[b->core_at[id]] = (uint32_t)doc + 1;
    }
    for (size_t i = 0; i < b->n_core; i++)
        if (m->seen[i] != doc + 1) {
            to[(*len)++] = b->core[i];
            ++*missing;
        }
    return BM_OK;
}

/* The pattern of a document whose kind is not known yet. */
typedef struct pattern {
    const uint32_t *list;
    size_t len;
    uint32_t size; /* number of shingles of the document */
    uint64_t hash;
} pattern;

static uint64_t hash_kind_again(const void *owner, uint32_t kind, uint64_t seed)
{
    return bm_hash_seeded(((const making *)owner)->hashes[kind], 0, seed);
}

static bool is_kind(const void *owner, uint32_t kind, const void *key)
{
    const making *m = owner;
    const pattern *p = key;
    const uint64_t begin = m->pattern_begin[kind];
    return m->hashes[kind] == p->hash && m->block->kind_size[kind] == p->size &&
           m->pattern_begin[kind + 1] - begin == p->len &&
           memcmp(m->patterns + begin, p->list, p->len * sizeof *p->list) == 0;
}

static bm_status find_kind(making *m, size_t doc, bm_error *err)
{
    bm_search_block *b = m->block;
    const size_t kind = b->n_kinds;
    pattern p = {.size = m->sizes[doc]};
    uint32_t missing;
    BM_TRY(make_pattern(m, doc, &p.len, &missing, err));
    BM_TRY(bm_hash_table_reserve(&m->table, hash_kind_again, m, err));
    p.list = m->patterns + m->pattern_begin[kind];
    p.hash = XXH3_64bits_withSeed(p.list, p.len * sizeof *p.list, p.size);
    const uint64_t hash = m->table.seed == 0 ? p.hash : bm_hash_seeded(p.hash, 0, m->table.seed);
    const size_t at = bm_hash_table_find(&m->table, hash, is_kind, m, &p);
    if (bm_hash_table_is_free(&m->table, at)) {
        bm_hash_table_put(&m->table, at, hash, (uint32_t)kind);
        m->hashes[kind] = p.hash;
        b->kind_size[kind] = p.size;
        b->kind_missing[kind] = missing;
        m->pattern_begin[kind + 1] = m->pattern_begin[kind] + p.len;
        b->n_kinds++;
    }
    m->kinds[doc] = bm_hash_table_number(&m->table, at);
    return BM_OK;
}

/* Collect the distinct sizes in `sizes`. Each kind_size becomes the index of its size there. */
static void list_sizes(bm_search_block *b)
{
    memcpy(b->sizes, b->kind_size, b->n_kinds * sizeof *b->sizes);
    qsort(b->sizes, b->n_kinds, sizeof *b->sizes, bm_order_u32);
    for (size_t i = 0; i < b->n_kinds; i++)
        if (b->n_sizes == 0 || b->sizes[b->n_sizes - 1] != b->sizes[i])
            b->sizes[b->n_sizes++] = b->sizes[i];
    for (size_t i = 0; i < b->n_kinds; i++) {
        const uint32_t *at =
            bsearch(&b->kind_size[i], b->sizes, b->n_sizes, sizeof *b->sizes, bm_order_u32);
        b->kind_size[i] = (uint32_t)(at - b->sizes);
    }
}

static bm_status find_kinds(making *m, bm_error *err)
{
    bm_search_block *b = m->block;
    m->pattern_begin[0] = 0;
    for (size_t i = 0; i < b->n; i++)
        BM_TRY(find_kind(m, i, err));
    list_sizes(b);
    /* Count kind k in kind_begin[k + 2]. After summing, kind_begin[k + 1] is the write position of
     * kind k. */
    memset(b->kind_begin, 0, (b->n_kinds + 2) * sizeof *b->kind_begin);
    for (size_t i = 0; i < b->n; i++)
        b->kind_begin[m->kinds[i] + 2]++;
    for (size_t k = 2; k < b->n_kinds + 2; k++)
        b->kind_begin[k] += b->kind_begin[k - 1];
    for (size_t i = 0; i < b->n; i++) {
        const uint32_t place = b->kind_begin[m->kinds[i] + 1]++;
        b->place[i] = place;
        b->number_at[place] = b->numbers[i];
        b->kind_of[place] = m->kinds[i];
    }
    return BM_OK;
}

/* Make the list of each shingle: a list of kinds for CORE and SOME, a list of places for RARE. */
static bm_status list_shingles(making *m, bm_error *err)
{
    bm_search_block *b = m->block;
    const size_t n = b->shingles.table.n;
    BM_TRY(bm_new_zero(&b->list_begin, n + 2, err));
    for (uint64_t i = 0; i < m->pattern_begin[b->n_kinds]; i++)
        b->list_begin[m->patterns[i] + 2]++;
    for (size_t i = 0; i < n; i++)
        if (b->roles[i] == RARE)
            b->list_begin[i + 2] = m->counts[i];
    for (size_t i = 2; i < n + 2; i++)
        b->list_begin[i] += b->list_begin[i - 1];
    BM_TRY(bm_new(&b->lists, b->list_begin[n + 1], err));
    for (size_t k = 0; k < b->n_kinds; k++)
        for (uint64_t i = m->pattern_begin[k]; i < m->pattern_begin[k + 1]; i++)
            b->lists[b->list_begin[m->patterns[i] + 1]++] = (uint32_t)k;
    for (size_t d = 0; d < b->n; d++)
        for (uint64_t i = m->begin[d]; i < m->begin[d + 1]; i++)
            if (b->roles[m->ids[i]] == RARE)
                b->lists[b->list_begin[m->ids[i] + 1]++] = b->place[d];
    return BM_OK;
}

static bm_status alloc_block(making *m, bm_error *err)
{
    bm_search_block *b = m->block;
    const size_t n = b->n;
    BM_TRY(bm_new(&b->place, n, err));
    BM_TRY(bm_new(&b->number_at, n, err));
    BM_TRY(bm_new(&b->kind_of, n, err));
    BM_TRY(bm_new(&b->kind_begin, n + 2, err));
    BM_TRY(bm_new(&b->kind_missing, n, err));
    BM_TRY(bm_new(&b->kind_size, n, err));
    BM_TRY(bm_new(&b->sizes, n, err));
    BM_TRY(bm_new(&m->begin, n + 1, err));
    BM_TRY(bm_new(&m->kinds, n, err));
    BM_TRY(bm_new(&m->sizes, n, err));
    BM_TRY(bm_new(&m->pattern_begin, n + 1, err));
    return bm_new(&m->hashes, n, err);
}

bm_status bm_search_block_make(const bm_search_cfg *cfg, const uint32_t *numbers, size_t n,
                               bm_search_block *out, bm_error *err)
{
    *out = (bm_search_block){.n = n, .numbers = numbers};
    making m = {.block = out};
    bm_status status = BM_OK;
    BM_TRY_OUT(alloc_block(&m, err));
    BM_TRY_OUT(number_shingles(&m, cfg, err));
    BM_TRY_OUT(choose_roles(&m, err));
    BM_TRY_OUT(find_kinds(&m, err));
    status = list_shingles(&m, err);
out:
    making_reset(&m);
    if (status != BM_OK)
        bm_search_block_reset(out);
    return status;
}

void bm_search_block_reset(bm_search_block *b)
{
    bm_free_all(b->place, b->number_at, b->kind_of, b->kind_begin, b->kind_missing, b->kind_size,
                b->sizes, b->shingles.values);
    bm_hash_table_reset(&b->shingles.table);
    bm_free_all(b->roles, b->core, b->core_at, b->list_begin, b->lists);
    *b = (bm_search_block){0};
}

/* --- a query --- */

bm_status bm_block_counts_init(bm_block_counts *c, const bm_search_block *b, bm_error *err)
{
    *c = (bm_block_counts){.shared = bm_alloc(b->n_kinds, sizeof *c->shared),
                           .rare = bm_alloc_zero(b->n, sizeof *c->rare),
                           .touched = bm_alloc(b->n, sizeof *c->touched),
                           .seen = bm_alloc_zero(b->n_core, sizeof *c->seen)};
    return c->shared == NULL || c->rare == NULL || c->touched == NULL || c->seen == NULL
               ? bm_fail_nomem(err, b->n * 3 * sizeof *c->rare)
               : BM_OK;
}

void bm_block_counts_reset(bm_block_counts *c)
{
    bm_free_all(c->shared, c->rare, c->touched, c->seen);
    *c = (bm_block_counts){0};
}

static inline void add_kinds(const bm_search_block *b, size_t id, bm_block_counts *c)
{
    const uint64_t begin = b->list_begin[id], end = b->list_begin[id + 1];
    for (uint64_t i = begin; i < end; i++)
        c->shared[b->lists[i]]++;
    c->steps += end - begin;
}

static inline void add_places(const bm_search_block *b, size_t id, bm_block_counts *c)
{
    const uint64_t begin = b->list_begin[id], end = b->list_begin[id + 1];
    for (uint64_t i = begin; i < end; i++)
        if (c->rare[b->lists[i]]++ == 0)
            c->touched[c->n_touched++] = b->lists[i];
    c->steps += end - begin;
}

/* Core shingles are counted by a difference. From the number that the query has (base), subtract
 * the number that the kind lacks (kind_missing). The difference is too small by the number that
 * both lack, which is added again. All other shingles are counted by their lists. */
void bm_search_block_count(const bm_search_block *b, const bm_search_cfg *cfg,
                           const bm_search_batch *batch, uint32_t doc, bm_block_counts *c)
{
    const bool sets = cfg->facts->kind == BM_STORE_SETS;
    const uint32_t n = sets ? batch->n_shingles[doc] : cfg->facts->words;
    const uint32_t *words = sets ? NULL : batch->words + (size_t)doc * n;
    const bm_hash_table *table = &b->shingles.table;
    uint32_t base = 0;
    for (size_t i = 0; i < c->n_touched; i++)
        c->rare[c->touched[i]] = 0;
    c->n_touched = 0;
    memset(c->shared, 0, b->n_kinds * sizeof *c->shared);
    c->question++;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t value = sets ? batch->sets[doc][i] : word_at(words, i);
        const size_t at =
            bm_hash_table_find(table, hash_of(value, table->seed), has_value, &b->shingles, &value);
        if (bm_hash_table_is_free(table, at))
            continue;
        const uint32_t id = bm_hash_table_number(table, at);
        if (b->roles[id] == CORE) {
            c->seen[b->core_at[id]] = c->question;
            base++;
        } else if (b->roles[id] == SOME) {
            add_kinds(b, id, c);
        } else {
            add_places(b, id, c);
        }
    }
    for (size_t i = 0; i < b->n_core; i++)
        if (c->seen[i] != c->question)
            add_kinds(b, b->core[i], c);
    for (size_t k = 0; k < b->n_kinds; k++)
        c->shared[k] += base - b->kind_missing[k];
    c->steps += b->n_kinds;
}
