/* prefix_search.c -- read the lists of a document's keys and drop what cannot reach the threshold.
 *
 * Of the smaller documents y that x meets, and with T for the threshold, those are dropped for
 * which
 *
 *     size     |y| < the least c with c/|x| >= T: similarity is at most |y|/|x|. In a list these
 *              come first, and are skipped by bisection (Bayardo, Ma and Srikant, "Scaling up all
 *              pairs similarity search", WWW 2007).
 *     places   at the first key in common they have i and j rarer shingles, so they share at most
 *              m = min(|x| - i, |y| - j) (Xiao, Wang, Lin and Yu, WWW 2008). m / (|x| + |y| - m) is
 *              >= T in double only if m >= T/(1+T) (|x| + |y|), but for 2^-50 of it. The factor is
 *              smaller than that by 1e-12 of it, which is more: rounding loses nothing, and the
 *              few that are just below are compared.
 *
 * Of containment no size is too small, and m must be T |y| at least, since x is the greater one.
 *
 * Proofs that nobody else is missed are in rare_prefix.c. One finder a thread.
 *
 * Tests: tests/unit/lsh/test_prefix_index.c, tests/unit/lsh/test_all_pairs.c */
#include "lsh/prefix_search.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define AHEAD 8u    /* keys that are fetched ahead */
#define SLACK 1e-12 /* of the places, see above */

/* Words of memory for the keys of a document outside the block. */
static size_t key_words(const bm_prefix_store *store, size_t longest)
{
    return store != NULL ? BM_PREFIX_RANGE + store->most : 2 * longest;
}

uint64_t bm_prefix_finder_bytes(const bm_prefix_store *store, size_t n)
{
    return (uint64_t)key_words(store, n) * sizeof(uint64_t);
}

bm_status bm_prefix_finder_open(bm_prefix_finder *f, const bm_sized_sets *docs,
                                const bm_prefix_index *index, bm_error *err)
{
    size_t n = index->end - index->begin;
    *f = (bm_prefix_finder){.docs = docs, .index = index, .range = SIZE_MAX};
    const double threshold = docs->rule.threshold;
    f->of_both = docs->rule.measure == BM_MEASURE_JACCARD;
    f->factor = (f->of_both ? threshold / (1 + threshold) : threshold) * (1 - SLACK);
    f->longest = docs->n == 0 ? 0 : bm_sized_size(docs, docs->n - 1);
    f->seen = bm_alloc_zero(n, sizeof *f->seen);
    f->found = bm_alloc(n, sizeof *f->found);
    f->keys = bm_alloc(key_words(docs->store, f->longest), sizeof *f->keys);
    if (f->seen != NULL && f->found != NULL && f->keys != NULL)
        return BM_OK;
    bm_prefix_finder_close(f);
    return bm_fail_nomem(err, n * BM_PREFIX_FINDER_DOC +
                                  (size_t)bm_prefix_finder_bytes(docs->store, f->longest));
}

void bm_prefix_finder_close(bm_prefix_finder *f)
{
    bm_free(f->seen);
    bm_free(f->found);
    bm_free(f->keys);
    *f = (bm_prefix_finder){0};
}

/* The first position of the block whose document has at least `size` shingles. */
static uint32_t first_of_size(const bm_prefix_finder *f, size_t size)
{
    size_t low = f->index->begin, high = f->index->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bm_sized_size(f->docs, middle) < size)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* The place of the first entry of `key` at or after `at` whose position is at least `first`. */
static size_t skip_smaller(const bm_prefix_index *index, size_t at, uint64_t key, uint32_t first)
{
    const bm_prefix_entry *entries = index->entries;
    size_t step = 1, end = index->n_entries;
    while (at + step < end && entries[at + step].key == key && entries[at + step].position < first)
        step *= 2;
    size_t low = at, high = at + step < end ? at + step : end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].key == key && entries[middle].position < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The document of this entry has a key in common with x: unless it was met before, it is found
 * where it may reach the threshold by its place. */
static void meet(bm_prefix_finder *f, const bm_prefix_entry *entry, size_t n_x, size_t left_x)
{
    size_t y = entry->position - f->index->begin;
    if (f->seen[y] == f->stamp)
        return;
    f->seen[y] = f->stamp;
    size_t n_y = bm_sized_size(f->docs, entry->position), left_y = n_y - entry->rank;
    size_t most = left_x < left_y ? left_x : left_y;
    if ((double)most >= f->factor * (double)(f->of_both ? n_x + n_y : n_y))
        f->found[f->n_found++] = entry->position;
}

/* From now on no document of the block was met. */
static void new_stamp(bm_prefix_finder *f)
{
    if (++f->stamp != 0)
        return;
    memset(f->seen, 0, (f->index->end - f->index->begin) * sizeof *f->seen);
    f->stamp = 1;
}

typedef struct prefix {
    const uint64_t *keys;
    size_t n, n_alone;
} prefix;

/* The prefix of a document outside the block, from the store. */
static bm_status stored_prefix(bm_prefix_finder *f, size_t x, prefix *out, bm_error *err)
{
    const bm_prefix_store *store = f->docs->store;
    size_t range = x / BM_PREFIX_RANGE, before = BM_PREFIX_RANGE;
    if (f->range != range) {
        f->range = SIZE_MAX;
        BM_TRY(store->read(store->ctx, range, f->keys, err));
        f->range = range;
    }
    for (size_t i = 0; i < x % BM_PREFIX_RANGE; i++)
        before += (uint32_t)f->keys[i];
    uint64_t head = f->keys[x % BM_PREFIX_RANGE];
    *out = (prefix){f->keys + before, (uint32_t)head, (size_t)(head >> 32)};
    return BM_OK;
}

static bm_status prefix_of(bm_prefix_finder *f, size_t x, prefix *out, bm_error *err)
{
    const bm_sized_sets *docs = f->docs;
    if (x < f->index->end) {
        out->keys = bm_prefix_index_keys(f->index, x, &out->n, &out->n_alone);
        return BM_OK;
    }
    if (docs->store != NULL)
        return stored_prefix(f, x, out, err);
    size_t n_x = bm_sized_size(docs, x);
    bm_rare_prefix_room room = {.keys = f->keys, .scratch = f->keys + f->longest};
    bm_rare_prefix_size size = bm_rare_prefix(docs->counts, bm_sized_set(docs, x), n_x,
                                              bm_prefix_to_probe(docs->rule, n_x), room);
    *out = (prefix){f->keys, size.n_keys, size.n_alone};
    return BM_OK;
}

bm_status bm_prefix_find(bm_prefix_finder *f, size_t x, bm_error *err)
{
    const bm_prefix_index *index = f->index;
    size_t n_x = bm_sized_size(f->docs, x);
    prefix p;
    f->n_found = 0;
    BM_TRY(prefix_of(f, x, &p, err));
    if (p.n == 0)
        return BM_OK;
    uint32_t first = first_of_size(f, bm_least_size(f->docs->rule, n_x));
    new_stamp(f);
    for (size_t i = 0; i < p.n && i < AHEAD; i++)
        bm_prefix_index_fetch(index, p.keys[i]);
    for (size_t i = 0; i < p.n; i++) {
        if (i + AHEAD < p.n)
            bm_prefix_index_fetch(index, p.keys[i + AHEAD]);
        if (i > 0 && p.keys[i] == p.keys[i - 1])
            continue;
        size_t at = bm_prefix_index_find(index, p.keys[i]);
        if (at < index->n_entries && index->entries[at].position < first)
            at = skip_smaller(index, at, p.keys[i], first);
        for (; at < index->n_entries; at++) {
            const bm_prefix_entry *entry = &index->entries[at];
            if (entry->key != p.keys[i] || entry->position >= x)
                break;
            meet(f, entry, n_x, n_x - p.n_alone - i);
        }
    }
    return BM_OK;
}
