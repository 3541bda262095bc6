/* SPDX-License-Identifier: Apache-2.0 */
/* similarity.c -- compares documents by a function of verify.h, or by counting equal words. */
#include "lsh/similarity.h"

#include <math.h>

/* Return the share of words in which two signatures agree; 0 if they have no words. */
static double agreement(const uint32_t *x, const uint32_t *y, bm_word_rows rows)
{
    const uint32_t step = rows.word_bytes / (uint32_t)sizeof *x;
    uint32_t same = 0;
    if (step == 1)
        for (uint32_t i = 0; i < rows.uints; i++)
            same += x[i] == y[i];
    else
        for (uint32_t i = 0; i < rows.uints; i += 2)
            same += ((x[i] ^ y[i]) | (x[i + 1] ^ y[i + 1])) == 0;
    return rows.uints == 0 ? 0.0 : (double)same / (double)(rows.uints / step);
}

static double reached(double similarity, double threshold)
{
    return similarity >= threshold ? similarity : -1;
}

double bm_similarity(const bm_similarity_rule *rule, bm_compared x, bm_compared y)
{
    switch (rule->verify) {
    case BM_VERIFY_NONE:
        return NAN;
    case BM_VERIFY_SIGNATURE:
        return reached(agreement(x.data, y.data, rule->words), rule->threshold);
    case BM_VERIFY_CONTAINED:
        return bm_jaccard_held(x.data, x.n, y.data, y.n, rule->share);
    default:
        return rule->weighted ? reached(bm_weighted_jaccard(bm_weighted_set_at(x.data, x.n),
                                                            bm_weighted_set_at(y.data, y.n)),
                                        rule->threshold)
                              : bm_similarity_at_least(rule->measure, x.data, x.n, y.data, y.n,
                                                       rule->threshold);
    }
}
