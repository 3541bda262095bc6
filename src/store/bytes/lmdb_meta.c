/* lmdb_meta.c -- the two meta pages of an environment of LMDB: see lmdb_pages.h.
 *
 * By the offsets of LMDB's 64-bit form:
 *
 *     page   number (8), 2 not used, flags (2), 4 not used; then magic, version (4 each), address, size of the map (8
 *            each), the trees of free pages and of keys (48 each), last page, transaction (8 each)
 *     tree   4 (of the first tree: the size of a page), flags, depth (2 each), branch pages, leaf pages, pages of runs,
 *            entries, root (8 each)
 *
 * The newest transaction stands in the page of its parity, the one before in the other; before the first both are 0. */
#include <inttypes.h>

#include "base/error.h"
#include "store/bytes/le_bytes.h"
#include "store/bytes/lmdb_pages.h"

#define PAGE_HEAD    16u
#define META_BYTES   (PAGE_HEAD + 136u)
#define MAGIC        UINT32_C(0xBEEFC0DE)
#define DATA_VERSION 1u
#define FIRST_PAGE   2u /* behind the meta pages */
#define DEPTH_MAX    32u
#define PAGE_META    8u

enum { TREE_OF_NUMBERS = 0x08, NO_FOLDER = 0x4000 }; /* flags of the first tree */

typedef struct tree {
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
    uint32_t pad;
    uint16_t flags, depth;
} tree;

typedef struct meta_page {
    uint64_t map_bytes, last_page, txn;
    tree trees[2]; /* of free pages, of keys */
} meta_page;

static tree tree_at(const uint8_t *at)
{
    return (tree){.pad = bm_le32_get(at),
                  .flags = bm_le16_get(at + 4),
                  .depth = bm_le16_get(at + 6),
                  .branch_pages = bm_le64_get(at + 8),
                  .leaf_pages = bm_le64_get(at + 16),
                  .overflow_pages = bm_le64_get(at + 24),
                  .entries = bm_le64_get(at + 32),
                  .root = bm_le64_get(at + 40)};
}

static bm_status bad_meta(bm_error *err, unsigned number, const char *what)
{
    return bm_fail(err, BM_ERR_FORMAT, "page %u is damaged: %s", number, what);
}

/* What must hold of each alone, whatever the file's size is. */
static bm_status meta_read(const uint8_t *at, unsigned number, meta_page *out, bm_error *err)
{
    if (bm_le32_get(at + 16) != MAGIC)
        return bm_fail(err, BM_ERR_FORMAT, "page %u is not LMDB's", number);
    if (bm_le32_get(at + 20) != DATA_VERSION)
        return bm_fail(err, BM_ERR_FORMAT, "page %u is of version %" PRIu32 " of LMDB's (not 1)",
                       number, bm_le32_get(at + 20));
    *out = (meta_page){.map_bytes = bm_le64_get(at + 32),
                       .trees = {tree_at(at + 40), tree_at(at + 88)},
                       .last_page = bm_le64_get(at + 136),
                       .txn = bm_le64_get(at + 144)};
    if (bm_le64_get(at) != number || bm_le16_get(at + 10) != PAGE_META)
        return bad_meta(err, number, "its head is not that of a first page");
    if ((out->trees[0].flags & ~NO_FOLDER) != TREE_OF_NUMBERS || out->trees[1].flags != 0 ||
        bm_le64_get(at + 24) != 0)
        return bad_meta(err, number, "its flags are not those of an index");
    if (out->txn % 2 != number && out->txn != 0)
        return bad_meta(err, number, "the transaction is one of the other page");
    return BM_OK;
}

/* As LMDB makes it. The loss of power in the midst of a write may leave what follows beside the number 0: that does no
 * harm where the other page has a transaction. */
static bool is_empty(const meta_page *m)
{
    return m->last_page == FIRST_PAGE - 1 && m->trees[0].root == BM_LMDB_NO_PAGE &&
           m->trees[1].root == BM_LMDB_NO_PAGE;
}

static bool tree_is_possible(const tree *t, uint64_t last_page)
{
    if (t->root == BM_LMDB_NO_PAGE)
        return t->depth == 0 && t->entries == 0 && t->branch_pages == 0 && t->leaf_pages == 0 &&
               t->overflow_pages == 0;
    return t->root >= FIRST_PAGE && t->root <= last_page && t->depth >= 1 &&
           t->depth <= DEPTH_MAX && t->leaf_pages >= 1 && t->leaf_pages <= last_page &&
           t->branch_pages <= last_page && t->overflow_pages <= last_page;
}

/* What must hold of the one that is used. Pages at the end that are free may never have been written, so the last
 * page can lie behind the end of the file; but each is on a list in the file. */
static bm_status meta_check(bm_lmdb_file file, const meta_page *m, unsigned number, bm_error *err)
{
    const uint64_t page_bytes = m->trees[0].pad;
    if (m->last_page < FIRST_PAGE - 1 || m->last_page > file.size / page_bytes + file.size / 8)
        return bad_meta(err, number, "its last page is not in the file");
    if (m->map_bytes / page_bytes <= m->last_page || m->map_bytes >> 56 != 0)
        return bad_meta(err, number, "its last page is not in the map");
    if (!tree_is_possible(&m->trees[0], m->last_page) ||
        !tree_is_possible(&m->trees[1], m->last_page))
        return bad_meta(err, number, "one of its trees cannot be");
    return BM_OK;
}

/* A copy of both, which another process may write at this moment: it writes one of them at a time, and not the
 * same again soon. false: they never stood still. */
static bool metas_copy(const uint8_t *first, const uint8_t *second, uint8_t copies[2][META_BYTES])
{
    const volatile uint8_t *pages[2] = {first, second};
    for (int attempt = 0; attempt < 16; attempt++) {
        bool same = true;
        for (size_t p = 0; p < 2; p++)
            for (size_t i = 0; i < META_BYTES; i++)
                copies[p][i] = pages[p][i];
        for (size_t p = 0; p < 2; p++)
            for (size_t i = 0; i < META_BYTES; i++)
                same &= copies[p][i] == pages[p][i];
        if (same)
            return true;
    }
    return false;
}

static bm_status metas_read(bm_lmdb_file file, meta_page metas[2], bm_error *err)
{
    uint8_t copies[2][META_BYTES];
    if (file.size < META_BYTES)
        return bm_fail(err, BM_ERR_FORMAT, "the file is cut off");
    const uint32_t page_bytes = bm_le32_get(file.bytes + 40);
    if (bm_le32_get(file.bytes + 16) == MAGIC &&
        (page_bytes < 4096 || page_bytes > 32768 || (page_bytes & (page_bytes - 1)) != 0))
        return bad_meta(err, 0, "its size of a page cannot be");
    if (bm_le32_get(file.bytes + 16) != MAGIC)
        return bm_fail(err, BM_ERR_FORMAT, "page 0 is not LMDB's");
    if (file.size < 2 * (size_t)page_bytes)
        return bm_fail(err, BM_ERR_FORMAT, "the file is cut off");
    if (!metas_copy(file.bytes, file.bytes + page_bytes, copies))
        return bm_fail(err, BM_ERR_FORMAT, "its first pages do not stand still");
    for (unsigned p = 0; p < 2; p++) {
        BM_TRY(meta_read(copies[p], p, &metas[p], err));
        if (metas[p].trees[0].pad != page_bytes)
            return bad_meta(err, p, "its size of a page is another one");
    }
    const uint64_t a = metas[0].txn, b = metas[1].txn;
    if ((a > b ? a - b : b - a) > 1 || (a == b && a != 0))
        return bad_meta(err, a > b ? 0 : 1, "the transactions before and in it do not follow");
    for (unsigned p = 0; p < 2 && a == 0 && b == 0; p++)
        if (!is_empty(&metas[p]))
            return bad_meta(err, p, "no transaction has filled it");
    return BM_OK;
}

bm_status bm_lmdb_meta_of(bm_lmdb_file file, uint64_t txn, bm_lmdb_meta *out, bm_error *err)
{
    meta_page metas[2] = {{0}, {0}};
    BM_TRY(metas_read(file, metas, err));
    unsigned p = metas[0].txn < metas[1].txn;
    if (txn != UINT64_MAX && metas[p].txn != txn)
        p = 1 - p;
    if (txn != UINT64_MAX && metas[p].txn != txn)
        return BM_NOT_FOUND;
    BM_TRY(meta_check(file, &metas[p], p, err));
    const tree *keys = &metas[p].trees[1], *unused = &metas[p].trees[0];
    *out = (bm_lmdb_meta){.txn = metas[p].txn,
                          .last_page = metas[p].last_page,
                          .root = keys->root,
                          .free_root = unused->root,
                          .entries = keys->entries,
                          .branch_pages = keys->branch_pages,
                          .leaf_pages = keys->leaf_pages,
                          .overflow_pages = keys->overflow_pages,
                          .depth = keys->depth,
                          .page_bytes = unused->pad,
                          .free_tree = {.branch_pages = unused->branch_pages,
                                        .leaf_pages = unused->leaf_pages,
                                        .overflow_pages = unused->overflow_pages,
                                        .entries = unused->entries,
                                        .depth = unused->depth}};
    return BM_OK;
}
