/* test_lmdb_meta.c -- first pages made by hand after the layout that LMDB's documentation of its structures gives: which are
 * taken, and which are refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "store/bytes/le_bytes.h"
#include "store/bytes/lmdb_pages.h"

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void put_meta(uint8_t *page, uint32_t page_bytes, uint64_t number, uint64_t txn)
{
    memset(page, 0, page_bytes);
    bm_le64_put(page, number);
    put16(page + 10, 8);
    bm_le32_put(page + 16, UINT32_C(0xBEEFC0DE));
    bm_le32_put(page + 20, 1);
    bm_le64_put(page + 32, 1 << 20);      /* map */
    bm_le32_put(page + 40, page_bytes);   /* the tree of free pages */
    put16(page + 44, 8);                  /* keys are numbers */
    bm_le64_put(page + 80, UINT64_MAX);   /* its root */
    bm_le64_put(page + 128, UINT64_MAX);  /* the other root */
    bm_le64_put(page + 136, txn ? 2 : 1); /* last page */
    bm_le64_put(page + 144, txn);
    if (txn == 0)
        return;
    put16(page + 94, 1);        /* depth */
    bm_le64_put(page + 104, 1); /* leaf pages */
    bm_le64_put(page + 120, 2); /* entries */
    bm_le64_put(page + 128, 2); /* root */
}

/* Page 2: a = 1, bc = "" */
static void put_leaf(uint8_t *page, uint32_t page_bytes)
{
    memset(page, 0, page_bytes);
    bm_le64_put(page, 2);
    put16(page + 10, 2);
    put16(page + 12, 20);
    put16(page + 14, page_bytes - 20);
    put16(page + 16, page_bytes - 10);
    put16(page + 18, page_bytes - 20);
    put16(page + page_bytes - 10, 1);
    put16(page + page_bytes - 4, 1);
    page[page_bytes - 2] = 'a';
    page[page_bytes - 1] = '1';
    put16(page + page_bytes - 14, 2);
    page[page_bytes - 12] = 'b';
    page[page_bytes - 11] = 'c';
}

static bm_lmdb_file file_make(uint32_t page_bytes)
{
    uint8_t *bytes = malloc(3 * (size_t)page_bytes);
    put_meta(bytes, page_bytes, 0, 0);
    put_meta(bytes + page_bytes, page_bytes, 1, 1);
    put_leaf(bytes + 2 * (size_t)page_bytes, page_bytes);
    return (bm_lmdb_file){bytes, 3 * (size_t)page_bytes};
}

static bm_status gather(void *ctx, bm_str key, bm_str value, bm_error *err)
{
    char *all = ctx;
    (void)err;
    strncat(all, key.data, key.len);
    strcat(all, "=");
    strncat(all, value.data, value.len);
    strcat(all, ";");
    return BM_OK;
}

Test(lmdb_meta, pages_of_any_size_that_lmdb_has)
{
    for (uint32_t page_bytes = 4096; page_bytes <= 32768; page_bytes *= 2) {
        bm_lmdb_file file = file_make(page_bytes);
        bm_lmdb_meta meta;
        bm_error err = {0};
        char all[100] = "";
        uint64_t n_free = 7;
        cr_assert_eq(bm_lmdb_meta_of(file, UINT64_MAX, &meta, &err), BM_OK, "%s", err.message);
        cr_assert(meta.txn == 1 && meta.entries == 2 && meta.root == 2 && meta.depth == 1);
        cr_assert(meta.last_page == 2 && meta.page_bytes == page_bytes);
        cr_assert_eq(bm_lmdb_walk(file, &meta, gather, all, &err), BM_OK, "%s", err.message);
        cr_assert_str_eq(all, "a=1;bc=;");
        cr_assert_eq(bm_lmdb_check_pages(file, &meta, &n_free, &err), BM_OK, "%s", err.message);
        cr_assert_eq(n_free, 0);
        cr_assert_eq(bm_lmdb_meta_of(file, 0, &meta, &err), BM_OK);
        cr_assert(meta.txn == 0 && meta.root == BM_LMDB_NO_PAGE);
        cr_assert_eq(bm_lmdb_walk(file, &meta, gather, all, &err), BM_OK);
        cr_assert_str_eq(all, "a=1;bc=;");
        cr_assert_eq(bm_lmdb_meta_of(file, 2, &meta, &err), BM_NOT_FOUND);
        free((void *)(uintptr_t)file.bytes);
    }
}

static void assert_refused(bm_lmdb_file file, uint8_t *at, unsigned value, const char *why)
{
    const uint8_t before = *at;
    bm_lmdb_meta meta;
    bm_error err = {0};
    *at = (uint8_t)value;
    cr_assert_eq(bm_lmdb_meta_of(file, UINT64_MAX, &meta, &err), BM_ERR_FORMAT, "%s", why);
    cr_assert_not_null(strstr(err.message, why), "%s: %s", why, err.message);
    *at = before;
}

Test(lmdb_meta, what_cannot_be_is_refused_with_its_reason)
{
    bm_lmdb_file file = file_make(4096);
    uint8_t *first = (uint8_t *)(uintptr_t)file.bytes, *second = first + 4096;
    assert_refused(file, first + 16, 0xDF, "page 0 is not LMDB's");
    assert_refused(file, second + 16, 0xDF, "page 1 is not LMDB's");
    assert_refused(file, second + 20, 2, "page 1 is of version 2");
    assert_refused(file, first + 41, 0x08, "size of a page");
    assert_refused(file, first + 41, 0x30, "size of a page");
    assert_refused(file, second + 41, 0x20, "size of a page");
    assert_refused(file, second, 2, "page 1 is damaged: its head");
    assert_refused(file, first + 10, 9, "page 0 is damaged: its head");
    assert_refused(file, second + 44, 9, "flags");
    assert_refused(file, second + 92, 4, "flags");        /* values sorted below a key */
    assert_refused(file, second + 24, 1, "flags");        /* a map at a fixed address */
    assert_refused(file, second + 144, 2, "transaction"); /* of the other parity */
    assert_refused(file, second + 144, 3, "transaction"); /* two steps from the other */
    assert_refused(file, first + 144, 8, "transaction");
    assert_refused(file, second + 144, 0, "no transaction"); /* never written, and not empty */
    assert_refused(file, second + 141, 1, "last page is not in the file");
    assert_refused(file, second + 34, 0, "last page is not in the map");
    assert_refused(file, second + 128, 3, "trees");
    assert_refused(file, second + 128, 1, "trees");
    assert_refused(file, second + 94, 33, "trees");
    assert_refused(file, second + 94, 0, "trees");
    assert_refused(file, second + 105, 1, "trees");
    free(first);
}

Test(lmdb_meta, a_file_that_is_cut_off_is_refused)
{
    bm_lmdb_file whole = file_make(4096);
    for (size_t size = 0; size < whole.size; size += size < 200 ? 1 : 97) {
        uint8_t *bytes = malloc(size + 1);
        bm_lmdb_meta meta;
        bm_error err = {0};
        char all[100] = "";
        memcpy(bytes, whole.bytes, size);
        const bm_lmdb_file file = {bytes, size};
        bm_status status = bm_lmdb_meta_of(file, UINT64_MAX, &meta, &err);
        if (status == BM_OK)
            status = bm_lmdb_walk(file, &meta, gather, all, &err);
        cr_assert_eq(status, BM_ERR_FORMAT);
        free(bytes);
    }
    free((void *)(uintptr_t)whole.bytes);
}
