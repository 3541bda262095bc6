/* SPDX-License-Identifier: Apache-2.0 */
/* plain_containment.c -- which documents hold a share of another, by a plain scan: every document
 * is compared with every other by a merge of their sorted sets. The yardstick of `pairs --measure
 * containment`.
 *
 *   plain_containment DOCUMENTS.tsv THRESHOLD    rows "id TAB text" (plain_sets.h)
 *
 * Prints "contained TAB other TAB share", in the order of `pairs`: by the contained one, then by
 * the other. One thread; it skips nothing, not even what two sizes exclude, so its time hardly
 * depends on the threshold. */
#include "plain_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct documents {
    plain_row *rows;
    size_t n, capacity;
} documents;

static void add_row(void *ctx, const plain_row *row)
{
    documents *d = ctx;
    if (d->n == d->capacity) {
        d->capacity = d->capacity == 0 ? 1024 : 2 * d->capacity;
        d->rows = plain_must(realloc(d->rows, d->capacity * sizeof *d->rows));
    }
    d->rows[d->n] = *row;
    d->rows[d->n++].id = plain_must(strndup(row->id, row->id_len));
}

static uint32_t count_common(const plain_set *x, const plain_set *y)
{
    uint32_t i = 0, j = 0, common = 0;
    while (i < x->n && j < y->n) {
        const uint64_t a = x->hashes[i], b = y->hashes[j];
        common += a == b;
        i += a <= b;
        j += b <= a;
    }
    return common;
}

int main(int argc, char **argv)
{
    documents d = {0};
    const double threshold = argc == 3 ? strtod(argv[2], NULL) : 0;
    if (!(threshold > 0 && threshold <= 1)) {
        fprintf(stderr, "usage: plain_containment DOCUMENTS.tsv THRESHOLD\n");
        return 1;
    }
    plain_read_rows(argv[1], add_row, &d);
    for (size_t i = 0; i < d.n; i++) {
        const plain_set *x = &d.rows[i].set;
        for (size_t j = 0; j < d.n; j++) {
            const plain_set *y = &d.rows[j].set;
            if (x->n == 0 || x->n > y->n || (x->n == y->n && i >= j))
                continue; /* the other document reports this pair */
            const double share = (double)count_common(x, y) / (double)x->n;
            if (share >= threshold)
                printf("%s\t%s\t%.6f\n", d.rows[i].id, d.rows[j].id, share);
        }
    }
    return 0;
}
