/* SPDX-License-Identifier: Apache-2.0 */
/* test_keep_keys.c -- keys are kept until they have been saved: also after ranking, which frees the
 * sorter's keys, and also if most of them are in a file. */
#include "corpus/keep_keys.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/world/scratch.h"

#define N_KEYS 60000u /* 11 to 38 bytes each: more than fit in memory */

/* The key of document i. It ends with 3 zero bytes: empty field names and the field's kind. */
static bm_str key_of(unsigned i, char out[64])
{
    const unsigned pad = i * 7919u % 28u;
    int len = snprintf(out, 64, "%08u%.*s", i * 2654435761u % 100000000u, (int)pad,
                       "----------------------------");
    memset(out + len, 0, 3);
    len += 3;
    return (bm_str){out, (size_t)len};
}

/* `saved` must hold the keys of n documents from `first` on, each after its length. */
static void expect_saved(const bm_buf *saved, unsigned first, unsigned n)
{
    size_t at = 0;
    for (unsigned i = first; i < first + n; i++) {
        char text[64];
        uint32_t len;
        const bm_str key = key_of(i, text);
        cr_assert_leq(at + sizeof len + key.len, saved->len);
        memcpy(&len, saved->data + at, sizeof len);
        cr_assert_eq(len, key.len, "document %u", i);
        cr_assert_eq(memcmp(saved->data + at + sizeof len, key.data, key.len), 0, "document %u", i);
        at += sizeof len + len;
    }
    cr_assert_eq(at, saved->len, "and no more");
}

static void add(bm_keep_keys *keys, unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++) {
        char text[64];
        cr_assert_eq(bm_keep_keys_add(keys, key_of(i, text), NULL), BM_OK);
    }
}

/* Saves the keys of documents first … first+n-1, a block at a time. */
static void save(bm_keep_keys *keys, unsigned first, unsigned n)
{
    bm_unsaved_reader reader = {0};
    for (unsigned at = first, block = 1; at < first + n;
         at += block, block = block * 3 % 5000 + 1) {
        bm_buf saved = {0};
        block = block < first + n - at ? block : first + n - at;
        cr_assert_eq(bm_keep_keys_copy_unsaved(keys, &reader, block, &saved, NULL), BM_OK);
        expect_saved(&saved, at, block);
        bm_buf_reset(&saved);
    }
    bm_buf none = {0};
    cr_assert_eq(bm_keep_keys_copy_unsaved(keys, &reader, 1, &none, NULL), BM_ERR_INTERNAL);
    bm_buf_reset(&none);
    bm_buf_reset(&reader.block);
    bm_keep_keys_forget(keys);
}

static const bm_keep_rule rule = {.kind = BM_KEEP_RULE_MAX};
static const bm_keep_rules rules = {
    .rules = (bm_keep_rule *)(uintptr_t)&rule, .n = 1, .n_by_field = 1};

Test(keep_keys, those_that_were_not_saved_outlive_the_ranks)
{
    SCRATCH s = scratch_open();
    bm_keep_keys keys;
    bm_keep_rank rank;
    cr_assert_eq(bm_keep_keys_open(&rules, s.root, 1 << 20, &keys, NULL), BM_OK);
    keys.saves = true;
    add(&keys, 0, 1000); /* in memory */
    save(&keys, 0, 1000);
    add(&keys, 1000, N_KEYS);
    cr_assert_lt(keys.unsaved.last.cap, (size_t)1 << 20, "most of them lie in a file");
    cr_assert_eq(bm_keep_keys_rank(&keys, &rank, NULL), BM_OK);
    cr_assert_eq(rank.n, 1000 + N_KEYS);
    save(&keys, 1000, N_KEYS);
    bm_keep_rank_reset(&rank);
    bm_keep_keys_close(&keys);
}

Test(keep_keys, none_are_held_where_nobody_saves_them)
{
    bm_keep_keys keys;
    cr_assert_eq(bm_keep_keys_open(&rules, NULL, 1 << 20, &keys, NULL), BM_OK);
    add(&keys, 0, 100);
    cr_assert_eq(keys.unsaved.last.cap, 0);
    bm_keep_keys_close(&keys);
}
