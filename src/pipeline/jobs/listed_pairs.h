/* listed_pairs.h -- a pairs.tsv that lies where `dedup --pairs` wrote it, and what the files beside it say of
 * its documents. */
#ifndef BM_JOBS_LISTED_PAIRS_H
#define BM_JOBS_LISTED_PAIRS_H

#include "io/manifest/listed.h"
#include "io/results/listed_order.h"

typedef struct bm_listed_pairs {
    bm_manifest *report;
    bm_listed *listed; /* NULL: nobody lists the file, and the rest is empty */
    double threshold;  /* of the job */
    bool against;      /* it compared with known documents, whose pairs are not in the file */
    bool stars;
    bm_listed_docs docs; /* of the file; the caller adds its rows */
} bm_listed_pairs;       /* {0} lists nothing */

/* Does a report of `dedup` beside `path` list it, under its name? Borrows path until close. Where there is
 * no report, or one of somebody else, nothing is listed. BM_ERR_NOMEM; BM_ERR_IO: there is one that cannot be read;
 * BM_ERR_FORMAT: it does not say what the job was. */
bm_status bm_listed_pairs_open(const char *path, bm_listed_pairs *out, bm_error *err);
void bm_listed_pairs_close(bm_listed_pairs *pairs);

#endif
