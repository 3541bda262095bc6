/* weigh.h -- from shingles and how often they stand in their documents to weights: tf * ln(N / df).
 *
 * N is the number of documents, those without shingles too, df the number of those in which the
 * shingle stands, tf how often it stands in this one. The quotient is rounded to a double, then its
 * logarithm is that of base/portable_log.h, then the product is rounded: the same bits on every
 * machine. A shingle that stands in every document weighs 0 and is no element of any. */
#ifndef BM_WEIGHTS_WEIGH_H
#define BM_WEIGHTS_WEIGH_H

#include "model/batches.h"
#include "corpus/df_table.h"

/* Replace each document of the batch by its elements in ascending order, with weights. The
 * documents were all counted. Any thread. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_weigh_batch(const bm_df_table *table, bm_shingle_batch *batch, bm_error *err);

#endif
