/* SPDX-License-Identifier: Apache-2.0 */
/* ranked.h -- ranks the documents of a table by one rule, as a job does. */
#pragma once

#include <stdlib.h>

#include "lsh/groups.h"
#include "model/ids.h"

static inline bm_keep_rank ranked(const bm_doc_table *docs, bm_keep keep)
{
    const bm_keep_column lengths = {&docs->rows->text_bytes, sizeof *docs->rows, 8, false};
    bm_keep_rank rank;
    if (bm_keep_rank_of_rule(keep, &lengths, docs->n, &rank, NULL) != BM_OK)
        abort();
    return rank;
}
