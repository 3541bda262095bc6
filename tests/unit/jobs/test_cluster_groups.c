/* SPDX-License-Identifier: Apache-2.0 */
/* From labels to groups, and from a group to a row. */
#include "jobs/job_cluster.c"
#include "tests/world/world_text.h"

#include <criterion/criterion.h>

#include <string.h>

static bm_id_set ids_of(const char *const *ids, size_t n)
{
    bm_id_set set = {0};
    uint32_t number;
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(bm_id_set_add(&set, world_str(ids[i]), &number, NULL), BM_OK);
    return set;
}

Test(cluster_groups, come_in_order_of_their_first_members_without_those_of_one)
{
    /* each label is the kept document of its group; the groups: {0, 3, 5}, {1}, {2, 6}, {4} */
    const uint32_t labels[] = {5, 1, 6, 5, 4, 5, 6};
    bm_cluster_groups g = {0};
    cr_assert_eq(cluster_groups_make(labels, 7, &g, NULL), BM_OK);
    cr_assert_eq(g.n, 2);
    cr_expect_eq(g.n_members, 5);
    cr_expect_eq(g.largest, 3);
    cr_expect_eq(memcmp(g.begins, (size_t[]){0, 3, 5}, 3 * sizeof *g.begins), 0);
    cr_expect_eq(memcmp(g.members, (uint32_t[]){0, 3, 5, 2, 6}, 5 * sizeof *g.members), 0);
    cr_expect_eq(memcmp(g.kept, (uint32_t[]){5, 6}, 2 * sizeof *g.kept), 0);
    cluster_groups_reset(&g);
}

Test(cluster_groups, without_documents_there_are_none)
{
    bm_cluster_groups g = {0};
    cr_assert_eq(cluster_groups_make(NULL, 0, &g, NULL), BM_OK);
    cr_expect_eq(g.n + g.n_members + g.largest, 0);
    cluster_groups_reset(&g);
}

Test(cluster_groups, a_row_is_json_whatever_the_ids_hold)
{
    const char *const names[] = {"a\"\\", "t\tn\n", "\x01/\xC3\xA9"};
    const uint32_t labels[] = {2, 2, 2};
    bm_id_set ids = ids_of(names, 3);
    bm_cluster_groups g = {0};
    bm_rows rows = {0};
    cr_assert_eq(cluster_groups_make(labels, 3, &g, NULL), BM_OK);
    cr_assert_eq(cluster_groups_row(&g, &ids, NULL, 0, true, &rows, NULL), BM_OK);
    cr_assert_eq(bm_buf_end(&rows.buf, NULL), BM_OK);
    cr_expect_str_eq(rows.buf.data, "{\"group\":1,\"kept\":\"\\u0001/\xC3\xA9\",\"size\":3,"
                                    "\"members\":[\"a\\\"\\\\\",\"t\\tn\\n\",\"\\u0001/\xC3\xA9\"]}"
                                    "\n");
    bm_rows_reset(&rows);
    cluster_groups_reset(&g);
    bm_id_set_reset(&ids);
}
