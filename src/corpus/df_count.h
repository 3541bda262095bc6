/* df_count.h -- document frequencies: in how many documents each shingle stands.
 *
 * Documents are counted as they come, batch by batch, on any number of threads; the counts are whole
 * numbers that are added up, so neither the order nor the threads change them. They are exact however
 * little memory there is: what does not fit goes to sorted runs on disk (df_count.c). */
#ifndef BM_WEIGHTS_DF_COUNT_H
#define BM_WEIGHTS_DF_COUNT_H

#include "model/shingle_batch.h"
#include "corpus/df_table.h"

typedef struct bm_df_count bm_df_count;

/* `cfg.temp_dir` is borrowed until the table is closed. */
bm_status bm_df_count_open(const bm_df_cfg *cfg, bm_df_count **out, bm_error *err);
void bm_df_count_close(bm_df_count *count); /* NULL is fine */
/* Every document of the batch, each of whose hashes stands once. Any thread. BM_ERR_NOMEM, BM_ERR_IO. */
bm_status bm_df_count_add(bm_df_count *count, const bm_shingle_batch *batch, bm_error *err);
/* Steps that insertions took past the slots of other keys. While nobody adds. */
uint64_t bm_df_count_steps(const bm_df_count *count);
/* No more documents come: the table of them, which the caller closes. */
bm_status bm_df_count_end(bm_df_count *count, bm_df_table **out, bm_error *err);

#endif
