/* SPDX-License-Identifier: Apache-2.0 */
/* ranked.h -- ranks the documents of a table by one rule, as a job does. */
#pragma once

#include <stdlib.h>

#include "lsh/groups.h"
#include "model/ids.h"

static inline bm_keep_rank ranked(const bm_doc_table *docs, bm_keep keep)
{
    uint64_t *lengths = calloc(docs->n + 1, sizeof *lengths);
    const bm_keep_column sizes = {.numbers = lengths, .width = sizeof *lengths};
    bm_keep_rank rank;
    if (lengths == NULL)
        abort();
    for (size_t i = 0; i < docs->n; i++)
        lengths[i] = bm_doc_table_row(docs, i)->text_bytes;
    if (bm_keep_rank_of_rule(keep, &sizes, docs->n, &rank, NULL) != BM_OK)
        abort();
    free(lengths);
    return rank;
}
