/* index_signed.h -- directories that `sign` wrote as the documents of an index: their rows, where it keeps signatures; where it
 * keeps sets, the inputs that were signed, which are read again as they were. */
#ifndef BM_INDEX_INDEX_SIGNED_H
#define BM_INDEX_INDEX_SIGNED_H

#include "results/sign_dir.h"
#include "index/index_adder.h"
#include "index/index_sources.h"

typedef struct bm_index_signed {
    bm_sign_dir **dirs;
    size_t n_open;
    size_t n; /* whose rows are documents; 0: the job's inputs are, which may be theirs */
    bm_index_sources sources; /* their inputs, which are read again */
} bm_index_signed;            /* {0}; close */

/* Open the inputs where they are such directories, and settle by them how documents are signed: as asked, or as the
 * index has it (`path`, whose settings were taken; NULL: a new one). BM_ERR_USAGE: some are and some are not;
 * fields that ask for something else. BM_ERR_FORMAT: they were not signed alike; of an index of sets, an input is missing or not
 * what it was (all are looked at, and compared, before anything is done). */
bm_status bm_index_signed_open(bm_settings *settings, const char *path, bm_index_signed *out,
                               bm_error *err);
void bm_index_signed_close(bm_index_signed *dirs);
/* All their documents through the adder. */
bm_status bm_index_signed_run(const bm_index_signed *dirs, bm_index_adder *adder,
                              uint64_t full_bytes, bm_error *err);

#endif
