/* graph_layout.c -- springs: nodes push each other away, links pull, and all are drawn to the middle.
 *
 * After Fruchterman and Reingold (1991): with the natural length k of a link, two nodes at distance d push with k²/d and a
 * link pulls with d²/k; a node moves at most the temperature, which falls. Nodes begin on a spiral, so that no two
 * are at one place.
 *
 * Tests: tests/unit/page/test_graph_layout.c */
#include "pipeline/page/graph_layout.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

#define STEPS   300u
#define NEAR    1e-9 /* squared distance below which two nodes are at one place */
#define GRAVITY 0.06

/* The turn of the golden angle, as cosine and sine. */
#define TURN_COS -0.7373688780783197
#define TURN_SIN 0.6754902942615238

static void begin(size_t n, bm_graph_point *points)
{
    double x = 1, y = 0;
    for (size_t i = 0; i < n; i++) {
        const double r = sqrt((double)(i + 1) / (double)n) / 2,
                     turned = x * TURN_COS - y * TURN_SIN;
        points[i] = (bm_graph_point){r * x, r * y};
        y = x * TURN_SIN + y * TURN_COS;
        x = turned;
    }
}

static void push(size_t n, const bm_graph_point *points, double k, bm_graph_point *force)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            double dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
            double square = dx * dx + dy * dy;
            if (square < NEAR) {
                dx = square = NEAR;
                dy = 0;
            }
            const double share = k * k / square;
            force[i].x += dx * share;
            force[i].y += dy * share;
            force[j].x -= dx * share;
            force[j].y -= dy * share;
        }
    }
}

static void pull(const bm_graph_point *points, const uint32_t *links, size_t n_links, double k,
                 bm_graph_point *force)
{
    for (size_t i = 0; i < n_links; i++) {
        const uint32_t a = links[2 * i], b = links[2 * i + 1];
        const double dx = points[a].x - points[b].x, dy = points[a].y - points[b].y;
        const double share = sqrt(dx * dx + dy * dy) / k;
        force[a].x -= dx * share;
        force[a].y -= dy * share;
        force[b].x += dx * share;
        force[b].y += dy * share;
    }
}

static void move(size_t n, const bm_graph_point *force, double heat, bm_graph_point *points)
{
    for (size_t i = 0; i < n; i++) {
        const double fx = force[i].x - points[i].x * GRAVITY,
                     fy = force[i].y - points[i].y * GRAVITY;
        const double length = sqrt(fx * fx + fy * fy);
        const double share = length > heat ? heat / length : 1;
        points[i].x += fx * share;
        points[i].y += fy * share;
    }
}

/* To 0 … 1 in both directions, in one scale each. */
static void fit(size_t n, bm_graph_point *points)
{
    bm_graph_point low = points[0], high = points[0];
    for (size_t i = 1; i < n; i++) {
        low.x = points[i].x < low.x ? points[i].x : low.x;
        low.y = points[i].y < low.y ? points[i].y : low.y;
        high.x = points[i].x > high.x ? points[i].x : high.x;
        high.y = points[i].y > high.y ? points[i].y : high.y;
    }
    const double width = high.x - low.x, height = high.y - low.y;
    for (size_t i = 0; i < n; i++) {
        points[i].x = width > 0 ? (points[i].x - low.x) / width : .5;
        points[i].y = height > 0 ? (points[i].y - low.y) / height : .5;
    }
}

bm_status bm_graph_layout(size_t n, const uint32_t *links, size_t n_links, bm_graph_point *points,
                          bm_error *err)
{
    if (n == 0)
        return BM_OK;
    bm_graph_point *force = bm_alloc(n, sizeof *force);
    if (force == NULL)
        return bm_fail_nomem(err, n * sizeof *force);
    const double k = sqrt(1 / (double)n);
    begin(n, points);
    for (uint32_t step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < n; i++)
            force[i] = (bm_graph_point){0, 0};
        push(n, points, k, force);
        pull(points, links, n_links, k, force);
        move(n, force, .1 * (double)(STEPS - step) / STEPS, points);
    }
    fit(n, points);
    bm_free(force);
    return BM_OK;
}
