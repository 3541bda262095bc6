/* tune_documents.h -- the part of bm_tune that reads documents. */
#ifndef BM_TUNE_TUNE_DOCUMENTS_H
#define BM_TUNE_TUNE_DOCUMENTS_H

#include "tune/tune_result.h"

/* What can be said of the options before anything is read. BM_ERR_USAGE names the field. */
bm_status bm_tune_documents_check(const bm_tune_options *options, bm_error *err);
/* Read the documents once for each text; fill in `samples`, for the plans that the result has. */
bm_status bm_tune_documents_read(const bm_tune_options *options, bm_tune_result *result,
                                 bm_error *err);

#endif
