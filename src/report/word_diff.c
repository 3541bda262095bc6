/* word_diff.c -- Myers' difference ("An O(ND) Difference Algorithm and Its Variations", 1986).
 *
 * The edit graph has a diagonal step for each pair of equal words. From the beginning, paths of d = 0, 1, 2 … other steps
 * are followed as far as they go, a place a diagonal; that of each d is kept, so that the way back is known. After COST
 * steps the path that came farthest is taken, and what is left begins where it ends: the result is then common, but perhaps
 * not longest, and the work stays within COST² for as many words at least, as the places do (5 MB).
 *
 * Tests: tests/unit/report/test_word_diff.c */
#include "report/word_diff.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define COST 1600

/* --- words --- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bm_status cut_words(bm_diff_text *t, bm_error *err)
{
    for (size_t at = 0; at < t->text.len;) {
        bm_diff_word word = {.begin = at};
        while (at < t->text.len && is_space(t->text.data[at]))
            at++;
        word.word = at;
        while (at < t->text.len && !is_space(t->text.data[at]))
            at++;
        word.end = at;
        word.hash = XXH3_64bits(t->text.data + word.word, at - word.word);
        BM_TRY(bm_grow_array(&t->words, &t->cap, t->n + 1, err));
        t->words[t->n++] = word;
    }
    return BM_OK;
}

void bm_diff_text_reset(bm_diff_text *text)
{
    bm_free(text->words);
    *text = (bm_diff_text){0};
}

/* --- difference --- */

typedef struct differ {
    bm_diff_text *a, *b;
    long x, y, n, m; /* what is left: words from x of a, from y of b, and how many */
    int32_t *places; /* row d has d + 1 of them: how far into a, on diagonals -d, -d + 2 … d */
    size_t cap;
} differ;

static int32_t *row_of(const differ *d, long steps)
{
    return d->places + steps * (steps + 1) / 2;
}

static bool same(const differ *d, long x, long y)
{
    const bm_diff_word *p = &d->a->words[d->x + x], *q = &d->b->words[d->y + y];
    return p->hash == q->hash && p->end - p->word == q->end - q->word &&
           memcmp(d->a->text.data + p->word, d->b->text.data + q->word, p->end - p->word) == 0;
}

/* Where diagonal k is met after so many steps: from the diagonal above or from that below (*from), whichever is farther. */
static long enter(const differ *d, long steps, long k, long *from)
{
    const int32_t *before = row_of(d, steps - 1);
    const long i = (k + steps) / 2;
    *from = k;
    if (steps == 0)
        return 0;
    const bool down = k == -steps || (k != steps && before[i - 1] < before[i]);
    *from = down ? k + 1 : k - 1;
    return down ? before[i] : before[i - 1] + 1;
}

/* One step more on all diagonals. The place farthest along, on diagonal *k; n + m: the end. */
static long follow(differ *d, long steps, long *k)
{
    long farthest = -1, from;
    for (long diagonal = -steps; diagonal <= steps; diagonal += 2) {
        long at = enter(d, steps, diagonal, &from);
        while (at < d->n && at - diagonal < d->m && same(d, at, at - diagonal))
            at++;
        row_of(d, steps)[(diagonal + steps) / 2] = (int32_t)at;
        if (at <= d->n && at - diagonal <= d->m && 2 * at - diagonal > farthest) {
            farthest = 2 * at - diagonal;
            *k = diagonal;
        }
    }
    return farthest;
}

/* Mark what is common along a path, from its end back to its beginning. */
static void mark_path(differ *d, long steps, long k)
{
    for (long from = k; steps >= 0; steps--, k = from) {
        long at = row_of(d, steps)[(k + steps) / 2];
        const long begin = enter(d, steps, k, &from);
        while (at-- > begin) {
            d->a->words[d->x + at].common = true;
            d->b->words[d->y + at - k].common = true;
        }
    }
}

static bm_status compare(differ *d, bm_error *err)
{
    while (d->n > 0 && d->m > 0) {
        long steps = -1, farthest = 0, k = 0;
        while (steps < COST && farthest < d->n + d->m) {
            steps++;
            BM_TRY(
                bm_grow_array(&d->places, &d->cap, (size_t)((steps + 1) * (steps + 2) / 2), err));
            farthest = follow(d, steps, &k);
        }
        mark_path(d, steps, k);
        const long x = (farthest + k) / 2, y = (farthest - k) / 2;
        d->x += x;
        d->y += y;
        d->n -= x;
        d->m -= y;
    }
    return BM_OK;
}

bm_status bm_word_diff(bm_diff_text *a, bm_diff_text *b, bm_error *err)
{
    bm_status status = cut_words(a, err);
    if (status == BM_OK)
        status = cut_words(b, err);
    differ d = {.a = a, .b = b, .n = (long)a->n, .m = (long)b->n};
    if (status == BM_OK)
        status = compare(&d, err);
    bm_free(d.places);
    return status;
}
