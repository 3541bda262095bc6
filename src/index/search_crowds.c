/* SPDX-License-Identifier: Apache-2.0 */
/* search_crowds.c -- see search_hits.h.
 *
 *     crowded keys -> crowds: keys connected by queries, with the documents and queries that have
 *                     them
 *     hits of a query with a document of its crowd -> extras of the crowd
 *     a block of a crowd's documents (search_hits.h), with bits of the documents of each key
 *             -> each query: bits of its keys and extras, counts for each kind -> answers
 *
 * A query belongs to one crowd at most; a document of the index may be in several. Each pair is
 * compared once. The compared pairs and the answers do not depend on how crowds form, how they are
 * cut into blocks, or which threads work on them.
 *
 * Tests: tests/unit/index/test_search.c */
#include "base/bisect.h"
#include "index/search_hits.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"
#include "lsh/groups.h"
#include "lsh/verify.h"

#define NONE            UINT32_MAX
#define BLOCK_MEMORY    64u                 /* bytes of memory that a block takes per shingle */
#define BLOCK_LEAST     ((uint64_t)1 << 17) /* lower bound of shingles_a_block */
#define BLOCK_MOST      ((uint64_t)1 << 22)
#define DOCS_A_RANGE    256u /* least number of queries in a range */
#define RANGES_A_THREAD 8u
#define BITS_FROM       32u /* keys of more than n / BITS_FROM documents have bits, others a list */
#define BEFORE_STEP     128u
#define WORD_BITS       64u
#define WORDS_A_STEP    8u /* words that the processor combines by OR at once */

/* --- answers --- */

static bm_status found_add(bm_found_list *found, bm_found one, bm_error *err)
{
    if (found->n == found->cap) {
        const bm_status status = bm_grow_array(&found->list, &found->cap, found->n + 1, err);
        if (status != BM_OK)
            return status;
    }
    found->list[found->n++] = one;
    return BM_OK;
}

/* The heap has the worst answer first. */
static bool is_worse(const void *ctx, const void *x, const void *y)
{
    (void)ctx;
    return bm_answer_before(&((const bm_found *)y)->answer, &((const bm_found *)x)->answer);
}

bm_status bm_found_keep(bm_found_list *found, uint32_t top, bm_found one, bm_error *err)
{
    bm_heap heap = {found->list, found->n, sizeof one, is_worse, NULL};
    if (top == 0 || found->n < top) {
        BM_TRY(found_add(found, one, err));
        if (top == 0)
            return BM_OK;
        heap.entries = found->list;
        heap.n = found->n;
        bm_heap_rise(&heap, heap.n - 1);
    } else if (is_worse(NULL, found->list, &one)) {
        found->list[0] = one;
        bm_heap_sink(&heap, 0);
    }
    return BM_OK;
}

/* --- crowds --- */

typedef struct crowds {
    bm_crowd_search *search;
    size_t n;
    const bm_crowded_key **keys; /* keys, crowd by crowd */
    size_t n_keys;
    /* for each crowd: where its entries begin in `keys`, `docs` and `numbers`; n + 1 entries */
    size_t *keys_begin, *docs_begin, *numbers_begin;
    uint32_t *crowd_of; /* for each document of the batch: its crowd; NONE: it is in no crowd */
    uint32_t *docs;     /* documents of the batch, crowd by crowd, ascending in each */
    /* for each document of the batch, where its keys begin in `doc_keys`; n + 1 entries */
    size_t *doc_keys_begin;
    uint32_t *doc_keys; /* indexes in `keys` */
    uint32_t *numbers;  /* numbers of documents of the index, crowd by crowd, ascending in each */
    uint64_t *extras;   /* each is document << 32 | number; ascending */
    size_t n_extras, cap_extras;
    size_t n_answers; /* number of answers so far */
} crowds;

/* Join the keys of each document of the batch, so that they get into one crowd. crowd_of[] of a
 * document becomes its first key. */
static bm_status join_keys(crowds *c, bm_union_find *joined, bm_error *err)
{
    const size_t n = c->search->n;
    BM_TRY(bm_union_find_init(joined, c->n_keys, err));
    BM_TRY(bm_new(&c->crowd_of, n, err));
    memset(c->crowd_of, 0xff, n * sizeof *c->crowd_of);
    for (size_t k = 0; k < c->n_keys; k++)
        for (size_t i = 0; i < c->keys[k]->n_docs; i++) {
            uint32_t *key = &c->crowd_of[c->keys[k]->docs[i]];
            if (*key == NONE)
                *key = (uint32_t)k;
            else
                bm_union_find_link(joined, *key, (uint32_t)k);
        }
    return BM_OK;
}

/* Sort the keys by crowd. Crowds are numbered in the order of their first keys. crowd_of[] of a
 * document changes from a key to the crowd of that key. */
static bm_status sort_keys(crowds *c, bm_union_find *joined, bm_error *err)
{
    bm_status status = BM_OK;
    const bm_crowded_key **sorted = bm_alloc(c->n_keys, sizeof *sorted);
    uint32_t *crowd = bm_alloc(c->n_keys, sizeof *crowd); /* for each key */
    c->keys_begin = bm_alloc_zero(c->n_keys + 2, sizeof *c->keys_begin);
    if (sorted == NULL || crowd == NULL || c->keys_begin == NULL) {
        status = bm_fail_nomem(err, c->n_keys * 3 * sizeof *sorted);
        goto out;
    }
    for (size_t k = 0; k < c->n_keys; k++) { /* the smallest of the joined keys is their root */
        const uint32_t root = bm_union_find_root(joined, (uint32_t)k);
        crowd[k] = root == k ? (uint32_t)c->n++ : crowd[root];
        c->keys_begin[crowd[k] + 2]++;
    }
    for (size_t i = 2; i < c->n + 2; i++)
        c->keys_begin[i] += c->keys_begin[i - 1];
    for (size_t k = 0; k < c->n_keys; k++)
        sorted[c->keys_begin[crowd[k] + 1]++] = c->keys[k];
    for (size_t i = 0; i < c->search->n; i++)
        if (c->crowd_of[i] != NONE)
            c->crowd_of[i] = crowd[c->crowd_of[i]];
    memcpy(c->keys, sorted, c->n_keys * sizeof *sorted);
out:
    bm_free_all(sorted, crowd);
    return status;
}

static bm_status list_docs(crowds *c, bm_error *err)
{
    const size_t n = c->search->n;
    BM_TRY(bm_new(&c->docs, n, err));
    BM_TRY(bm_new_zero(&c->docs_begin, c->n + 2, err));
    for (size_t i = 0; i < n; i++)
        if (c->crowd_of[i] != NONE)
            c->docs_begin[c->crowd_of[i] + 2]++;
    for (size_t i = 2; i < c->n + 2; i++)
        c->docs_begin[i] += c->docs_begin[i - 1];
    for (size_t i = 0; i < n; i++)
        if (c->crowd_of[i] != NONE)
            c->docs[c->docs_begin[c->crowd_of[i] + 1]++] = (uint32_t)i;
    return bm_crowded_doc_keys(c->keys, c->n_keys, n, &c->doc_keys_begin, &c->doc_keys, err);
}

/* Append the distinct numbers of a crowd's keys to c->numbers, ascending. The numbers are collected
 * in a bitmap from the smallest to the largest one, or sorted if these two are too far apart. */
static bm_status add_numbers(crowds *c, size_t crowd, size_t *n, size_t *cap, bm_error *err)
{
    const size_t begin = c->keys_begin[crowd], end = c->keys_begin[crowd + 1];
    uint32_t low = UINT32_MAX, high = 0;
    size_t all = 0;
    for (size_t k = begin; k < end; k++) {
        const bm_crowded_key *key = c->keys[k];
        low = key->numbers[0] < low ? key->numbers[0] : low;
        high = key->numbers[key->n_numbers - 1] > high ? key->numbers[key->n_numbers - 1] : high;
        all += key->n_numbers;
    }
    const size_t n_words = (high - low) / WORD_BITS + 1;
    const bool sorted = n_words > all;
    uint64_t *scratch = bm_alloc_zero(sorted ? all : n_words, sizeof *scratch);
    bm_status status = BM_OK;
    if (scratch == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, all * sizeof *scratch));
    size_t found = 0;
    for (size_t k = begin; k < end; k++)
        for (size_t i = 0; i < c->keys[k]->n_numbers; i++) {
            const uint32_t number = c->keys[k]->numbers[i] - low;
            if (sorted)
                scratch[found++] = number;
            else
                scratch[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
        }
    for (size_t w = 0; !sorted && w < n_words; w++)
        found += (size_t)__builtin_popcountll(scratch[w]);
    if (sorted)
        BM_TRY_OUT(bm_hits_sort(scratch, &found, err));
    BM_TRY_OUT(bm_grow_array(&c->numbers, cap, *n + found, err));
    for (size_t i = 0; sorted && i < found; i++)
        c->numbers[(*n)++] = low + (uint32_t)scratch[i];
    for (size_t w = 0; !sorted && w < n_words; w++)
        for (uint64_t bits = scratch[w]; bits != 0; bits &= bits - 1)
            c->numbers[(*n)++] = low + (uint32_t)(w * WORD_BITS) + (uint32_t)__builtin_ctzll(bits);
out:
    bm_free(scratch);
    return status;
}

static bool has_number(const crowds *c, uint32_t crowd, uint32_t number)
{
    const uint32_t *list = c->numbers + c->numbers_begin[crowd];
    const size_t n = c->numbers_begin[crowd + 1] - c->numbers_begin[crowd];
    const size_t at = bm_numbers_below(list, n, number);
    return at < n && list[at] == number;
}

/* If a query has a hit with a document of its own crowd, move the hit from the lists to the extras.
 * In a list, hits of one number are adjacent. */
static bm_status extract_extras(crowds *c, bm_error *err)
{
    bm_search_hits *hits = c->search->hits;
    for (size_t i = 0; i < hits->n_lists; i++) {
        bm_hit_list *list = &hits->lists[i];
        uint32_t last_number = 0, last_crowd = NONE;
        bool there = false;
        size_t kept = 0;
        for (size_t k = 0; k < list->n; k++) {
            const uint64_t hit = list->list[k];
            const uint32_t number = (uint32_t)(hit >> 32), crowd = c->crowd_of[(uint32_t)hit];
            if (crowd != NONE && (crowd != last_crowd || number != last_number)) {
                there = has_number(c, crowd, number);
                last_crowd = crowd;
                last_number = number;
            }
            if (crowd == NONE || !there) {
                list->list[kept++] = hit;
                continue;
            }
            BM_TRY(bm_grow_array(&c->extras, &c->cap_extras, c->n_extras + 1, err));
            c->extras[c->n_extras++] = hit << 32 | number;
        }
        list->n = kept;
    }
    return bm_hits_sort(c->extras, &c->n_extras, err);
}

static bm_status gather(crowds *c, bm_error *err)
{
    bm_union_find joined = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_crowded_keys(c->search->hits, &c->keys, &c->n_keys, err));
    BM_TRY_OUT(join_keys(c, &joined, err));
    BM_TRY_OUT(sort_keys(c, &joined, err));
    BM_TRY_OUT(list_docs(c, err));
    /* Collect the documents of the index in each crowd. */
    size_t n = 0, cap = 0;
    BM_TRY_OUT(bm_new_zero(&c->numbers_begin, c->n + 1, err));
    for (size_t i = 0; i < c->n; i++) {
        BM_TRY_OUT(add_numbers(c, i, &n, &cap, err));
        c->numbers_begin[i + 1] = n;
    }
    status = extract_extras(c, err);
out:
    bm_union_find_reset(&joined);
    return status;
}

/* --- a block --- */

/* A range of queries; kept through all blocks of a crowd. */
typedef struct joined_range {
    bm_union_find joined; /* sets of queries that have an answer in common; elements are indexes of
                           * queries in the range */
    bm_answer *best;      /* for each query: the best answer so far; negative similarity: no answer
                           * yet */
} joined_range;

/* The documents of a block that have a key: one bit for each place or, for few documents, a list of
 * places. */
typedef struct block_key {
    uint64_t *bits;
    uint32_t *places;
    size_t n; /* number of documents of the block that have the key */
} block_key;

typedef struct crowd_block {
    crowds *crowds;
    size_t crowd;
    bm_search_block block;
    size_t n_words;   /* words that have one bit for each place */
    block_key *keys;  /* the keys of the crowd */
    uint64_t *bits;   /* the memory of all keys[].bits */
    uint32_t *places; /* the memory of all keys[].places */
    /* set if queries have a last candidate. Row i, i = 1, 2, …, has the bits of the first i *
     * BEFORE_STEP documents of the block */
    uint64_t *before;
    const uint32_t *docs; /* documents of the batch that are in the crowd; a range has `grain` of
                             them */
    size_t n_docs, grain;
    bm_found_list *found; /* a list for each range of queries or, with `top`, for each query */
    joined_range *joined; /* for each range of queries; NULL without cfg->joins */
    uint32_t least_words; /* SIGNATURES: the number of equal words that suffices */
    atomic_size_t n_answers;
    atomic_bool many;
} crowd_block;

/* Return the numbers of a key that are in the block; *n becomes their count. */
static const uint32_t *numbers_of(const crowd_block *b, const bm_crowded_key *key, size_t *n)
{
    const bm_search_block *block = &b->block;
    const size_t begin = bm_numbers_below(key->numbers, key->n_numbers, block->numbers[0]);
    const uint32_t *first = key->numbers + begin;
    *n =
        bm_numbers_below(first, key->n_numbers - begin, (uint64_t)block->numbers[block->n - 1] + 1);
    return first;
}

static inline void set_bit(uint64_t *words, uint32_t place)
{
    words[place / WORD_BITS] |= UINT64_C(1) << place % WORD_BITS;
}

static bm_status place_first(crowd_block *b, bm_error *err)
{
    const bm_search_block *block = &b->block;
    const size_t n_rows = block->n / BEFORE_STEP;
    if (b->crowds->search->hits->last == NULL)
        return BM_OK;
    BM_TRY(bm_new_zero(&b->before, n_rows * b->n_words, err));
    for (size_t r = 0; r < n_rows; r++) {
        uint64_t *row = b->before + r * b->n_words;
        if (r > 0)
            memcpy(row, row - b->n_words, b->n_words * sizeof *row);
        for (size_t i = r * BEFORE_STEP; i < (r + 1) * BEFORE_STEP; i++)
            set_bit(row, block->place[i]);
    }
    return BM_OK;
}

static bm_status place_keys(crowd_block *b, bm_error *err)
{
    const crowds *c = b->crowds;
    const bm_search_block *block = &b->block;
    const size_t first = c->keys_begin[b->crowd], n_keys = c->keys_begin[b->crowd + 1] - first;
    size_t n_bits = 0, n_places = 0, n;
    b->n_words = (block->n + WORD_BITS - 1) / WORD_BITS;
    for (size_t k = 0; k < n_keys; k++) {
        numbers_of(b, c->keys[first + k], &n);
        if (n * BITS_FROM > block->n)
            n_bits += b->n_words;
        else
            n_places += n;
    }
    BM_TRY(bm_new_zero(&b->keys, n_keys, err));
    BM_TRY(bm_new_zero(&b->bits, n_bits, err));
    BM_TRY(bm_new(&b->places, n_places, err));
    n_bits = n_places = 0;
    for (size_t k = 0; k < n_keys; k++) {
        const uint32_t *numbers = numbers_of(b, c->keys[first + k], &n);
        block_key *key = &b->keys[k];
        key->n = n;
        if (n * BITS_FROM > block->n) {
            key->bits = b->bits + n_bits;
            n_bits += b->n_words;
        } else {
            key->places = b->places + n_places;
            n_places += n;
        }
        for (size_t i = 0, at = 0; i < n; i++) {
            while (block->numbers[at] != numbers[i])
                at++;
            const uint32_t place = block->place[at];
            if (key->bits != NULL)
                set_bit(key->bits, place);
            else
                key->places[i] = place;
        }
    }
    return BM_OK;
}

/* --- the queries of a block --- */

/* With cfg->joins: the documents that the queries of a range found in a block. */
typedef struct joining {
    uint64_t *found;   /* bits of the places found */
    uint32_t *finder;  /* for each place found: index in the range of the query that found it
                          first */
    uint32_t *of_word; /* for each word of `found`: if all finders of its places are joined, one of
                          these queries; else NONE */
    uint8_t *closed;   /* for each kind, 1: all its places were found, and all finders of these
                          places are joined */
} joining;

typedef struct asker {
    crowd_block *b;
    bm_found_list *found;
    bm_block_counts counts;
    uint64_t *asked;   /* bits of the query's candidates */
    uint64_t *matched; /* with joins: bits of the query's answers */
    uint32_t *words;   /* with joins: indexes of the words of `matched` that are not 0 */
    size_t n_matched_words;
    uint32_t *least; /* for each size: the least number of shared shingles that suffices; NONE: no
                        number suffices */
    joining joining;
    joined_range *joined; /* used with joins */
} asker;

static void asker_reset(asker *a)
{
    bm_block_counts_reset(&a->counts);
    bm_free_all(a->asked, a->matched, a->words, a->joining.closed, a->least, a->joining.found,
                a->joining.finder, a->joining.of_word);
}

static bm_status asker_init(asker *a, crowd_block *b, bm_error *err)
{
    const bm_search_block *block = &b->block;
    joining *j = &a->joining;
    *a = (asker){.b = b};
    BM_TRY(bm_block_counts_init(&a->counts, block, err));
    BM_TRY(bm_new(&a->asked, b->n_words, err));
    BM_TRY(bm_new(&a->least, block->n_sizes, err));
    if (!b->crowds->search->cfg->joins)
        return BM_OK;
    BM_TRY(bm_new_zero(&a->matched, b->n_words, err));
    BM_TRY(bm_new(&a->words, b->n_words, err));
    BM_TRY(bm_new_zero(&j->closed, block->n_kinds, err));
    BM_TRY(bm_new_zero(&j->found, b->n_words, err));
    BM_TRY(bm_new(&j->finder, block->n, err));
    return bm_new(&j->of_word, b->n_words, err);
}

/* Keep only the first `n` documents of the block as candidates. */
static void drop_from(asker *a, size_t n)
{
    const crowd_block *b = a->b;
    const size_t row = (n + BEFORE_STEP - 1) / BEFORE_STEP; /* the first row of `before`, counted
                                                             * from 1, that has the first n
                                                             * documents */
    const uint32_t *place = b->block.place;
    uint64_t *restrict asked = a->asked;
    size_t end = b->block.n;
    if (row > 0 && row * BEFORE_STEP <= end) {
        const uint64_t *restrict before = b->before + (row - 1) * b->n_words;
        for (size_t w = 0, n_words = b->n_words; w < n_words; w++)
            asked[w] &= before[w];
        end = row * BEFORE_STEP;
    }
    for (; n < end; n++)
        asked[place[n] / WORD_BITS] &= ~(UINT64_C(1) << place[n] % WORD_BITS);
}

/* Set the bits of the candidates of a query in the block, and return their number. */
static size_t list_asked(asker *a, uint32_t doc)
{
    const crowd_block *b = a->b;
    const crowds *c = b->crowds;
    const bm_search_block *block = &b->block;
    const size_t first_key = c->keys_begin[b->crowd];
    const uint32_t *bound = c->search->hits->last, end = bound == NULL ? UINT32_MAX : bound[doc];
    uint64_t *asked = a->asked;
    if (end < block->numbers[0])
        return 0;
    memset(asked, 0, b->n_words * sizeof *asked);
    for (size_t i = c->doc_keys_begin[doc]; i < c->doc_keys_begin[doc + 1]; i++) {
        const block_key *key = &b->keys[c->doc_keys[i] - first_key];
        if (key->bits != NULL)
            bm_bits_add(asked, key->bits, b->n_words);
        for (size_t k = 0; key->bits == NULL && k < key->n; k++)
            set_bit(asked, key->places[k]);
        a->counts.steps += key->bits != NULL ? b->n_words / WORDS_A_STEP : key->n;
    }
    const uint64_t first = (uint64_t)doc << 32 | block->numbers[0],
                   last = (uint64_t)doc << 32 | block->numbers[block->n - 1];
    bm_bisect extra = {0, c->n_extras};
    while (extra.low < extra.high)
        bm_bisect_go(&extra, c->extras[bm_middle(&extra)] < first);
    for (size_t i = extra.low; i < c->n_extras && c->extras[i] <= last; i++) {
        const size_t at = bm_numbers_below(block->numbers, block->n, (uint32_t)c->extras[i]);
        set_bit(asked, block->place[at]);
    }
    if (end < block->numbers[block->n - 1])
        drop_from(a, bm_numbers_below(block->numbers, block->n, (uint64_t)end + 1));
    return bm_bits_count(asked, b->n_words);
}

/* With skip_same_id: if a candidate has the same id as the query, remove it. *was: there was such a
 * candidate. */
static bm_status skip_own_id(asker *a, uint32_t doc, bool *was, bm_error *err)
{
    const bm_crowd_search *s = a->b->crowds->search;
    const bm_search_block *block = &a->b->block;
    uint32_t number;
    *was = false;
    if (!s->cfg->skip_same_id)
        return BM_OK;
    bm_status status = bm_store_view_id(s->cfg->view, s->batch->ids[doc], &number, err);
    if (status != BM_OK)
        return status == BM_NOT_FOUND ? BM_OK : status;
    const size_t at = bm_numbers_below(block->numbers, block->n, number);
    if (at == block->n || block->numbers[at] != number)
        return BM_OK;
    uint64_t *word = &a->asked[block->place[at] / WORD_BITS];
    const uint64_t bit = UINT64_C(1) << block->place[at] % WORD_BITS;
    *was = (*word & bit) != 0;
    *word &= ~bit;
    return BM_OK;
}

static double similarity(const asker *a, uint32_t doc, uint32_t kind, uint32_t shared)
{
    const bm_crowd_search *s = a->b->crowds->search;
    const bm_search_block *block = &a->b->block;
    if (s->cfg->facts->kind == BM_STORE_SIGNATURES)
        return (double)shared / (double)s->cfg->facts->words;
    return bm_jaccard(shared, s->batch->n_shingles[doc], block->sizes[block->kind_size[kind]]);
}

static void find_least(asker *a, uint32_t doc)
{
    const bm_crowd_search *s = a->b->crowds->search;
    const bm_search_block *block = &a->b->block;
    for (size_t i = 0; i < block->n_sizes; i++) {
        const size_t least = s->cfg->facts->kind == BM_STORE_SIGNATURES
                                 ? a->b->least_words
                                 : bm_jaccard_least_common(s->batch->n_shingles[doc],
                                                           block->sizes[i], s->cfg->threshold);
        a->least[i] = least >= NONE ? NONE : (uint32_t)least;
    }
}

static inline bool is_enough(const asker *a, uint32_t kind, uint32_t shared)
{
    return shared >= a->least[a->b->block.kind_size[kind]];
}

/* A mask of those bits in word w that belong to the places begin … end-1. */
static inline uint64_t bits_within(size_t w, size_t begin, size_t end)
{
    uint64_t bits = UINT64_MAX;
    if (w == begin / WORD_BITS)
        bits &= UINT64_MAX << begin % WORD_BITS;
    if (w == end / WORD_BITS)
        bits &= (UINT64_C(1) << end % WORD_BITS) - 1;
    return bits;
}

/* Add the candidates of a kind that are still in a->asked, in ascending order of numbers. These
 * candidates share no rare shingle with the query. Stops when no later candidate can be among the
 * best `top`. */
static bm_status keep_kind(asker *a, uint32_t doc, uint32_t kind, bm_error *err)
{
    const bm_search_block *block = &a->b->block;
    const uint32_t top = a->b->crowds->search->cfg->top;
    const size_t begin = block->kind_begin[kind], end = block->kind_begin[kind + 1];
    bm_found one = {doc, {0, similarity(a, doc, kind, a->counts.shared[kind])}};
    for (size_t w = begin / WORD_BITS; w * WORD_BITS < end; w++) {
        uint64_t bits = a->asked[w] & bits_within(w, begin, end);
        for (; bits != 0; bits &= bits - 1) {
            const size_t place = w * WORD_BITS + (size_t)__builtin_ctzll(bits);
            one.answer.number = block->number_at[place];
            a->counts.steps++;
            if (top != 0 && a->found->n == top &&
                !bm_answer_before(&one.answer, &a->found->list[0].answer))
                return BM_OK;
            BM_TRY(bm_found_keep(a->found, top, one, err));
        }
    }
    return BM_OK;
}

/* Add all answers of a query, or the best `top`. */
static bm_status keep_answers(asker *a, uint32_t doc, bm_error *err)
{
    const bm_search_block *block = &a->b->block;
    const bm_block_counts *counts = &a->counts;
    const uint32_t top = a->b->crowds->search->cfg->top;
    for (size_t i = 0; i < counts->n_touched; i++) {
        const uint32_t place = counts->touched[i], kind = block->kind_of[place];
        const uint32_t shared = counts->shared[kind] + counts->rare[place];
        uint64_t *word = &a->asked[place / WORD_BITS];
        const uint64_t bit = UINT64_C(1) << place % WORD_BITS;
        if ((*word & bit) == 0)
            continue;
        *word &= ~bit;
        if (!is_enough(a, kind, shared))
            continue;
        const bm_answer answer = {block->number_at[place], similarity(a, doc, kind, shared)};
        BM_TRY(bm_found_keep(a->found, top, (bm_found){doc, answer}, err));
    }
    for (size_t k = 0; k < block->n_kinds; k++)
        if (is_enough(a, (uint32_t)k, counts->shared[k]))
            BM_TRY(keep_kind(a, doc, (uint32_t)k, err));
    return BM_OK;
}

/* --- queries with an answer in common --- */

static void add_matched(asker *a, size_t w, uint64_t bits)
{
    if (a->matched[w] == 0 && bits != 0)
        a->words[a->n_matched_words++] = (uint32_t)w;
    a->matched[w] |= bits;
    a->counts.steps++;
}

/* Set the bits of a query's answers in a->matched, and set *best to the best answer. In a closed
 * kind, the candidates that share no rare shingle are equal, and only the first is set. Returns
 * false if there is no answer. */
static bool match(asker *a, uint32_t doc, bm_answer *best)
{
    const bm_search_block *block = &a->b->block;
    const bm_block_counts *counts = &a->counts;
    bool any = false;
    for (size_t i = 0; i < counts->n_touched; i++) {
        const uint32_t place = counts->touched[i], kind = block->kind_of[place];
        const uint32_t shared = counts->shared[kind] + counts->rare[place];
        const uint64_t bit = UINT64_C(1) << place % WORD_BITS;
        if ((a->asked[place / WORD_BITS] & bit) == 0)
            continue;
        a->asked[place / WORD_BITS] &= ~bit;
        if (!is_enough(a, kind, shared))
            continue;
        const bm_answer one = {block->number_at[place], similarity(a, doc, kind, shared)};
        add_matched(a, place / WORD_BITS, bit);
        if (!any || bm_answer_before(&one, best))
            *best = one;
        any = true;
    }
    for (size_t k = 0; k < block->n_kinds; k++) {
        const size_t begin = block->kind_begin[k], end = block->kind_begin[k + 1];
        bm_answer one = {0, 0};
        if (!is_enough(a, (uint32_t)k, counts->shared[k]))
            continue;
        bool first = true;
        for (size_t w = begin / WORD_BITS; w * WORD_BITS < end; w++) {
            const uint64_t bits = a->asked[w] & bits_within(w, begin, end);
            const bool closed = a->joining.closed[k];
            add_matched(a, w, closed ? bits & (~bits + 1) : bits);
            if (bits == 0 || !first)
                continue;
            first = false;
            one.number = block->number_at[w * WORD_BITS + (size_t)__builtin_ctzll(bits)];
            one.similarity = similarity(a, doc, (uint32_t)k, counts->shared[k]);
            if (!any || bm_answer_before(&one, best))
                *best = one;
            any = true;
            if (closed)
                break;
        }
    }
    return any;
}

/* Close the kind if all its places were found, and all their finders are joined. */
static void close_kind(asker *a, size_t kind)
{
    const bm_search_block *block = &a->b->block;
    joining *j = &a->joining;
    const size_t begin = block->kind_begin[kind], end = block->kind_begin[kind + 1];
    uint32_t root = NONE;
    for (size_t w = begin / WORD_BITS; w * WORD_BITS < end; w++) {
        const uint64_t bits = bits_within(w, begin, end);
        if ((j->found[w] & bits) != bits || j->of_word[w] == NONE)
            return;
        const uint32_t of_word = bm_union_find_root(&a->joined->joined, j->of_word[w]);
        if (root != NONE && of_word != root)
            return;
        root = of_word;
        a->counts.steps++;
    }
    j->closed[kind] = 1;
}

static bm_status add_place(asker *a, uint32_t doc, size_t place, bm_error *err)
{
    const bm_search_block *block = &a->b->block;
    const uint32_t kind = block->kind_of[place];
    const uint32_t shared = a->counts.shared[kind] + a->counts.rare[place];
    a->counts.steps++;
    return found_add(a->found,
                     (bm_found){doc, {block->number_at[place], similarity(a, doc, kind, shared)}},
                     err);
}

/* Join the query with the finders of the places in word w that it also found. Then add the
 * necessary answers. These are the places that no query of the range found before, and one place
 * for each group of finders that is joined with the query only now. */
static bm_status join_word(asker *a, uint32_t doc, uint32_t self, size_t w, bm_error *err)
{
    joining *j = &a->joining;
    const uint64_t matched = a->matched[w], before = j->found[w], met = matched & before;
    bm_status status = BM_OK;
    a->counts.steps++;
    if (met != 0 && j->of_word[w] != NONE) {
        if (bm_union_find_link(&a->joined->joined, j->of_word[w], self))
            BM_TRY_OUT(add_place(a, doc, w * WORD_BITS + (size_t)__builtin_ctzll(met), err));
    } else {
        for (uint64_t bits = met; bits != 0; bits &= bits - 1) {
            const size_t place = w * WORD_BITS + (size_t)__builtin_ctzll(bits);
            if (bm_union_find_link(&a->joined->joined, j->finder[place], self))
                BM_TRY_OUT(add_place(a, doc, place, err));
        }
    }
    /* If this query found all places of the word that were found before, it is now joined with all
     * finders of the word. Otherwise, if it found new places and is not joined with all earlier
     * finders, the finders may be in separate groups. */
    if (met == before)
        j->of_word[w] = self;
    else if (matched != met && (met == 0 || j->of_word[w] == NONE))
        j->of_word[w] = NONE;
    for (uint64_t bits = matched & ~before; bits != 0; bits &= bits - 1) {
        const size_t place = w * WORD_BITS + (size_t)__builtin_ctzll(bits);
        j->finder[place] = self;
        BM_TRY_OUT(add_place(a, doc, place, err));
    }
out:
    j->found[w] |= matched;
    return status;
}

static bm_status keep_joins(asker *a, uint32_t doc, uint32_t self, bm_error *err)
{
    bm_answer one, *best = &a->joined->best[self];
    bm_status status = BM_OK;
    if (!match(a, doc, &one))
        return BM_OK; /* `match` has set no bits that `out` would clear */
    if (best->similarity < 0 || bm_answer_before(&one, best)) {
        *best = one;
        BM_TRY_OUT(found_add(a->found, (bm_found){doc, one}, err));
    }
    for (size_t i = 0; i < a->n_matched_words; i++)
        BM_TRY_OUT(join_word(a, doc, self, a->words[i], err));
    for (size_t k = 0; k < a->b->block.n_kinds; k++)
        if (!a->joining.closed[k] && is_enough(a, (uint32_t)k, a->counts.shared[k]))
            close_kind(a, k);
out:
    for (size_t i = 0; i < a->n_matched_words; i++)
        a->matched[a->words[i]] = 0;
    a->n_matched_words = 0;
    return status;
}

/* --- all queries --- */

static bm_status ask(asker *a, uint32_t doc, uint32_t self, bm_error *err)
{
    crowd_block *b = a->b;
    const bm_crowd_search *s = b->crowds->search;
    const uint32_t weight = s->weights != NULL ? s->weights[doc] : 1;
    const size_t n = list_asked(a, doc);
    bool same = false;
    const size_t before = a->found->n;
    a->found->candidates += (uint64_t)weight * n;
    bm_status status = n > 0 ? skip_own_id(a, doc, &same, err) : BM_OK;
    a->found->verified += (uint64_t)weight * (n - same);
    if (status != BM_OK || n == same)
        return status;
    bm_search_block_count(&b->block, s->cfg, s->batch, doc, &a->counts);
    find_least(a, doc);
    status = s->cfg->joins ? keep_joins(a, doc, self, err) : keep_answers(a, doc, err);
    const size_t more = a->found->n - before;
    if (atomic_fetch_add(&b->n_answers, more) + more > s->most && s->n > 1)
        atomic_store(&b->many, true);
    return status;
}

static bm_status ask_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    crowd_block *b = ctx;
    asker a;
    if (atomic_load(&b->many))
        return BM_OK;
    const bool each = b->crowds->search->cfg->top != 0; /* with `top`, each query has a list of
                                                           answers */
    bm_status status = asker_init(&a, b, err);
    a.found = &b->found[each ? begin : begin / b->grain];
    a.joined = b->joined == NULL ? NULL : &b->joined[begin / b->grain];
    for (size_t i = begin; status == BM_OK && i < end && !atomic_load(&b->many); i++) {
        if (each)
            a.found = &b->found[i];
        status = ask(&a, b->docs[i], (uint32_t)(i - begin), err);
    }
    a.found->steps += a.counts.steps;
    asker_reset(&a);
    return status;
}

static bm_status ask_block(crowd_block *b, bm_error *err)
{
    bm_crowd_search *s = b->crowds->search;
    const bm_pool_split split = {b->n_docs, b->grain};
    bm_status status = BM_OK;
    atomic_init(&b->n_answers, b->crowds->n_answers);
    atomic_init(&b->many, false);
    if (s->cfg->pool != NULL) {
        status = bm_pool_for(s->cfg->pool, split, ask_range, b, err);
    } else {
        for (size_t i = 0; status == BM_OK && i < b->n_docs; i += b->grain)
            status = ask_range(b, 0, i, b->n_docs - i < b->grain ? b->n_docs : i + b->grain, err);
    }
    b->crowds->n_answers = atomic_load(&b->n_answers);
    s->many = atomic_load(&b->many);
    return status;
}

/* Return the most shingles that a block may have. */
static uint64_t shingles_a_block(const bm_search_cfg *cfg)
{
    const uint64_t most = cfg->memory / BLOCK_MEMORY;
    if (cfg->memory == 0 || most > BLOCK_MOST)
        return BLOCK_MOST;
    return most < BLOCK_LEAST ? BLOCK_LEAST : most;
}

/* The least number of equal words that reaches the threshold. */
static uint32_t least_words(const bm_search_cfg *cfg)
{
    const uint32_t words = cfg->facts->words;
    uint32_t least = 0;
    while (least <= words && (double)least / (double)words < cfg->threshold)
        least++;
    return least;
}

static bm_status begin_joining(joined_range **out, size_t n_ranges, size_t grain, bm_error *err)
{
    joined_range *ranges = *out = bm_alloc_zero(n_ranges, sizeof *ranges);
    if (ranges == NULL)
        return bm_fail_nomem(err, n_ranges * sizeof *ranges);
    for (size_t i = 0; i < n_ranges; i++) {
        BM_TRY(bm_union_find_init(&ranges[i].joined, grain, err));
        if ((ranges[i].best = bm_alloc(grain, sizeof(bm_answer))) == NULL)
            return bm_fail_nomem(err, grain * sizeof(bm_answer));
        for (size_t k = 0; k < grain; k++)
            ranges[i].best[k].similarity = -1;
    }
    return BM_OK;
}

static void end_joining(joined_range *ranges, size_t n_ranges)
{
    for (size_t i = 0; ranges != NULL && i < n_ranges; i++) {
        bm_union_find_reset(&ranges[i].joined);
        bm_free(ranges[i].best);
    }
    bm_free(ranges);
}

static bm_status answer_block(crowd_block *b, const uint32_t *numbers, size_t n, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_search_block_make(b->crowds->search->cfg, numbers, n, &b->block, err));
    BM_TRY_OUT(place_keys(b, err));
    BM_TRY_OUT(place_first(b, err));
    status = ask_block(b, err);
out:
    bm_search_block_reset(&b->block);
    bm_free_all(b->keys, b->bits, b->places, b->before);
    b->before = NULL;
    b->keys = NULL;
    b->bits = NULL;
    b->places = NULL;
    return status;
}

/* Return the number of queries in a range. With joins, ranges are larger and therefore fewer,
 * because each range adds every document that is an answer of any of its queries. */
static size_t docs_a_range(const bm_search_cfg *cfg, size_t n_docs)
{
    const size_t threads = cfg->pool != NULL ? bm_pool_size(cfg->pool) : 1;
    const size_t grain = n_docs / (cfg->joins ? threads : RANGES_A_THREAD * threads) + 1;
    return grain < DOCS_A_RANGE ? DOCS_A_RANGE : grain;
}

static bm_status answer_crowd(crowds *c, size_t crowd, bm_error *err)
{
    bm_crowd_search *s = c->search;
    const size_t end = c->numbers_begin[crowd + 1];
    crowd_block b = {.crowds = c,
                     .crowd = crowd,
                     .docs = c->docs + c->docs_begin[crowd],
                     .n_docs = c->docs_begin[crowd + 1] - c->docs_begin[crowd],
                     .least_words = least_words(s->cfg)};
    b.grain = docs_a_range(s->cfg, b.n_docs);
    const size_t n_ranges = (b.n_docs + b.grain - 1) / b.grain;
    const size_t n_found = s->cfg->top != 0 ? b.n_docs : n_ranges;
    bm_status status = bm_grow_array(&s->found, &s->cap_found, s->n_found + n_found, err);
    if (status != BM_OK)
        return status;
    b.found = s->found + s->n_found;
    memset(b.found, 0, n_found * sizeof *b.found);
    s->n_found += n_found;
    if (s->cfg->joins)
        status = begin_joining(&b.joined, n_ranges, b.grain, err);
    for (size_t at = c->numbers_begin[crowd], n = 0; status == BM_OK && at < end && !s->many;
         at += n) {
        /* If queries have a last candidate, blocks are kept small: in a larger block, most queries
         * would find their last candidate before the end. */
        n = s->hits->last != NULL && end - at > s->cfg->first / 2 ? s->cfg->first / 2 + 1
                                                                  : end - at;
        status =
            bm_search_block_reach(s->cfg, c->numbers + at, n, shingles_a_block(s->cfg), &n, err);
        if (status == BM_OK)
            status = answer_block(&b, c->numbers + at, n, err);
    }
    end_joining(b.joined, n_ranges);
    return status;
}

bm_status bm_search_crowds(bm_crowd_search *search, bm_error *err)
{
    crowds c = {.search = search};
    size_t n_keys = 0;
    for (size_t i = 0; i < search->hits->n_lists; i++)
        n_keys += search->hits->lists[i].n_crowded;
    bm_status status = n_keys > 0 ? gather(&c, err) : BM_OK;
    for (size_t i = 0; status == BM_OK && i < c.n && !search->many; i++)
        status = answer_crowd(&c, i, err);
    bm_free_all(c.keys, c.keys_begin, c.docs_begin, c.numbers_begin, c.crowd_of, c.docs,
                c.doc_keys_begin, c.doc_keys, c.numbers, c.extras);
    return status;
}
