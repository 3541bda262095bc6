/* SPDX-License-Identifier: Apache-2.0 */
/* joiner.c -- bm_joiner: reads blocks, and makes a forest that links the documents that share a
 * key. A block contains entries (key, id hash of the document) and ids, or a forest.
 *
 *     entry     is put into one of 256 heaps (unsorted arrays), by bits 32 to 39 of its key. When
 *               all blocks are read, a hash table for each heap finds the first entry of each key,
 *               and links all other entries of the key to it: a key with n documents makes n - 1
 *               links
 *     id        is put into a heap by the lowest byte of its hash. When all blocks are read, hashes
 *               that occur more than once are recorded
 *     forest    its links are added at once
 *
 * Memory: 12 bytes per entry and 8 per document, up to one and a half times that while heaps grow,
 * and up to 26 bytes per linked document. The result is made in place: first the hash table is
 * freed, then the array of id hashes becomes the first column, and the rows are sorted without a
 * copy.
 *
 * Tests: tests/unit/distributed/test_joiner.c */
#include <bandmill/distributed.h>

#include <string.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "distributed/block.h"
#include "lsh/groups.h"
#include "lsh/verify.h"

#define HEAPS        256u
#define NODES_MAX    (UINT32_MAX - 1)
#define FOREST_LINKS ((BM_BLOCK_BYTES - BM_BLOCK_HEAD) / 16u) /* links that fit into a block */

typedef struct heap {
    uint32_t *keys;   /* low 32 bits of the key of each entry */
    uint64_t *hashes; /* id hash of each entry's document */
    uint64_t *ids;
    size_t n, cap_keys, cap_hashes, n_ids, cap_ids;
} heap;

/* The nodes of the forest are the linked documents. */
typedef struct forest {
    bm_hash_table table; /* id hash -> number of the node */
    uint64_t *hashes;    /* id hash of each node */
    bm_union_find sets;  /* the root of a set is the node with the smallest number */
    size_t cap_hashes, cap_parents;
} forest;

/* Id hashes that occurred more than once. Until the array is sorted, it may list a hash several
 * times. */
typedef struct repeats {
    uint64_t *hashes;
    size_t n, cap;
} repeats;

struct bm_joiner {
    bm_joiner_counts counts;
    uint64_t settings;
    bool begun; /* a block was added */
    bool ended; /* the result was made, so the forest is gone */
    heap heaps[HEAPS];
    forest forest;
    repeats repeats;
};

/* --- the forest --- */

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    return bm_hash_seeded(((const uint64_t *)owner)[number], 0, seed);
}

static bool has_hash(const void *owner, uint32_t number, const void *key)
{
    return ((const uint64_t *)owner)[number] == *(const uint64_t *)key;
}

static bm_status node_of(forest *f, uint64_t hash, uint32_t *out, bm_error *err)
{
    BM_TRY(bm_hash_table_reserve(&f->table, hash_again, f->hashes, err));
    const uint64_t seeded = bm_hash_seeded(hash, 0, f->table.seed);
    const size_t at = bm_hash_table_find(&f->table, seeded, has_hash, f->hashes, &hash);
    if (!bm_hash_table_is_free(&f->table, at)) {
        *out = bm_hash_table_number(&f->table, at);
        return BM_OK;
    }
    const size_t n = f->sets.n;
    if (n >= NODES_MAX)
        return bm_fail(err, BM_ERR_NOMEM, "more than %u linked documents", NODES_MAX);
    BM_TRY(bm_grow_array(&f->hashes, &f->cap_hashes, n + 1, err));
    BM_TRY(bm_grow_array(&f->sets.parent, &f->cap_parents, n + 1, err));
    f->hashes[n] = hash;
    f->sets.parent[n] = (uint32_t)n;
    f->sets.n = n + 1;
    bm_hash_table_put(&f->table, at, seeded, (uint32_t)n);
    *out = (uint32_t)n;
    return BM_OK;
}

static bm_status link(forest *f, uint64_t x, uint64_t y, bm_error *err)
{
    uint32_t a, b;
    BM_TRY(node_of(f, x, &a, err));
    BM_TRY(node_of(f, y, &b, err));
    bm_union_find_link(&f->sets, a, b);
    return BM_OK;
}

static bm_status repeat(bm_joiner *joiner, uint64_t hash, bm_error *err)
{
    repeats *r = &joiner->repeats;
    BM_TRY(bm_grow_array(&r->hashes, &r->cap, r->n + 1, err));
    r->hashes[r->n++] = hash;
    return BM_OK;
}

/* --- adding blocks --- */

static uint64_t word_at(const char *at, size_t i)
{
    uint64_t word;
    memcpy(&word, at + i * sizeof word, sizeof word);
    return word;
}

static bm_status add_entries(bm_joiner *joiner, const bm_block_head *head, const char *at,
                             bm_error *err)
{
    for (size_t i = 0; i < head->n_ids; i++) {
        const uint64_t hash = word_at(at, i);
        heap *h = &joiner->heaps[hash & (HEAPS - 1)];
        BM_TRY(bm_grow_array(&h->ids, &h->cap_ids, h->n_ids + 1, err));
        h->ids[h->n_ids++] = hash;
    }
    at += head->n_ids * sizeof(uint64_t);
    const char *low = at + head->n * sizeof(uint64_t), *high = low + head->n * sizeof(uint32_t);
    for (size_t i = 0; i < head->n; i++) {
        heap *h = &joiner->heaps[(unsigned char)high[i]];
        BM_TRY(bm_grow_array(&h->keys, &h->cap_keys, h->n + 1, err));
        BM_TRY(bm_grow_array(&h->hashes, &h->cap_hashes, h->n + 1, err));
        memcpy(&h->keys[h->n], low + i * sizeof(uint32_t), sizeof(uint32_t));
        h->hashes[h->n++] = word_at(at, i);
    }
    return BM_OK;
}

static bm_status add_forest(bm_joiner *joiner, const bm_block_head *head, const char *at,
                            bm_error *err)
{
    for (size_t i = 0; i < head->n; i++)
        BM_TRY(link(&joiner->forest, word_at(at, 2 * i), word_at(at, 2 * i + 1), err));
    at += head->n * 2 * sizeof(uint64_t);
    for (size_t i = 0; i < head->n_ids; i++)
        BM_TRY(repeat(joiner, word_at(at, i), err));
    return BM_OK;
}

bm_status bm_joiner_open(bm_joiner **out, bm_error *err)
{
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the joiner given");
    return bm_new_zero(out, 1, err);
}

static bm_status check_open(const bm_joiner *joiner, bm_error *err)
{
    return joiner->ended ? bm_fail_field(err, "joiner", "the result was already made") : BM_OK;
}

bm_status bm_joiner_add(bm_joiner *joiner, const void *blocks, size_t size, bm_error *err)
{
    const char *at = blocks;
    if (joiner == NULL || (blocks == NULL && size > 0))
        return bm_fail_field(err, joiner == NULL ? "joiner" : "blocks", "nothing given");
    BM_TRY(check_open(joiner, err));
    while (size > 0) {
        bm_block_head head;
        BM_TRY(bm_block_read(at, size, &head, err));
        if (joiner->begun && head.settings != joiner->settings)
            return bm_fail(err, BM_ERR_FORMAT,
                           "blocks of documents that were cut, signed or split in different ways");
        joiner->begun = true;
        joiner->settings = head.settings;
        bm_joiner_counts_add(&joiner->counts, &head.counts);
        const char *body = at + BM_BLOCK_HEAD;
        BM_TRY(head.kind == BM_BLOCK_ENTRIES ? add_entries(joiner, &head, body, err)
                                             : add_forest(joiner, &head, body, err));
        at += bm_block_bytes(&head);
        size -= bm_block_bytes(&head);
    }
    return BM_OK;
}

const bm_joiner_counts *bm_joiner_count(const bm_joiner *joiner)
{
    return joiner != NULL ? &joiner->counts : NULL;
}

/* --- linking heaps --- */

#define AHEAD 8u /* how many entries ahead a slot is prefetched */

static uint64_t hash_of_key(const heap *h, size_t i, uint64_t seed)
{
    return bm_hash_seeded((uint64_t)(h->keys[i] * UINT32_C(0x9E3779B1)) << 32, 0, seed);
}

static uint64_t hash_key_again(const void *owner, uint32_t i, uint64_t seed)
{
    return hash_of_key(owner, i, seed);
}

static bool has_key(const void *owner, uint32_t i, const void *key)
{
    return ((const heap *)owner)->keys[i] == *(const uint32_t *)key;
}

static bm_status link_keys(bm_joiner *joiner, const heap *h, bm_hash_table *firsts, bm_error *err)
{
    BM_TRY(bm_hash_table_clear(firsts, h->n, err));
    for (size_t i = 0; i < h->n; i++) {
        BM_TRY(bm_hash_table_reserve(firsts, hash_key_again, h, err));
        if (i + AHEAD < h->n)
            bm_hash_table_fetch(firsts, hash_of_key(h, i + AHEAD, firsts->seed));
        const uint64_t hash = hash_of_key(h, i, firsts->seed);
        const size_t at = bm_hash_table_find(firsts, hash, has_key, h, &h->keys[i]);
        if (bm_hash_table_is_free(firsts, at)) {
            bm_hash_table_put(firsts, at, hash, (uint32_t)i);
            continue;
        }
        const uint64_t first = h->hashes[bm_hash_table_number(firsts, at)];
        if (first != h->hashes[i])
            BM_TRY(link(&joiner->forest, first, h->hashes[i], err));
    }
    return BM_OK;
}

static bm_status find_repeats(bm_joiner *joiner, const heap *h, bm_hash_table *firsts,
                              bm_error *err)
{
    BM_TRY(bm_hash_table_clear(firsts, h->n_ids, err));
    for (size_t i = 0; i < h->n_ids; i++) {
        BM_TRY(bm_hash_table_reserve(firsts, hash_again, h->ids, err));
        const uint64_t hash = bm_hash_seeded(h->ids[i], 0, firsts->seed);
        const size_t at = bm_hash_table_find(firsts, hash, has_hash, h->ids, &h->ids[i]);
        if (bm_hash_table_is_free(firsts, at))
            bm_hash_table_put(firsts, at, hash, (uint32_t)i);
        else
            BM_TRY(repeat(joiner, h->ids[i], err));
    }
    return BM_OK;
}

static void heap_reset(heap *h)
{
    bm_free_all(h->keys, h->hashes, h->ids);
    *h = (heap){0};
}

/* Sort the hashes, and remove duplicates. *n becomes the number of remaining hashes. */
static bm_status sort_distinct(uint64_t *hashes, size_t *n, bm_error *err)
{
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, *n + 1, err));
    bm_hashes_sort(hashes, *n, scratch);
    *n = bm_hashes_distinct(hashes, *n);
    bm_free(scratch);
    return BM_OK;
}

static bm_status link_heaps(bm_joiner *joiner, bm_error *err)
{
    bm_hash_table firsts = {0}; /* the first entry of each key, or of each id */
    bm_status status = BM_OK;
    for (size_t i = 0; i < HEAPS; i++) {
        heap *h = &joiner->heaps[i];
        if (h->n >= UINT32_MAX || h->n_ids >= UINT32_MAX)
            BM_TRY_OUT(bm_fail(err, BM_ERR_NOMEM, "too many entries in one part (more parts)"));
        BM_TRY_OUT(link_keys(joiner, h, &firsts, err));
        BM_TRY_OUT(find_repeats(joiner, h, &firsts, err));
        heap_reset(h);
    }
    status = sort_distinct(joiner->repeats.hashes, &joiner->repeats.n, err);
out:
    bm_hash_table_reset(&firsts);
    return status;
}

/* --- the result --- */

/* The nodes of the forest, in ascending order of their hashes. least[i] is the least hash in the
 * component of node i. */
typedef struct tree_rows {
    uint64_t *hashes, *least;
    size_t n;
} tree_rows;

static void tree_rows_reset(tree_rows *rows)
{
    bm_free_all(rows->hashes, rows->least);
}

#define FEW_ROWS 24 /* this many rows or fewer are sorted by insertion */

static void swap_rows(const tree_rows *rows, size_t a, size_t b)
{
    const uint64_t hash = rows->hashes[a], least = rows->least[a];
    rows->hashes[a] = rows->hashes[b], rows->least[a] = rows->least[b];
    rows->hashes[b] = hash, rows->least[b] = least;
}

/* Sort rows by insertion. */
static void insert_rows(const tree_rows *rows)
{
    for (size_t i = 1, at; i < rows->n; i++) {
        const uint64_t hash = rows->hashes[i], least = rows->least[i];
        for (at = i; at > 0 && rows->hashes[at - 1] > hash; at--) {
            rows->hashes[at] = rows->hashes[at - 1];
            rows->least[at] = rows->least[at - 1];
        }
        rows->hashes[at] = hash, rows->least[at] = least;
    }
}

/* Sort rows in place: few rows by insertion, others by a radix sort. The hashes of the rows agree
 * in all bits above the byte at `shift`. Each row is swapped into the range of its byte at `shift`.
 * Then each range is sorted by the next lower byte. */
static void sort_rows(const tree_rows *rows, unsigned shift)
{
    size_t at[256] = {0}, end[256], n = 0;
    if (rows->n <= FEW_ROWS) {
        insert_rows(rows);
        return;
    }
    for (size_t i = 0; i < rows->n; i++)
        at[rows->hashes[i] >> shift & 0xFF]++;
    for (size_t byte = 0; byte < 256; byte++) {
        end[byte] = n + at[byte];
        at[byte] = n;
        n = end[byte];
    }
    for (size_t byte = 0; byte < 256; byte++)
        while (at[byte] < end[byte]) {
            const size_t of = rows->hashes[at[byte]] >> shift & 0xFF, to = at[of]++;
            if (of != byte)
                swap_rows(rows, at[byte], to);
        }
    for (size_t byte = 0, begin = 0; byte < 256 && shift > 0; begin = end[byte++])
        sort_rows(&(tree_rows){rows->hashes + begin, rows->least + begin, end[byte] - begin},
                  shift - 8);
}

/* Convert the forest to rows, sorted by hash, which take over its hashes. Afterwards the forest is
 * empty. */
static bm_status order_nodes(forest *f, tree_rows *out, bm_error *err)
{
    const size_t n = f->sets.n;
    uint64_t *least;
    bm_hash_table_reset(&f->table);
    BM_TRY(bm_grow_array(&f->hashes, &f->cap_hashes, 1, err)); /* not NULL, even without nodes */
    BM_TRY(bm_new(&least, n + 1, err));
    if (n > 0)
        memcpy(least, f->hashes, n * sizeof *least);
    for (size_t i = 0; i < n; i++) {
        const uint32_t root = bm_union_find_root(&f->sets, (uint32_t)i);
        if (f->hashes[i] < least[root])
            least[root] = f->hashes[i];
    }
    for (size_t i = 0; i < n; i++) /* the root comes first, so least[root] keeps its value */
        least[i] = least[bm_union_find_root(&f->sets, (uint32_t)i)];
    *out = (tree_rows){f->hashes, least, n};
    f->hashes = NULL;
    bm_union_find_reset(&f->sets);
    *f = (forest){0};
    sort_rows(out, 56);
    return BM_OK;
}

/* Append a block with the next links, from index begins[0] on, and the next repeats, from index
 * begins[1] on. Sets taken[0] to the number of links in the block, and taken[1] to the number of
 * repeats in it. */
static bm_status put_forest(const bm_joiner *joiner, const tree_rows *links, const size_t begins[2],
                            bm_block_rows *rows, size_t taken[2], bm_error *err)
{
    const size_t n = links->n - begins[0], n_ids = joiner->repeats.n - begins[1];
    bm_block_head head = {.kind = BM_BLOCK_FOREST,
                          .n = (uint32_t)(n < FOREST_LINKS ? n : FOREST_LINKS),
                          .settings = joiner->settings};
    const size_t space = FOREST_LINKS - head.n;
    head.n_ids = (uint32_t)(n_ids < space ? n_ids : space);
    if (rows->n == 0)
        head.counts = joiner->counts;
    char *block;
    BM_TRY(bm_block_rows_add(rows, 0, bm_block_bytes(&head), &block, err));
    char *at = block + BM_BLOCK_HEAD;
    for (size_t i = 0; i < head.n; i++, at += 16) {
        memcpy(at, &links->hashes[begins[0] + i], 8);
        memcpy(at + 8, &links->least[begins[0] + i], 8);
    }
    if (head.n_ids > 0)
        memcpy(at, joiner->repeats.hashes + begins[1], head.n_ids * sizeof(uint64_t));
    bm_block_seal(&head, block);
    taken[0] = head.n, taken[1] = head.n_ids;
    return BM_OK;
}

/* Check the arguments of a call that makes the result, and link the entries. Afterwards the joiner
 * has ended. */
static bm_status end(bm_joiner *joiner, const void *schema, const void *array, bm_error *err)
{
    if (joiner == NULL)
        return bm_fail_field(err, "joiner", "no joiner given");
    if (schema == NULL || array == NULL)
        return bm_fail_field(err, schema == NULL ? "schema" : "array", "no place for rows given");
    BM_TRY(check_open(joiner, err));
    joiner->ended = true;
    return link_heaps(joiner, err);
}

bm_status bm_joiner_forest(bm_joiner *joiner, struct ArrowSchema *schema, struct ArrowArray *array,
                           bm_error *err)
{
    tree_rows nodes = {0};
    bm_block_rows rows = {0};
    size_t at[2] = {0, 0};
    BM_TRY(end(joiner, schema, array, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(order_nodes(&joiner->forest, &nodes, err));
    size_t n = 0;
    for (size_t i = 0; i < nodes.n; i++) /* drop the least node of each component: it has no link */
        if (nodes.hashes[i] != nodes.least[i]) {
            nodes.hashes[n] = nodes.hashes[i];
            nodes.least[n++] = nodes.least[i];
        }
    nodes.n = n;
    do {
        size_t taken[2];
        BM_TRY_OUT(put_forest(joiner, &nodes, at, &rows, taken, err));
        at[0] += taken[0], at[1] += taken[1];
    } while (at[0] < nodes.n || at[1] < joiner->repeats.n);
    status = bm_block_rows_take(&rows, schema, array, err);
out:
    bm_block_rows_reset(&rows);
    tree_rows_reset(&nodes);
    return status;
}

bm_status bm_joiner_components(bm_joiner *joiner, struct ArrowSchema *schema,
                               struct ArrowArray *array, bm_error *err)
{
    tree_rows nodes = {0};
    BM_TRY(end(joiner, schema, array, err));
    for (size_t i = 0; i < joiner->repeats.n; i++)
        BM_TRY(link(&joiner->forest, joiner->repeats.hashes[i], joiner->repeats.hashes[i], err));
    BM_TRY(order_nodes(&joiner->forest, &nodes, err));
    const bm_made_column columns[] = {{"l", "id_hash", {nodes.hashes, NULL}, 1},
                                      {"l", "component", {nodes.least, NULL}, 1}};
    return bm_columns_take(columns, 2, nodes.n, schema, array, err);
}

void bm_joiner_close(bm_joiner *joiner)
{
    if (joiner == NULL)
        return;
    for (size_t i = 0; i < HEAPS; i++)
        heap_reset(&joiner->heaps[i]);
    bm_hash_table_reset(&joiner->forest.table);
    bm_free(joiner->forest.hashes);
    bm_union_find_reset(&joiner->forest.sets);
    bm_free(joiner->repeats.hashes);
    bm_free(joiner);
}
