/* against_signed.h -- signatures of known documents as an index, in a file without a name. */
#ifndef BM_JOBS_AGAINST_SIGNED_H
#define BM_JOBS_AGAINST_SIGNED_H

#include "corpus/corpus.h"
#include "jobs/against_open.h"

/* Plan and verification are settled: an index of all known documents with their words; or, where similarities are
 * exact, of those that are candidates of documents in the corpus (before bm_corpus_end_adding), with their sets, which
 * are made of the inputs again. Known documents that are an index already stay as they are. */
bm_status bm_against_load(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_error *err);
/* Documents that are known. */
uint64_t bm_against_documents(const bm_against *against);

#endif
