/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

/* What was written stays, wherever the block moves; what was not is zero. */
Test(page_block, growth_keeps_the_contents_and_the_rest_is_zero)
{
    bm_page_block block = {0};
    size_t written = 0;
    for (size_t bytes = 1; bytes < (size_t)20 << 20; bytes = bytes * 3 + 17) {
        cr_assert_eq(bm_page_block_grow(&block, bytes, NULL), BM_OK);
        cr_assert_geq(block.bytes, bytes);
        unsigned char *data = block.data;
        for (size_t i = 0; i < written; i++)
            cr_assert_eq(data[i], (unsigned char)(i * 7 + 1));
        for (size_t i = written; i < block.bytes; i++)
            cr_assert_eq(data[i], 0);
        for (; written < bytes; written++)
            data[written] = (unsigned char)(written * 7 + 1);
    }
    bm_page_block_trim(&block, 5000);
    cr_assert_geq(block.bytes, 5000);
    for (size_t i = 0; i < 5000; i++)
        cr_assert_eq(((unsigned char *)block.data)[i], (unsigned char)(i * 7 + 1));
    bm_page_block_reset(&block);
    cr_assert_null(block.data);
}

Test(page_block, what_there_is_no_memory_for_changes_nothing)
{
    bm_page_block block = {0};
    bm_error err = {0};
    cr_assert_eq(bm_page_block_grow(&block, 100, NULL), BM_OK);
    memset(block.data, 9, 100);
    const bm_page_block before = block;
    cr_assert_eq(bm_page_block_grow(&block, SIZE_MAX - 100, &err), BM_ERR_NOMEM);
    cr_assert_eq(bm_page_block_grow(&block, SIZE_MAX / 4, &err), BM_ERR_NOMEM);
    cr_assert_eq(block.data, before.data);
    cr_assert_eq(block.bytes, before.bytes);
    cr_assert_eq(((unsigned char *)block.data)[99], 9);
    bm_page_block_trim(&block, 0);
    cr_assert_null(block.data);
    bm_page_block_trim(&block, 0);
    bm_page_block_reset(&block);
}

static bm_page_block in_file(void)
{
    bm_page_block block = {0};
    cr_assert_eq(bm_page_block_in_file(&block, "/tmp", NULL), BM_OK);
    return block;
}

Test(page_block, a_file_keeps_what_was_written_where_its_pages_leave_memory)
{
    bm_page_block block = in_file();
    size_t written = 0;
    for (size_t bytes = 1; bytes < (size_t)20 << 20; bytes = bytes * 3 + 17) {
        cr_assert_eq(bm_page_block_grow(&block, bytes, NULL), BM_OK);
        cr_assert_geq(block.bytes, bytes);
        bm_page_block_leave(&block);
        unsigned char *data = block.data;
        for (size_t i = 0; i < written; i++)
            cr_assert_eq(data[i], (unsigned char)(i * 7 + 1));
        for (size_t i = written; i < block.bytes; i++)
            cr_assert_eq(data[i], 0);
        for (; written < bytes; written++)
            data[written] = (unsigned char)(written * 7 + 1);
    }
    const int fd = block.file - 1;
    bm_page_block_reset(&block);
    cr_assert_eq(close(fd), -1, "the file was left open");
}

Test(page_block, a_full_disk_is_told_of_when_the_file_grows)
{
    bm_error err = {0};
    bm_page_block block = in_file();
    cr_assert_eq(bm_page_block_grow(&block, 1000, NULL), BM_OK);
    memset(block.data, 9, 1000);
    const bm_page_block before = block;
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000}), 0);
    cr_assert_eq(bm_page_block_grow(&block, 1000000, &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, "/tmp");
    cr_assert_eq(block.data, before.data);
    cr_assert_eq(block.bytes, before.bytes);
    cr_assert_eq(((unsigned char *)block.data)[999], 9);
    bm_page_block_reset(&block);
}

Test(page_block, a_folder_where_no_file_can_be_made_is_named)
{
    bm_error err = {0};
    bm_page_block block = {0};
    cr_assert_eq(bm_page_block_in_file(&block, "/nowhere", &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, "/nowhere");
    cr_assert_eq(block.file, 0);
}

Test(page_column, what_moves_to_a_file_keeps_its_elements)
{
    const char *dir = getenv("TMPDIR");
    bm_page_block block = {0};
    uint64_t *list = NULL;
    size_t cap = 0, n = 0;
    const bm_page_column column = {&block, &list, &cap, sizeof *list};
    for (size_t need = 100; need < 200000; need *= 3) {
        if (need < 1000) /* the folder is gone: it stays in memory */
            cr_assert_eq(bm_page_column_grow(column, "/nowhere", need, NULL), BM_OK);
        else
            cr_assert_eq(bm_page_column_grow(column, dir != NULL ? dir : "/tmp", need, NULL),
                         BM_OK);
        cr_assert_geq(cap, need);
        cr_expect_eq(block.file != 0, need >= 1000);
        for (; n < need; n++)
            list[n] = n * 7;
        bm_page_block_leave(&block);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(list[i], i * 7);
    }
    bm_page_column_free(column);
    cr_expect_null(list);
    cr_expect_null(block.data);
}
