/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_graph.c"

#include <criterion/criterion.h>
#include <string.h>

#include "report/page.h"

static double square(bm_page_node a, bm_page_node b)
{
    return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

Test(page_graph, points_fill_the_square_and_are_apart)
{
    enum { N = 40 };
    uint32_t links[2 * (N - 1)];
    bm_page_node points[N] = {{0}}, again[N] = {{0}};
    for (uint32_t i = 0; i + 1 < N; i++) {
        links[2 * i] = i;
        links[2 * i + 1] = i + 1;
    }
    cr_assert_eq(page_graph_place(points, N, links, N - 1, NULL), BM_OK);
    cr_assert_eq(page_graph_place(again, N, links, N - 1, NULL), BM_OK);
    cr_expect_eq(memcmp(points, again, sizeof points), 0);
    for (size_t i = 0; i < N; i++) {
        cr_expect(points[i].x >= 0 && points[i].x <= 1 && points[i].y >= 0 && points[i].y <= 1);
        for (size_t j = 0; j < i; j++)
            cr_expect_gt(square(points[i], points[j]), 1e-6);
    }
}

Test(page_graph, what_is_linked_is_nearer_than_what_is_not)
{
    /* two triangles, and a link between them */
    static const uint32_t links[] = {0, 1, 1, 2, 0, 2, 3, 4, 4, 5, 3, 5, 2, 3};
    bm_page_node points[6];
    cr_assert_eq(page_graph_place(points, 6, links, 7, NULL), BM_OK);
    cr_expect_lt(square(points[0], points[1]), square(points[0], points[5]));
    cr_expect_lt(square(points[4], points[5]), square(points[1], points[4]));
}

Test(page_graph, none_and_one)
{
    bm_page_node point = {.x = 7, .y = 7};
    cr_expect_eq(page_graph_place(NULL, 0, NULL, 0, NULL), BM_OK);
    cr_expect_eq(page_graph_place(&point, 1, NULL, 0, NULL), BM_OK);
    cr_expect(point.x >= .5 && point.x <= .5 && point.y >= .5 && point.y <= .5);
}
