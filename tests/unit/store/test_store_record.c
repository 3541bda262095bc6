/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_record.c -- the record of the last commit is read back; if it is damaged, the one
 * before. */
#include "store/store_pages.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/world/scratch.h"

#define PAGE 4096u

static bm_store_record a_record(uint64_t commit, bm_page_span *spans)
{
    return (bm_store_record){.page_bytes = PAGE,
                             .index = 7,
                             .commit = commit,
                             .txn = 3 * commit,
                             .last_page = 9,
                             .n_free = 1,
                             .heads = 5,
                             .spans = spans,
                             .n_spans = 2};
}

Test(store_record, the_newest_that_is_whole_is_read)
{
    SCRATCH s = scratch_open();
    bm_page_span spans[] = {{2, 3}, {7, 1}};
    bm_store_place place = {.path = s.root, .data = -1};
    bm_store_record found = {0};
    bm_error err = {0};
    place.dir = open(s.root, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(bm_store_record_read(&place, &found, &err), BM_ERR_FORMAT);
    cr_assert_not_null(strstr(err.message, "index build"));
    cr_assert_eq(bm_store_record_prepare(&place, 0, true, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_store_record_read(&place, &found, &err), BM_ERR_FORMAT);
    bm_store_record written = a_record(0, spans);
    for (uint64_t commit = 1; commit < 6; commit++) {
        const uint32_t slot = written.slot;
        written = a_record(commit, spans);
        written.slot = slot;
        cr_assert_eq(bm_store_record_prepare(&place, slot, false, &err), BM_OK);
        cr_assert(commit == 1 || bm_store_record_read(&place, &found, &err) == BM_OK);
        cr_assert(commit == 1 || found.commit == commit - 1);
        cr_assert_eq(bm_store_record_write(&place, &written, &err), BM_OK, "%s", err.message);
        cr_assert_eq(bm_store_record_read(&place, &found, &err), BM_OK, "%s", err.message);
        cr_assert(found.index == 7 && found.commit == commit && found.txn == 3 * commit &&
                  found.last_page == 9 && found.n_free == 1 && found.heads == 5 &&
                  found.n_spans == 2 && found.spans[1].first == 7 && found.spans[1].n == 1 &&
                  found.slot == written.slot && found.page_bytes == PAGE);
    }
    const int fd = open(scratch_at(&s, "last_commit"), O_RDWR);
    for (size_t bit = 0; bit < (96 + 2 * 16 + 8) * 8; bit++) {
        const off_t at = (off_t)(written.slot * BM_RECORD_SLOT + bit / 8);
        uint8_t byte;
        cr_assert_eq(pread(fd, &byte, 1, at), 1);
        byte ^= (uint8_t)(1u << bit % 8);
        cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
        cr_assert_eq(bm_store_record_read(&place, &found, &err), BM_OK, "bit %zu", bit);
        cr_assert_eq(found.commit, 4);
        byte ^= (uint8_t)(1u << bit % 8);
        cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    close(place.dir);
    bm_store_record_reset(&found);
}

Test(store_record, holds_its_own_pages_and_the_first_one_of_its_transaction)
{
    static uint8_t file[10 * PAGE];
    bm_page_span spans[] = {{2, 3}, {7, 1}};
    for (size_t i = 0; i < sizeof file; i++)
        file[i] = (uint8_t)(i * 31 >> 3);
    bm_store_record record = a_record(1, spans); /* page 1 is the first of transaction 3 */
    cr_assert(bm_store_record_sum(&record, file, sizeof file));
    for (size_t page = 0; page < 10; page++) {
        const bool own = page == 1 || (page >= 2 && page < 5) || page == 7;
        file[page * PAGE + 17] ^= 4;
        cr_expect_eq(bm_store_record_matches(&record, file, sizeof file), !own, "page %zu", page);
        file[page * PAGE + 17] ^= 4;
    }
    cr_expect(bm_store_record_matches(&record, file, 8 * PAGE));
    cr_expect_not(bm_store_record_matches(&record, file, 8 * PAGE - 1));
}
