/* word_diff.c -- Myers' difference in linear space ("An O(ND) Difference Algorithm and Its Variations", 1986).
 *
 * The edit graph has a diagonal step for each pair of equal words. From both corners paths of d = 0, 1, 2 … other steps
 * are followed as far as they go, a place a diagonal; where the two meet lies the middle of a shortest path, and each half
 * is done in the same way. After COST steps the halves are cut at the farthest place that was reached: the result is
 * then common, but perhaps not longest, and the work stays within COST² for each cut.
 *
 * Tests: tests/unit/page/test_word_diff.c */
#include "pipeline/page/word_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define COST 800

/* --- words --- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bm_status cut_words(bm_diff_text *t, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t at = 0; status == BM_OK && at < t->text.len;) {
        bm_diff_word word = {.begin = at};
        while (at < t->text.len && is_space(t->text.data[at]))
            at++;
        word.word = at;
        while (at < t->text.len && !is_space(t->text.data[at]))
            at++;
        word.end = at;
        word.hash = XXH3_64bits(t->text.data + word.word, at - word.word);
        status = bm_grow_array(&t->words, &t->cap, t->n + 1, err);
        if (status == BM_OK)
            t->words[t->n++] = word;
    }
    return status;
}

void bm_diff_text_reset(bm_diff_text *text)
{
    bm_free(text->words);
    *text = (bm_diff_text){0};
}

/* --- difference --- */

typedef struct differ {
    bm_diff_text *a, *b;
    long *forward, *backward; /* farthest x of each diagonal, from -most to most */
    long most;
} differ;

typedef struct part { /* words from … to-1 of each text */
    long from_a, to_a, from_b, to_b;
} part;

static bool same(const differ *d, long x, long y)
{
    const bm_diff_word *p = &d->a->words[x], *q = &d->b->words[y];
    return p->hash == q->hash && p->end - p->word == q->end - q->word &&
           memcmp(d->a->text.data + p->word, d->b->text.data + q->word, p->end - p->word) == 0;
}

/* The place farthest along that was reached from the beginning. */
static void farthest(const differ *d, const part *p, long steps, long *x, long *y)
{
    long best = -1;
    for (long k = -steps; k <= steps; k += 2) {
        const long at = d->forward[d->most + k];
        if (at < p->from_a || at > p->to_a || at - p->from_a - k < 0 ||
            at - p->from_a - k > p->to_b - p->from_b || 2 * (at - p->from_a) - k <= best)
            continue;
        best = 2 * (at - p->from_a) - k;
        *x = at;
        *y = p->from_b + at - p->from_a - k;
    }
}

/* Is diagonal k in the graph of n and m words? */
static bool has_diagonal(long k, long n, long m)
{
    return k >= -m && k <= n;
}

/* One step more from the beginning: true where it meets a path from the end, at *x, *y. */
static bool step_forward(differ *d, const part *p, long steps, long *x, long *y)
{
    const long n = p->to_a - p->from_a, m = p->to_b - p->from_b, delta = n - m;
    long *v = d->forward + d->most;
    const long *w = d->backward + d->most;
    for (long k = -steps; k <= steps; k += 2) {
        const bool from_left = k > -steps && has_diagonal(k - 1, n, m),
                   from_above = k < steps && has_diagonal(k + 1, n, m);
        long at = p->from_a;
        if (!has_diagonal(k, n, m))
            continue;
        if (steps > 0)
            at = from_above && (!from_left || v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
        while (at < p->to_a && at - p->from_a - k < m &&
               same(d, at, p->from_b + at - p->from_a - k))
            at++;
        v[k] = at;
        if ((delta & 1) != 0 && labs(k - delta) < steps && at >= w[k - delta]) {
            *x = at;
            *y = p->from_b + at - p->from_a - k;
            return true;
        }
    }
    return false;
}

/* The same from the end, whose diagonal 0 is the last one. */
static bool step_backward(differ *d, const part *p, long steps, long *x, long *y)
{
    const long n = p->to_a - p->from_a, m = p->to_b - p->from_b, delta = n - m;
    const long *v = d->forward + d->most;
    long *w = d->backward + d->most;
    for (long k = -steps; k <= steps; k += 2) {
        const long diagonal = k + delta;
        const bool from_right = k < steps && has_diagonal(diagonal + 1, n, m),
                   from_below = k > -steps && has_diagonal(diagonal - 1, n, m);
        long at = p->to_a;
        if (!has_diagonal(diagonal, n, m))
            continue;
        if (steps > 0)
            at = from_below && (!from_right || w[k - 1] < w[k + 1]) ? w[k - 1] : w[k + 1] - 1;
        while (at > p->from_a && at - p->from_a - diagonal > 0 &&
               same(d, at - 1, p->from_b + at - p->from_a - diagonal - 1))
            at--;
        w[k] = at;
        if ((delta & 1) == 0 && labs(diagonal) <= steps && v[diagonal] >= at) {
            *x = at;
            *y = p->from_b + at - p->from_a - diagonal;
            return true;
        }
    }
    return false;
}

/* Where to cut: on a shortest path, or where it was given up. */
static void find_cut(differ *d, const part *p, long *x, long *y)
{
    for (long steps = 0;; steps++) {
        if (step_forward(d, p, steps, x, y) || step_backward(d, p, steps, x, y))
            return;
        if (steps >= COST) {
            *x = p->from_a;
            *y = p->from_b;
            farthest(d, p, steps, x, y);
            return;
        }
    }
}

static void mark(differ *d, long x, long y)
{
    d->a->words[x].common = true;
    d->b->words[y].common = true;
}

/* Equal words at both ends are common; what is left stays in *p. */
static void trim(differ *d, part *p)
{
    while (p->from_a < p->to_a && p->from_b < p->to_b && same(d, p->from_a, p->from_b))
        mark(d, p->from_a++, p->from_b++);
    while (p->from_a < p->to_a && p->from_b < p->to_b && same(d, p->to_a - 1, p->to_b - 1))
        mark(d, --p->to_a, --p->to_b);
}

/* Parts that are still to be done, in a list of its own: each cut leaves two smaller ones. */
static bm_status compare(differ *d, part whole, bm_error *err)
{
    part *parts = NULL;
    size_t n = 0, cap = 0;
    bm_status status = bm_grow_array(&parts, &cap, 1, err);
    if (status == BM_OK)
        parts[n++] = whole;
    while (status == BM_OK && n > 0) {
        part p = parts[--n];
        long x = p.from_a, y = p.from_b;
        trim(d, &p);
        if (p.from_a == p.to_a || p.from_b == p.to_b)
            continue;
        find_cut(d, &p, &x, &y);
        if ((x == p.from_a && y == p.from_b) || (x == p.to_a && y == p.to_b))
            continue; /* nothing in common */
        status = bm_grow_array(&parts, &cap, n + 2, err);
        if (status != BM_OK)
            break;
        parts[n++] = (part){p.from_a, x, p.from_b, y};
        parts[n++] = (part){x, p.to_a, y, p.to_b};
    }
    bm_free(parts);
    return status;
}

bm_status bm_word_diff(bm_diff_text *a, bm_diff_text *b, bm_error *err)
{
    bm_status status = cut_words(a, err);
    if (status == BM_OK)
        status = cut_words(b, err);
    if (status != BM_OK)
        return status;
    const size_t most = a->n + b->n + 2, places = 2 * most + 3;
    long *memory = bm_alloc(places, 2 * sizeof *memory);
    if (memory == NULL)
        return bm_fail_nomem(err, places * 2 * sizeof *memory);
    differ d = {a, b, memory, memory + places, (long)most};
    status = compare(&d, (part){0, (long)a->n, 0, (long)b->n}, err);
    bm_free(memory);
    return status;
}
