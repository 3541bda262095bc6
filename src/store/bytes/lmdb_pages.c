/* lmdb_pages.c -- see lmdb_pages.h.
 *
 * What LMDB keeps in a page, by the offsets of its 64-bit form:
 *
 *     page      number (8), 2 not used, flags (2); then lower and upper (2 each), or pages of a run (4)
 *     branch    from byte 16 to `lower` the place of each node (2), ascending by key; nodes from `upper` to the end
 *     leaf      the same
 *     node      low half and high half of the value's size (2 each), flags (2), bytes of the key (2), the key, and
 *               the value, or where flag 1 is set the number (8) of the page where its run begins. In a
 *               branch the first six bytes are the number of a page, and the key of the first node means nothing
 *     run       pages of one value, of which only the first has these 16 bytes
 *
 * The free pages are values of a tree of their own: the key is a transaction (8), the value a count (8) and so many page
 * numbers (8 each), descending. */
#include "store/bytes/lmdb_pages.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/bytes/le_bytes.h"

#define PAGE_HEAD  16u
#define NODE_HEAD  8u
#define FIRST_PAGE 2u /* behind the meta pages */
#define KEY_MAX    511u
#define DEPTH_MAX  32u

enum { PAGE_BRANCH = 1, PAGE_LEAF = 2, PAGE_RUN = 4 };
enum { NODE_IN_RUN = 1 };

/* What the meta page says of a tree, or what was seen of it. */
typedef struct tree {
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
    uint16_t depth;
} tree;

/* A walk through one tree, and what was seen so far. */
typedef struct walk {
    bm_lmdb_file file;
    const bm_lmdb_meta *meta;
    tree tree;
    bool numbers;    /* keys are numbers of 64 bits */
    uint64_t *owned; /* a bit for each page, set where it has an owner; NULL: nobody asks */
    tree seen;
    bm_str last;  /* key; data NULL: none yet */
    bm_str least; /* that the next key may be */
    bm_lmdb_fn fn;
    void *ctx;
    bm_error *err;
} walk;

static bm_status bad_page(const walk *w, uint64_t page, const char *what)
{
    bm_fail(w->err, BM_ERR_FORMAT, "page %" PRIu64 " is damaged: %s", page, what);
    return BM_ERR_FORMAT;
}

/* Pages first … first+n-1 get an owner. */
static bm_status own(const walk *w, uint64_t first, uint64_t n)
{
    for (uint64_t page = first; w->owned != NULL && page < first + n; page++) {
        const uint64_t bit = UINT64_C(1) << (page % 64);
        if (w->owned[page / 64] & bit)
            return bad_page(w, page, "it is used twice");
        w->owned[page / 64] |= bit;
    }
    return BM_OK;
}

/* *out: a page whose number, flags and place in the file are right. */
static bm_status page_of(const walk *w, uint64_t number, unsigned flags, const uint8_t **out)
{
    const uint64_t pages = w->file.size / w->meta->page_bytes;
    if (number < FIRST_PAGE || number > w->meta->last_page || number >= pages)
        return bad_page(w, number, "it is not in the file");
    const uint8_t *page = w->file.bytes + number * w->meta->page_bytes;
    if (bm_le64_get(page) != number)
        return bad_page(w, number, "it has another number");
    if (bm_le16_get(page + 10) != flags)
        return bad_page(w, number, "it is of another kind");
    *out = page;
    return BM_OK;
}

static int compare(const walk *w, bm_str a, bm_str b)
{
    if (w->numbers) {
        const uint64_t x = bm_le64_get((const uint8_t *)a.data);
        const uint64_t y = bm_le64_get((const uint8_t *)b.data);
        return (x > y) - (x < y);
    }
    const int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

typedef struct node {
    uint64_t child; /* of a branch: page; of a leaf: the size of the value */
    uint32_t flags; /* of a leaf */
    bm_str key;
    const uint8_t *rest; /* behind the key */
    size_t bytes;        /* of all of it */
} node;

/* Node i of a page whose `lower` and `upper` are right. */
static bm_status node_of(const walk *w, const uint8_t *page, size_t i, node *out)
{
    *out = (node){0};
    const uint64_t number = bm_le64_get(page);
    const size_t page_bytes = w->meta->page_bytes, at = bm_le16_get(page + PAGE_HEAD + 2 * i);
    const bool leaf = bm_le16_get(page + 10) == PAGE_LEAF;
    if (at < bm_le16_get(page + 14) || at % 2 != 0 || at + NODE_HEAD > page_bytes)
        return bad_page(w, number, "a node lies outside of it");
    const uint8_t *head = page + at;
    const uint64_t size = bm_le32_get(head);
    const uint16_t flags = bm_le16_get(head + 4);
    const size_t key_len = bm_le16_get(head + 6);
    size_t bytes = NODE_HEAD + key_len;
    if (key_len > KEY_MAX || (w->numbers && key_len != 8 && (leaf || i > 0)) ||
        (key_len == 0 && (leaf || i > 0)))
        return bad_page(w, number, "a key has a size that cannot be");
    if (leaf && flags > NODE_IN_RUN)
        return bad_page(w, number, "a value is of another kind");
    if (leaf)
        bytes += flags == NODE_IN_RUN ? 8 : size;
    if (at + bytes > page_bytes)
        return bad_page(w, number, "a node reaches behind it");
    *out = (node){.child = leaf ? size : size | (uint64_t)flags << 32,
                  .flags = flags,
                  .key = {(const char *)head + NODE_HEAD, key_len},
                  .rest = head + NODE_HEAD + key_len,
                  .bytes = bytes + bytes % 2};
    return BM_OK;
}

/* The value of a node of a leaf, in the leaf or in a run of pages. */
static bm_status value_of(walk *w, const node *n, bm_str *out)
{
    *out = (bm_str){(const char *)n->rest, (size_t)n->child};
    if (n->flags != NODE_IN_RUN)
        return BM_OK;
    const uint64_t first = bm_le64_get(n->rest), page_bytes = w->meta->page_bytes;
    const uint8_t *page;
    BM_TRY(page_of(w, first, PAGE_RUN, &page));
    const uint64_t pages = bm_le32_get(page + 12);
    if (pages == 0 || pages > w->meta->last_page - first + 1 ||
        pages > w->file.size / page_bytes - first)
        return bad_page(w, first, "its run is not in the file");
    if (pages > w->tree.overflow_pages - w->seen.overflow_pages)
        return bad_page(w, first, "the tree has more pages than it says");
    if (n->child > pages * page_bytes - PAGE_HEAD)
        return bad_page(w, first, "its run is shorter than the value");
    *out = (bm_str){(const char *)page + PAGE_HEAD, (size_t)n->child};
    w->seen.overflow_pages += pages;
    return own(w, first, pages);
}

static bm_status leaf_node(walk *w, const uint8_t *page, const node *n)
{
    bm_str value;
    if ((w->last.data != NULL && compare(w, n->key, w->last) <= 0) ||
        (w->least.data != NULL && compare(w, n->key, w->least) < 0))
        return bad_page(w, bm_le64_get(page), "its keys are not in order");
    w->last = n->key;
    w->least = (bm_str){0};
    w->seen.entries++;
    BM_TRY(value_of(w, n, &value));
    return w->fn(w->ctx, n->key, value, w->err);
}

/* The number of nodes of a page of which page_of has seen the head. */
static bm_status nodes_of(walk *w, const uint8_t *page, size_t *out)
{
    const uint64_t number = bm_le64_get(page);
    const size_t lower = bm_le16_get(page + 12), upper = bm_le16_get(page + 14);
    const bool leaf = bm_le16_get(page + 10) == PAGE_LEAF;
    if (lower < PAGE_HEAD || lower > upper || upper > w->meta->page_bytes || lower % 2 != 0)
        return bad_page(w, number, "its bounds cannot be");
    *out = (lower - PAGE_HEAD) / 2;
    if (*out < (leaf || w->numbers ? 1u : 2u))
        return bad_page(w, number, "it has too few keys");
    size_t left = w->meta->page_bytes - upper;
    for (size_t i = 0; i < *out; i++) {
        node n;
        BM_TRY(node_of(w, page, i, &n));
        if (n.bytes > left)
            return bad_page(w, number, "its nodes lie one in another");
        left -= n.bytes;
    }
    return left == 0 ? BM_OK : bad_page(w, number, "there are gaps between its nodes");
}

/* A page that was begun. */
typedef struct step {
    const uint8_t *page;
    size_t n, next;
} step;

/* *out: the page of a level, from the root's, 1, to the leaves'. */
static bm_status enter(walk *w, uint64_t number, unsigned level, step *out)
{
    const bool leaf = level == w->tree.depth;
    *out = (step){0};
    BM_TRY(page_of(w, number, leaf ? PAGE_LEAF : PAGE_BRANCH, &out->page));
    uint64_t *seen = leaf ? &w->seen.leaf_pages : &w->seen.branch_pages;
    if (*seen == (leaf ? w->tree.leaf_pages : w->tree.branch_pages))
        return bad_page(w, number, "the tree has more pages than it says");
    ++*seen;
    BM_TRY(nodes_of(w, out->page, &out->n));
    return own(w, number, 1);
}

/* The next child of a branch. */
static bm_status branch_node(walk *w, step *at, uint64_t *child)
{
    node n;
    const size_t i = at->next++;
    BM_TRY(node_of(w, at->page, i, &n));
    *child = n.child;
    if (i == 0)
        return BM_OK;
    if (w->last.data == NULL || compare(w, n.key, w->last) <= 0)
        return bad_page(w, bm_le64_get(at->page), "its keys are not in order");
    w->least = n.key;
    return BM_OK;
}

static bm_status all_nodes(walk *w, const step *at)
{
    for (size_t i = 0; i < at->n; i++) {
        node n;
        BM_TRY(node_of(w, at->page, i, &n));
        BM_TRY(leaf_node(w, at->page, &n));
    }
    return BM_OK;
}

static bm_status walk_tree(walk *w)
{
    step steps[DEPTH_MAX];
    unsigned level = 1;
    if (w->tree.root == BM_LMDB_NO_PAGE)
        return BM_OK;
    bm_status status = enter(w, w->tree.root, 1, &steps[0]);
    while (status == BM_OK && level > 0) {
        step *at = &steps[level - 1];
        uint64_t child;
        if (level == w->tree.depth) {
            status = all_nodes(w, at);
            level--;
        } else if (at->next == at->n) {
            level--;
        } else {
            status = branch_node(w, at, &child);
            if (status == BM_OK)
                status = enter(w, child, level + 1, &steps[level]);
            level++;
        }
    }
    if (status == BM_OK &&
        (w->seen.leaf_pages != w->tree.leaf_pages || w->seen.branch_pages != w->tree.branch_pages ||
         w->seen.overflow_pages != w->tree.overflow_pages || w->seen.entries != w->tree.entries))
        return bm_fail(w->err, BM_ERR_FORMAT, "the tree of page %" PRIu64 " is not whole",
                       w->tree.root);
    return status;
}

static tree keys_tree(const bm_lmdb_meta *meta)
{
    return (tree){.branch_pages = meta->branch_pages,
                  .leaf_pages = meta->leaf_pages,
                  .overflow_pages = meta->overflow_pages,
                  .entries = meta->entries,
                  .root = meta->root,
                  .depth = meta->depth};
}

static tree free_tree(const bm_lmdb_meta *meta)
{
    return (tree){.branch_pages = meta->free_tree.branch_pages,
                  .leaf_pages = meta->free_tree.leaf_pages,
                  .overflow_pages = meta->free_tree.overflow_pages,
                  .entries = meta->free_tree.entries,
                  .root = meta->free_root,
                  .depth = meta->free_tree.depth};
}

bm_status bm_lmdb_walk(bm_lmdb_file file, const bm_lmdb_meta *meta, bm_lmdb_fn fn, void *ctx,
                       bm_error *err)
{
    walk w = {
        .file = file, .meta = meta, .tree = keys_tree(meta), .fn = fn, .ctx = ctx, .err = err};
    return walk_tree(&w);
}

/* --- owners --- */

static bm_status skip(void *ctx, bm_str key, bm_str value, bm_error *err)
{
    (void)ctx, (void)key, (void)value, (void)err;
    return BM_OK;
}

typedef struct free_lists {
    const walk *walk;
    uint64_t n;
} free_lists;

/* The pages that a transaction has freed. */
static bm_status take_free(void *ctx, bm_str key, bm_str value, bm_error *err)
{
    free_lists *lists = ctx;
    const walk *w = lists->walk;
    const uint64_t txn = bm_le64_get((const uint8_t *)key.data);
    const uint8_t *list = (const uint8_t *)value.data;
    if (txn == 0 || txn > w->meta->txn || value.len < 8 || value.len % 8 != 0 ||
        bm_le64_get(list) != value.len / 8 - 1)
        return bm_fail(err, BM_ERR_FORMAT, "the free pages of transaction %" PRIu64 " are damaged",
                       txn);
    for (size_t i = 1; i < value.len / 8; i++) {
        const uint64_t page = bm_le64_get(list + 8 * i);
        if (page < FIRST_PAGE || page > w->meta->last_page ||
            (i > 1 && page >= bm_le64_get(list + 8 * (i - 1))))
            return bm_fail(err, BM_ERR_FORMAT,
                           "the free pages of transaction %" PRIu64 " are damaged", txn);
        BM_TRY(own(w, page, 1));
        lists->n++;
    }
    return BM_OK;
}

bm_status bm_lmdb_check_pages(bm_lmdb_file file, const bm_lmdb_meta *meta, uint64_t *n_free,
                              bm_error *err)
{
    const size_t words = (size_t)(meta->last_page / 64 + 1);
    walk w = {.file = file, .meta = meta, .tree = keys_tree(meta), .fn = skip, .err = err};
    BM_TRY(bm_new_zero(&w.owned, words, err));
    bm_status status = walk_tree(&w);
    walk unused = {.file = file, .meta = meta, .tree = free_tree(meta), .numbers = true};
    free_lists lists = {.walk = &unused};
    unused.owned = w.owned;
    unused.fn = take_free;
    unused.ctx = &lists;
    unused.err = err;
    if (status == BM_OK)
        status = walk_tree(&unused);
    if (status == BM_OK)
        *n_free = lists.n;
    bm_free(w.owned);
    return status;
}
