/* recipe_ingest.h -- the documents of a recipe's inputs, which are not the job's own: read again as they were. */
#ifndef BM_CONTEXT_RECIPE_INGEST_H
#define BM_CONTEXT_RECIPE_INGEST_H

#include "job/job_context.h"
#include "job/recipe.h"

/* Read the inputs of the recipe, at recipe->paths, as `read` says (input, text, recorded.offsets_name) with the threads and
 * the memory of the job. Only shingle hashes come to the sink, in the order of the inputs; wish->words and wish->keys are
 * not asked for. Records that were skipped are skipped, and not told again. Afterwards their bytes are compared:
 * BM_ERR_FORMAT names the first input that is not what it was. */
bm_status bm_recipe_ingest(const bm_recipe *recipe, const bm_settings *read, bm_job_context *job,
                           const bm_ingest_wish *wish, bm_error *err);

#endif
