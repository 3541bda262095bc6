/* search_block.c -- see search_block.h.
 *
 * The table of shingles multiplies by a factor that is known. Where insertions take many more steps than chance allows, a
 * factor is drawn at random; which is used changes no result.
 *
 * Tests: tests/unit/index/test_search.c */
#include "pipeline/index/search_block.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#define SLOTS_LEAST  ((size_t)1 << 10)
#define STEPS_LEAST  4096u
#define STEPS_EACH   16u /* of a shingle, with any luck 1.5 */
#define FIRST_FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define RARE_LEAST   16u  /* documents that a rare shingle may be in, */
#define RARE_PART    256u /* or this part of the block */

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
    bm_status status;
    if (t->read)
        return BM_OK;
    if (facts->kind == BM_STORE_SIGNATURES) {
        status = bm_grow_array(&t->words, &t->cap_words, facts->words, err);
        if (status == BM_OK)
            status = bm_store_doc_words(&t->doc, t->words, facts->words, err);
    } else if (t->doc.n_shingles > t->doc.body.len) { /* a hash takes more than a byte */
        return bm_fail(err, BM_ERR_FORMAT,
                       "the index is damaged: document %u has a set of another size",
                       (unsigned)t->number);
    } else {
        status = bm_grow_array(&t->set, &t->cap_set, t->doc.n_shingles, err);
        if (status == BM_OK)
            status = bm_store_doc_set(&t->doc, t->set, err);
    }
    t->read = status == BM_OK;
    return status;
}

void bm_search_target_reset(bm_search_target *t)
{
    bm_free(t->set);
    bm_free(t->words);
    *t = (bm_search_target){0};
}

/* --- shingles --- */

/* The slot of a value, or the empty one where it belongs. */
static inline size_t slot_of(const bm_block_shingles *s, uint64_t value)
{
    size_t at = (size_t)(value * s->factor >> s->shift);
    while (s->ids[at] != 0 && s->values[at] != value)
        at = (at + 1) & (s->n_slots - 1);
    return at;
}

/* Fill a table of n_slots, a power of two, with what is there. */
static bm_status refill(bm_block_shingles *s, size_t n_slots, bm_error *err)
{
    const bm_block_shingles old = *s;
    unsigned bits = 0;
    while ((size_t)1 << bits < n_slots)
        bits++;
    s->values = bm_alloc(n_slots, sizeof *s->values);
    s->ids = bm_alloc_zero(n_slots, sizeof *s->ids);
    if (s->values == NULL || s->ids == NULL) {
        bm_free(s->values);
        bm_free(s->ids);
        *s = old;
        return bm_fail_nomem(err, n_slots * (sizeof *s->values + sizeof *s->ids));
    }
    s->n_slots = n_slots;
    s->shift = 64 - bits;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.ids[i] != 0) {
            const size_t at = slot_of(s, old.values[i]);
            s->values[at] = old.values[i];
            s->ids[at] = old.ids[i];
        }
    bm_free(old.values);
    bm_free(old.ids);
    return BM_OK;
}

static bm_status draw_factor(bm_block_shingles *s, bm_error *err)
{
    uint64_t drawn;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn)
        drawn = (uint64_t)(bm_clock_seconds() * 1e9) * FIRST_FACTOR;
    s->factor = drawn | 1;
    s->drawn = true;
    return refill(s, s->n_slots, err);
}

/* *id: of the value, which is new or not. */
static bm_status insert(bm_block_shingles *s, uint64_t value, uint32_t *id, bm_error *err)
{
    bm_status status = BM_OK;
    if (s->n_slots == 0)
        s->factor = FIRST_FACTOR;
    if (2 * s->n >= s->n_slots)
        status = refill(s, s->n_slots == 0 ? SLOTS_LEAST : 2 * s->n_slots, err);
    if (status == BM_OK && !s->drawn && s->steps > STEPS_LEAST + STEPS_EACH * s->asked)
        status = draw_factor(s, err);
    if (status != BM_OK)
        return status;
    const size_t first = (size_t)(value * s->factor >> s->shift), at = slot_of(s, value);
    if (s->ids[at] == 0) {
        s->values[at] = value;
        s->ids[at] = (uint32_t)++s->n;
    }
    s->asked++;
    s->steps += (at - first) & (s->n_slots - 1);
    *id = s->ids[at] - 1;
    return BM_OK;
}

/* --- a block --- */

/* The shingles of its documents, and what is made of them. */
typedef struct making {
    bm_search_block *block;
    uint32_t *ids;           /* of all documents, in the order of their sets */
    uint64_t *begin;         /* of each; n + 1 */
    uint32_t *counts;        /* of each shingle, documents */
    uint32_t *kinds;         /* of each document, by number */
    uint32_t *sizes;         /* of each document, then of each kind */
    uint32_t *patterns;      /* of each kind: shingles of some, and missing ones */
    uint64_t *pattern_begin; /* n_kinds + 1 */
    uint64_t *hashes;        /* of each kind */
    uint32_t *slots;         /* of a table of kinds, plus 1 */
    uint32_t *seen;          /* of the core: the last document that has it, plus 1 */
    size_t n_slots, cap_ids, cap_patterns;
} making;

static void making_reset(making *m)
{
    bm_free(m->ids);
    bm_free(m->begin);
    bm_free(m->counts);
    bm_free(m->kinds);
    bm_free(m->sizes);
    bm_free(m->patterns);
    bm_free(m->pattern_begin);
    bm_free(m->hashes);
    bm_free(m->slots);
    bm_free(m->seen);
}

/* A signature has as many words as any other. */
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
        bm_status status = bm_search_target_find(cfg, numbers[*reach], &t, err);
        if (status != BM_OK)
            return status;
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
    for (size_t i = 0; status == BM_OK && i < b->n; i++) {
        if (i + 8 < b->n)
            bm_store_view_expect(cfg->view, b->numbers[i + 8], true);
        status = bm_search_target_find(cfg, b->numbers[i], &t, err);
        if (status == BM_OK)
            status = bm_search_target_read(cfg, &t, err);
        const uint32_t n = status == BM_OK ? shingles_of(cfg, &t.doc) : 0;
        if (status == BM_OK)
            status = bm_grow_array(&m->ids, &m->cap_ids, m->begin[i] + n, err);
        uint32_t *ids = m->ids + m->begin[i];
        for (uint32_t k = 0; status == BM_OK && k < n; k++)
            status = insert(&b->shingles, t.words != NULL ? word_at(t.words, k) : t.set[k], &ids[k],
                            err);
        m->sizes[i] = n;
        m->begin[i + 1] = m->begin[i] + n;
    }
    bm_search_target_reset(&t);
    return status;
}

static bm_status choose_roles(making *m, bm_error *err)
{
    bm_search_block *b = m->block;
    const size_t n = b->shingles.n, rare = RARE_LEAST + b->n / RARE_PART;
    m->counts = bm_alloc_zero(n, sizeof *m->counts);
    b->roles = bm_alloc(n, sizeof *b->roles);
    b->core_at = bm_alloc(n, sizeof *b->core_at);
    if (m->counts == NULL || b->roles == NULL || b->core_at == NULL)
        return bm_fail_nomem(err, n * sizeof *m->counts);
    for (uint64_t i = 0; i < m->begin[b->n]; i++)
        m->counts[m->ids[i]]++;
    for (size_t i = 0; i < n; i++) {
        b->roles[i] = 2 * (size_t)m->counts[i] > b->n ? CORE : m->counts[i] <= rare ? RARE : SOME;
        b->n_core += b->roles[i] == CORE;
    }
    b->core = bm_alloc(b->n_core, sizeof *b->core);
    m->seen = bm_alloc_zero(b->n_core, sizeof *m->seen);
    if (b->core == NULL || m->seen == NULL)
        return bm_fail_nomem(err, b->n_core * sizeof *b->core);
    b->n_core = 0;
    for (size_t i = 0; i < n; i++)
        if (b->roles[i] == CORE) {
            b->core_at[i] = (uint32_t)b->n_core;
            b->core[b->n_core++] = (uint32_t)i;
        }
    return BM_OK;
}

/* The pattern of a document behind those of the kinds. */
static bm_status make_pattern(making *m, size_t doc, size_t *len, uint32_t *missing, bm_error *err)
{
    bm_search_block *b = m->block;
    const uint64_t begin = m->pattern_begin[b->n_kinds];
    const uint64_t most = begin + (m->begin[doc + 1] - m->begin[doc]) + b->n_core;
    bm_status status = bm_grow_array(&m->patterns, &m->cap_patterns, most, err);
    if (status != BM_OK)
        return status;
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

static bm_status find_kind(making *m, size_t doc, bm_error *err)
{
    bm_search_block *b = m->block;
    size_t len;
    uint32_t missing;
    bm_status status = make_pattern(m, doc, &len, &missing, err);
    if (status != BM_OK)
        return status;
    const uint32_t *pattern = m->patterns + m->pattern_begin[b->n_kinds];
    const uint64_t hash = XXH3_64bits_withSeed(pattern, len * sizeof *pattern, m->sizes[doc]);
    size_t at = (size_t)hash & (m->n_slots - 1);
    for (; m->slots[at] != 0; at = (at + 1) & (m->n_slots - 1)) {
        const uint32_t kind = m->slots[at] - 1;
        const uint64_t begin = m->pattern_begin[kind];
        m->kinds[doc] = kind;
        if (m->hashes[kind] == hash && b->kind_size[kind] == m->sizes[doc] &&
            m->pattern_begin[kind + 1] - begin == len &&
            memcmp(m->patterns + begin, pattern, len * sizeof *pattern) == 0)
            return BM_OK;
    }
    m->kinds[doc] = (uint32_t)b->n_kinds;
    m->slots[at] = (uint32_t)b->n_kinds + 1;
    m->hashes[b->n_kinds] = hash;
    b->kind_size[b->n_kinds] = m->sizes[doc];
    b->kind_missing[b->n_kinds] = missing;
    m->pattern_begin[b->n_kinds + 1] = m->pattern_begin[b->n_kinds] + len;
    b->n_kinds++;
    return BM_OK;
}

static int by_value(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* kind_size: from the size itself to its place among the sizes. */
static void list_sizes(bm_search_block *b)
{
    memcpy(b->sizes, b->kind_size, b->n_kinds * sizeof *b->sizes);
    qsort(b->sizes, b->n_kinds, sizeof *b->sizes, by_value);
    for (size_t i = 0; i < b->n_kinds; i++)
        if (b->n_sizes == 0 || b->sizes[b->n_sizes - 1] != b->sizes[i])
            b->sizes[b->n_sizes++] = b->sizes[i];
    for (size_t i = 0; i < b->n_kinds; i++) {
        const uint32_t *at =
            bsearch(&b->kind_size[i], b->sizes, b->n_sizes, sizeof *b->sizes, by_value);
        b->kind_size[i] = (uint32_t)(at - b->sizes);
    }
}

static bm_status find_kinds(making *m, bm_error *err)
{
    bm_search_block *b = m->block;
    bm_status status = BM_OK;
    m->pattern_begin[0] = 0;
    for (size_t i = 0; status == BM_OK && i < b->n; i++)
        status = find_kind(m, i, err);
    if (status != BM_OK)
        return status;
    list_sizes(b);
    /* kind_begin[k + 2] counts, then kind_begin[k + 1] is where the next of kind k goes. */
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

/* Kinds of the core and of some, places of rare ones. */
static bm_status list_shingles(making *m, bm_error *err)
{
    bm_search_block *b = m->block;
    const size_t n = b->shingles.n;
    b->list_begin = bm_alloc_zero(n + 2, sizeof *b->list_begin);
    if (b->list_begin == NULL)
        return bm_fail_nomem(err, n * sizeof *b->list_begin);
    for (uint64_t i = 0; i < m->pattern_begin[b->n_kinds]; i++)
        b->list_begin[m->patterns[i] + 2]++;
    for (size_t i = 0; i < n; i++)
        if (b->roles[i] == RARE)
            b->list_begin[i + 2] = m->counts[i];
    for (size_t i = 2; i < n + 2; i++)
        b->list_begin[i] += b->list_begin[i - 1];
    b->lists = bm_alloc(b->list_begin[n + 1], sizeof *b->lists);
    if (b->lists == NULL)
        return bm_fail_nomem(err, b->list_begin[n + 1] * sizeof *b->lists);
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
    for (m->n_slots = 16; m->n_slots < 2 * n;)
        m->n_slots *= 2;
    b->place = bm_alloc(n, sizeof *b->place);
    b->number_at = bm_alloc(n, sizeof *b->number_at);
    b->kind_of = bm_alloc(n, sizeof *b->kind_of);
    b->kind_begin = bm_alloc(n + 2, sizeof *b->kind_begin);
    b->kind_missing = bm_alloc(n, sizeof *b->kind_missing);
    b->kind_size = bm_alloc(n, sizeof *b->kind_size);
    b->sizes = bm_alloc(n, sizeof *b->sizes);
    m->begin = bm_alloc(n + 1, sizeof *m->begin);
    m->kinds = bm_alloc(n, sizeof *m->kinds);
    m->sizes = bm_alloc(n, sizeof *m->sizes);
    m->pattern_begin = bm_alloc(n + 1, sizeof *m->pattern_begin);
    m->hashes = bm_alloc(n, sizeof *m->hashes);
    m->slots = bm_alloc_zero(m->n_slots, sizeof *m->slots);
    return b->place == NULL || b->number_at == NULL || b->kind_of == NULL ||
                   b->kind_begin == NULL || b->kind_missing == NULL || b->kind_size == NULL ||
                   b->sizes == NULL || m->begin == NULL || m->kinds == NULL || m->sizes == NULL ||
                   m->pattern_begin == NULL || m->hashes == NULL || m->slots == NULL
               ? bm_fail_nomem(err, n * 80)
               : BM_OK;
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
    bm_free(b->place);
    bm_free(b->number_at);
    bm_free(b->kind_of);
    bm_free(b->kind_begin);
    bm_free(b->kind_missing);
    bm_free(b->kind_size);
    bm_free(b->sizes);
    bm_free(b->shingles.values);
    bm_free(b->shingles.ids);
    bm_free(b->roles);
    bm_free(b->core);
    bm_free(b->core_at);
    bm_free(b->list_begin);
    bm_free(b->lists);
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
    bm_free(c->shared);
    bm_free(c->rare);
    bm_free(c->touched);
    bm_free(c->seen);
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

/* A kind shares what the query has of the core, less what the kind lacks, and what both lack was taken off twice. */
void bm_search_block_count(const bm_search_block *b, const bm_search_cfg *cfg,
                           const bm_search_batch *batch, uint32_t doc, bm_block_counts *c)
{
    const bool sets = cfg->facts->kind == BM_STORE_SETS;
    const uint32_t n = sets ? batch->n_shingles[doc] : cfg->facts->words;
    const uint32_t *words = sets ? NULL : batch->words + (size_t)doc * n;
    uint32_t base = 0;
    for (size_t i = 0; i < c->n_touched; i++)
        c->rare[c->touched[i]] = 0;
    c->n_touched = 0;
    memset(c->shared, 0, b->n_kinds * sizeof *c->shared);
    c->question++;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t id =
            b->shingles.ids[slot_of(&b->shingles, sets ? batch->sets[doc][i] : word_at(words, i))];
        if (id == 0)
            continue;
        if (b->roles[id - 1] == CORE) {
            c->seen[b->core_at[id - 1]] = c->question;
            base++;
        } else if (b->roles[id - 1] == SOME) {
            add_kinds(b, id - 1, c);
        } else {
            add_places(b, id - 1, c);
        }
    }
    for (size_t i = 0; i < b->n_core; i++)
        if (c->seen[i] != c->question)
            add_kinds(b, b->core[i], c);
    for (size_t k = 0; k < b->n_kinds; k++)
        c->shared[k] += base - b->kind_missing[k];
    c->steps += b->n_kinds;
}
