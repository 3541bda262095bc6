/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_state.c -- a state is read back from its bytes, and any change of them is refused. */
#include "store/store_pages.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static bm_state a_state(void)
{
    return (bm_state){.facts = {.kind = BM_STORE_SIGNATURES,
                                .bands = 7,
                                .words = 14,
                                .settings = {"{\"a\": 1}", 8}},
                      .index = 77,
                      .commit = 99,
                      .counts = {.documents = 1037,
                                 .removed = 13,
                                 .empty = 87,
                                 .shingles = 12345,
                                 .unreadable = 5,
                                 .short_docs = 6,
                                 .text_bytes = 99999,
                                 .next_number = 1050,
                                 .next_id = 4711,
                                 .ids = BM_IDS_UINT64},
                      .next_run = 20,
                      .tail_first = 1000,
                      .notes = {{"a.jsonl\n", 8}, {"1\t2\n", 4}},
                      .runs = {{2, 0, 7, 900}, {3, 7, 1, 1000}, {11, 0, 7, 50}},
                      .n_runs = 3};
}

Test(store_state, comes_back_from_its_bytes_and_no_changed_byte_does)
{
    const bm_state state = a_state();
    const size_t size = bm_state_size(&state);
    uint8_t *bytes = malloc(size);
    bm_state back = {0};
    bm_error err = {0};
    bm_state_write(&state, bytes);
    cr_assert_eq(bm_state_read(bytes, size, &back, &err), BM_OK, "%s", err.message);
    cr_assert(back.facts.kind == BM_STORE_SIGNATURES && back.facts.bands == 7 &&
              back.facts.words == 14 && back.facts.settings.len == 8 &&
              memcmp(back.facts.settings.data, "{\"a\": 1}", 8) == 0);
    cr_assert(back.index == 77 && back.commit == 99 && back.next_run == 20 &&
              back.tail_first == 1000);
    cr_assert(back.counts.documents == 1037 && back.counts.removed == 13 &&
              back.counts.empty == 87 && back.counts.shingles == 12345 &&
              back.counts.text_bytes == 99999 && back.counts.next_number == 1050 &&
              back.counts.unreadable == 5 && back.counts.short_docs == 6 &&
              back.counts.next_id == 4711 && back.counts.ids == BM_IDS_UINT64);
    cr_assert(back.n_runs == 3 && back.runs[1].id == 3 && back.runs[1].first_table == 7 &&
              back.runs[1].n_tables == 1 && back.runs[2].entries == 50);
    cr_assert(back.notes[0].len == 8 && memcmp(back.notes[0].data, "a.jsonl\n", 8) == 0);
    cr_assert(back.notes[1].len == 4 && memcmp(back.notes[1].data, "1\t2\n", 4) == 0);
    for (size_t i = 0; i < size; i++)
        for (unsigned change = 1; change < 256; change *= 4) {
            bytes[i] ^= (uint8_t)change;
            cr_assert_eq(bm_state_read(bytes, size, &back, NULL), BM_ERR_FORMAT, "byte %zu", i);
            bytes[i] ^= (uint8_t)change;
        }
    for (size_t cut = 0; cut < size; cut++)
        cr_assert_eq(bm_state_read(bytes, cut, &back, NULL), BM_ERR_FORMAT);
    free(bytes);
}

Test(store_state, another_version_is_named)
{
    const bm_state state = a_state();
    const size_t size = bm_state_size(&state);
    uint8_t *bytes = malloc(size);
    bm_state back = {0};
    bm_error err = {0};
    bm_state_write(&state, bytes);
    bytes[32] = 1;
    bm_piece_seal(bytes, size);
    cr_assert_eq(bm_state_read(bytes, size, &back, &err), BM_ERR_FORMAT);
    cr_assert_str_eq(err.message,
                     "an index of version 1 (this is for 4): `index build` makes a new one");
    free(bytes);
}

/* A state of version 2 ends after the fixed numbers; version 3 adds only the number of unreadable
 * documents. */
Test(store_state, states_of_earlier_versions_are_read)
{
    enum { FIXED = 32 + 16 + 8 * 14 };
    const bm_state state = a_state();
    const size_t size = bm_state_size(&state);
    uint8_t *bytes = malloc(size);
    for (size_t version = 2; version <= 4; version++) {
        const size_t n = version == 4 ? 4 : version - 2, gone = 8 * (4 - n);
        bm_state back = {0};
        bm_error err = {0};
        bm_state_write(&state, bytes);
        memmove(bytes + FIXED + 8 * n, bytes + FIXED + 32, size - FIXED - 32);
        bytes[32] = (uint8_t)version;
        bm_piece_seal(bytes, size - gone);
        cr_assert_eq(bm_state_read(bytes, size - gone, &back, &err), BM_OK, "%s", err.message);
        cr_assert_eq(back.counts.unreadable, n > 0 ? 5 : 0);
        cr_assert_eq(back.counts.next_id, n == 4 ? 4711 : UINT64_MAX);
        cr_assert_eq(back.counts.ids, n == 4 ? BM_IDS_UINT64 : BM_IDS_UNTYPED);
        cr_assert_eq(back.counts.short_docs, n == 4 ? 6 : 0);
        cr_assert(back.runs[2].entries == 50 && back.notes[1].len == 4);
    }
    free(bytes);
}

/* Right checksums over impossible numbers. */
Test(store_state, numbers_that_cannot_be_are_refused)
{
    for (int what = 0; what < 11; what++) {
        bm_state state = a_state(), back = {0};
        bm_error err = {0};
        switch (what) {
        case 0:
            state.counts.documents++;
            break;
        case 1:
            state.counts.empty = 2000;
            break;
        case 2:
            state.runs[1].id = 2;
            break;
        case 3:
            state.runs[2].id = 20;
            break;
        case 4:
            state.runs[1].n_tables = 2;
            break;
        case 5:
            state.runs[1].entries = 1051;
            break;
        case 6:
            state.counts.removed = 12;
            break;
        case 7:
            state.counts.unreadable = 88;
            break;
        case 8:
            state.counts.ids = BM_IDS_ROWS;
            break;
        case 9:
            state.counts.next_id = UINT64_C(1) << 63;
            break;
        default:
            state.tail_first = 1050;
        }
        const size_t size = bm_state_size(&state);
        uint8_t *bytes = malloc(size);
        bm_state_write(&state, bytes);
        cr_assert_eq(bm_state_read(bytes, size, &back, &err), BM_ERR_FORMAT, "case %d", what);
        free(bytes);
    }
}

Test(store_state, names_its_own_pieces)
{
    const bm_state state = a_state();
    const bm_piece_key named[] = {{.kind = 'P', .run = 3, .band = 7},
                                  {.kind = 'D', .number = 999},
                                  {.kind = 'D', .number = 1000},
                                  {.kind = 'R'},
                                  {.kind = 'S'}};
    const bm_piece_key others[] = {
        {.kind = 'P', .run = 4}, {.kind = 'P', .run = 12}, {.kind = 'D', .number = 1001}};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        cr_assert(bm_state_names(&state, &named[i]), "%zu", i);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_assert_not(bm_state_names(&state, &others[i]), "%zu", i);
}

Test(store_state, runs_have_a_bound)
{
    bm_state state = {0};
    for (uint64_t i = 0; i < BM_STORE_RUNS; i++)
        cr_assert_eq(bm_state_add_run(&state, &(bm_store_run){i, 0, 1, 1}, NULL), BM_OK);
    cr_assert_eq(bm_state_add_run(&state, &(bm_store_run){999, 0, 1, 1}, NULL), BM_ERR_INTERNAL);
}
