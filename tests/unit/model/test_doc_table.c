/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "model/ids.h"
#include "tests/world/colliding.h"
#include "tests/world/sized.h"
#include "tests/world/world_random.h"

static bm_status add(bm_doc_table *table, const char *id, uint64_t line, bm_error *err)
{
    bm_doc_row row = {.line = line, .text_bytes = line * 10};
    size_t len = strlen(id);
    const bm_doc_id hashed = {{id, len}, XXH3_64bits(id, len)};
    return bm_doc_table_add(table, &row, hashed, "f.jsonl", err);
}

/* Steps of all insertions. */
static size_t steps(const bm_doc_table *table)
{
    size_t n = 0;
    for (size_t i = 0; i < BM_DOC_SHARDS; i++)
        n += table->shards[i].n_steps;
    return n;
}

static void assert_id(const bm_doc_table *table, size_t row, const char *expected)
{
    bm_str id = bm_doc_table_id(table, row);
    cr_assert_eq(id.len, strlen(expected));
    cr_assert_eq(memcmp(id.data, expected, id.len), 0, "row %zu is %.*s, not %s", row, (int)id.len,
                 id.data, expected);
}

Test(doc_table, ids_come_back_in_order_through_growth)
{
    bm_doc_table table = {0};
    char id[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(id, sizeof id, "doc-%d", i);
        cr_assert_eq(add(&table, i == 77 ? "" : id, (uint64_t)i + 1, NULL), BM_OK);
    }
    for (int i = 0; i < 20000; i++) {
        snprintf(id, sizeof id, "doc-%d", i);
        assert_id(&table, (size_t)i, i == 77 ? "" : id);
        cr_assert_eq(table.rows[i].line, (uint64_t)i + 1);
    }
    bm_doc_table_reset(&table);
}

Test(doc_table, a_repeated_id_names_file_line_and_id)
{
    bm_doc_table table = {0};
    bm_error err = {0};
    char line[256];
    add(&table, "a", 1, NULL);
    add(&table, "b", 2, NULL);
    cr_assert_eq(add(&table, "a", 3, &err), BM_ERR_INPUT);
    bm_error_format(&err, line, sizeof line);
    cr_assert_not_null(strstr(line, "f.jsonl:3: "));
    cr_assert_not_null(strstr(line, "'a'"));
    cr_assert_eq(table.n, 2);
    bm_doc_table_reset(&table);
}

Test(doc_table, numbering_takes_the_next_free_id)
{
    bm_doc_table table = {.number_duplicates = true};
    const char *given[] = {"a", "a#2", "a", "a", "b", "a#2"};
    const char *expected[] = {"a", "a#2", "a#3", "a#4", "b", "a#2#2"};
    for (size_t i = 0; i < 6; i++)
        cr_assert_eq(add(&table, given[i], i + 1, NULL), BM_OK);
    for (size_t i = 0; i < 6; i++)
        assert_id(&table, i, expected[i]);
    bm_doc_table_reset(&table);
}

/* A model of "the next free number": search from 2 on, among all ids so far. */
Test(doc_table, numbers_are_those_of_a_search_from_two_on_whatever_the_ids)
{
    enum { N = 600 };
    static char ids[N][64];
    bm_doc_table table = {.number_duplicates = true};
    for (size_t i = 0; i < N; i++) {
        char given[48], *expected = ids[i];
        int used = snprintf(given, sizeof given, "%c", 'a' + (int)world_pick(2));
        for (uint32_t depth = world_pick(3); depth > 0; depth--) /* a#2, a#2#07, a#3#2 ... */
            used += snprintf(given + used, sizeof given - (size_t)used, "#%s%u",
                             world_pick(9) == 0 ? "0" : "", world_pick(12));
        snprintf(expected, sizeof ids[i], "%s", given);
        for (unsigned n = 2, taken = 1; taken != 0; n++) {
            taken = 0;
            for (size_t k = 0; k < i && taken == 0; k++)
                taken = strcmp(ids[k], expected) == 0;
            if (taken != 0)
                snprintf(expected, sizeof ids[i], "%s#%u", given, n);
        }
        cr_assert_eq(add(&table, given, i + 1, NULL), BM_OK);
        assert_id(&table, i, expected);
    }
    bm_doc_table_reset(&table);
}

Test(doc_table, numbering_takes_two_looks_an_id_at_most)
{
    enum { N = 20000 };
    bm_doc_table table = {.number_duplicates = true};
    char id[32];
    for (int i = 2; i < N; i += 2) { /* every second number is already taken */
        snprintf(id, sizeof id, "same#%d", i);
        cr_assert_eq(add(&table, id, (uint64_t)i, NULL), BM_OK);
    }
    for (uint64_t i = 0; i < N; i++)
        cr_assert_eq(add(&table, i % 3 == 0 ? "other" : "same", N + i + 1, NULL), BM_OK);
    cr_expect_leq(table.n_tried, 2 * table.n, "%d looks for %zu ids", (int)table.n_tried, table.n);
    bm_doc_table_reset(&table);
}

Test(doc_table, ids_that_share_a_hash_are_told_apart)
{
    bm_doc_table table = {0};
    bm_doc_row row = {.line = 1};
    const bm_doc_id x = {{"x", 1}, 42}, y = {{"y", 1}, 42};
    cr_assert_eq(bm_doc_table_add(&table, &row, x, "f", NULL), BM_OK);
    cr_assert_eq(bm_doc_table_add(&table, &row, y, "f", NULL), BM_OK);
    cr_assert_eq(bm_doc_table_add(&table, &row, y, "f", NULL), BM_ERR_INPUT);
    bm_doc_table_reset(&table);
}

Test(doc_table, more_rows_than_the_memory_holds_are_an_error_and_those_before_stay)
{
    bm_doc_table table = {.memory = 1 << 20};
    bm_error err = {0};
    bm_status status = BM_OK;
    char id[32];
    int n = 0;
    for (; status == BM_OK && n < 100000; n++) {
        snprintf(id, sizeof id, "doc-%d", n);
        status = add(&table, id, (uint64_t)n + 1, &err);
    }
    cr_assert_eq(status, BM_ERR_NOMEM);
    cr_assert_not_null(strstr(err.message, "`memory`"));
    cr_assert_gt(n, 5000, "a row takes 32 bytes, an id 10, its slot 21 at most");
    cr_assert_leq(bm_doc_table_bytes(&table), (1 << 20) + 1024 * 64);
    assert_id(&table, 4321, "doc-4321");
    bm_doc_table_reset(&table);
}

/* The folder is gone: before anything moved to files, or after the rows moved. */
Test(doc_table, rows_and_ids_stay_in_memory_where_the_folder_is_gone)
{
    enum { ALL = 10000, MEMORY = 1 << 20 };
    for (int rows_moved = 0; rows_moved < 2; rows_moved++) {
        bm_doc_table table = {.memory = MEMORY, .temp_dir = "/nowhere"};
        char id[32];
        if (rows_moved)
            cr_assert_eq(bm_column_grow(&table.columns.rows, 1, "/tmp", NULL), BM_OK);
        for (int i = 0; i < ALL; i++) {
            snprintf(id, sizeof id, "document-%05d", i);
            cr_assert_eq(add(&table, id, (uint64_t)i + 1, NULL), BM_OK);
        }
        assert_id(&table, 4321, "document-04321");
        cr_expect_eq(bm_doc_table_row(&table, 4321)->line, 4322);
        cr_expect_eq(atomic_load(&table.columns.rows.file) != 0, rows_moved);
        cr_expect_eq(atomic_load(&table.columns.ends.file), 0);
        cr_expect_eq(bm_doc_table_bytes(&table) - bm_doc_table_shard_bytes(&table),
                     (rows_moved ? MEMORY / BM_DOC_FILE_PART / 2 : ALL * sizeof(bm_doc_row)) +
                         ALL * (8 + 14));
        bm_doc_table_reset(&table);
    }
}

Test(doc_table, ids_in_memory_and_in_files_are_found_in_any_order)
{
    enum { ALL = 20000 };
    for (int in_files = 0; in_files < 2; in_files++) {
        bm_doc_table table = {.memory = in_files ? 1 << 20 : 0, .temp_dir = "/tmp"};
        bm_buf room = {0};
        char id[32];
        int n_read = 0;
        for (int i = 0; i < ALL; i++) {
            snprintf(id, sizeof id, "%.*d", 1 + i % 20, i);
            cr_assert_eq(add(&table, i == 77 ? "" : id, (uint64_t)i + 1, NULL), BM_OK, "%d", i);
        }
        cr_assert_eq(atomic_load(&table.columns.text.file) != 0, in_files);
        for (int i = 0, row = 0; i < ALL; i++, row = (row + 7919) % ALL) {
            snprintf(id, sizeof id, "%.*d", 1 + row % 20, row);
            const bm_str got = bm_doc_table_id_anywhere(&table, (size_t)row, &room);
            cr_assert_eq(got.len, row == 77 ? 0 : strlen(id), "row %d", row);
            cr_assert_eq(memcmp(got.data, id, got.len), 0, "row %d is %.*s", row, (int)got.len,
                         got.data);
            n_read += got.len > 0 && got.data == room.data;
        }
        cr_expect(in_files ? n_read > ALL / 2 : n_read == 0, "%d were read from a file", n_read);
        bm_buf_reset(&room);
        bm_doc_table_reset(&table);
    }
}

/* Every document is compared with one that all others are copies of. The number of that one would
 * have pages removed each time. */
Test(doc_table, a_row_that_is_read_again_and_again_keeps_the_pages_of_others)
{
    enum { ALL = 20000 };
    const size_t hot[] = {0, 20 * BM_DOC_LEAVE_ROWS};
    for (size_t h = 0; h < 2; h++) {
        bm_doc_table table = {.memory = 1 << 20, .temp_dir = "/tmp"};
        struct rusage before, after;
        uint64_t lines = 0;
        char id[32];
        for (int i = 0; i < ALL; i++) {
            snprintf(id, sizeof id, "%d", i);
            cr_assert_eq(add(&table, id, (uint64_t)i + 1, NULL), BM_OK);
        }
        cr_assert_neq(atomic_load(&table.columns.rows.file), 0);
        getrusage(RUSAGE_SELF, &before);
        for (size_t i = 0; i < ALL; i++)
            lines += bm_doc_table_row(&table, i)->line + bm_doc_table_row(&table, hot[h])->line +
                     bm_doc_table_id(&table, hot[h]).len;
        getrusage(RUSAGE_SELF, &after);
        cr_expect_gt(lines, ALL * (uint64_t)ALL / 2);
        cr_expect_lt(after.ru_minflt - before.ru_minflt, ALL / 8, "%ld page faults",
                     after.ru_minflt - before.ru_minflt);
        bm_doc_table_reset(&table);
    }
}

Test(doc_table, a_repeated_id_names_both_places)
{
    const char *const names[] = {"first.jsonl", "second.jsonl"};
    const bm_file_names files = {.names = (const char **)names, .n = 2};
    bm_doc_table table = {.files = &files};
    bm_error err = {0};
    const bm_doc_id x = {{"x", 1}, XXH3_64bits("x", 1)};
    const bm_doc_row here = {.line = 7, .file = 0}, there = {.line = 9, .file = 1};
    cr_assert_eq(bm_doc_table_add(&table, &here, x, names[0], &err), BM_OK);
    cr_assert_eq(bm_doc_table_add(&table, &there, x, names[1], &err), BM_ERR_INPUT);
    cr_assert_str_eq(err.file, "second.jsonl");
    cr_assert_eq(err.line, 9);
    cr_assert_not_null(strstr(err.message, "'x' was seen before, at first.jsonl:7 ("), "%s",
                       err.message);
    bm_doc_table_reset(&table);
}

/* Most of the memory of bad records is their reasons. */
Test(doc_table, bad_records_and_their_reasons_count_too)
{
    enum { REASON = 100 };
    bm_doc_table table = {.memory = 1 << 20, .memory_all = 4 << 20};
    bm_error err = {0};
    bm_status status = BM_OK;
    unsigned long long least = 0;
    while (status == BM_OK) {
        bm_skipped skipped = {.reason = bm_alloc(REASON + 1, 1)};
        memset(skipped.reason, 'r', REASON);
        skipped.reason[REASON] = '\0';
        status = bm_doc_table_skip(&table, &skipped, &err);
        if (status != BM_OK)
            bm_free(skipped.reason);
    }
    cr_expect_eq(status, BM_ERR_NOMEM);
    cr_expect_leq(table.n_skipped * (sizeof *table.skipped + REASON), (uint64_t)5 << 18);
    cr_assert_not_null(strstr(err.message, "at least "));
    cr_expect_eq(sscanf(strstr(err.message, "at least "), "at least %lluM", &least), 1);
    cr_expect_gt(least, 4, "more than there was");
    bm_doc_table_cut(&table, 0, 0);
    cr_expect_eq(bm_doc_table_bytes(&table), 0);
    bm_doc_table_reset(&table);
}

/* Ids of 8 characters whose hashes agree in the bits that select a slot, at either end of the hash.
 */
Test(doc_table, ids_that_meet_in_one_place_take_no_more_than_a_factor)
{
    for (size_t n = 5000; n <= sized(40000, 5000); n *= 2)
        for (int leading = 0; leading < 2; leading++) {
            colliding_ids ids = {.bits = 20, .leading = leading != 0};
            bm_doc_table table = {.number_duplicates = true};
            char id[16];
            for (size_t i = 0; i < n; i++) {
                colliding_next_id(&ids, id);
                cr_assert_eq(add(&table, id, i + 1, NULL), BM_OK);
                assert_id(&table, i, id);
            }
            cr_assert_eq(add(&table, id, n + 1, NULL), BM_OK);
            strcat(id, "#2");
            assert_id(&table, n, id);
            cr_expect_leq(steps(&table), 24 * n, "%zu steps for %zu ids", steps(&table), n);
            bm_doc_table_reset(&table);
        }
}

Test(doc_table, ids_of_one_hash_are_numbered_as_any_others)
{
    const size_t n = sized(20000, 5000);
    bm_doc_table table = {.number_duplicates = true};
    char id[32];
    for (size_t i = 0; i < 2 * n; i++) {
        const bm_doc_row row = {.line = i + 1};
        colliding_id_in_all_bits(i % n, id);
        const bm_doc_id hashed = {{id, 32}, XXH3_64bits(id, 32)};
        cr_assert_eq(bm_doc_table_add(&table, &row, hashed, "f.jsonl", NULL), BM_OK);
    }
    for (size_t i = 0; i < 2 * n; i++) {
        const bm_str got = bm_doc_table_id(&table, i);
        colliding_id_in_all_bits(i % n, id);
        cr_assert_eq(got.len, i < n ? 32 : 34);
        cr_assert_eq(memcmp(got.data, id, 32), 0);
        cr_assert(i < n || memcmp(got.data + 32, "#2", 2) == 0);
    }
    cr_expect_leq(steps(&table), 24 * 2 * n, "%zu steps", steps(&table));
    bm_doc_table_reset(&table);
}
