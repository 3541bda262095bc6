/* listed_pairs.h -- a pairs.tsv that lies where `dedup --pairs` wrote it. */
#ifndef BM_JOBS_LISTED_PAIRS_H
#define BM_JOBS_LISTED_PAIRS_H

#include "io/manifest/listed.h"

typedef struct bm_listed_pairs {
    bm_manifest *report;
    bm_listed *listed; /* NULL: nobody lists the file */
} bm_listed_pairs;     /* {0} lists nothing */

/* Does a report of `dedup` beside `path` list it, under its name? Borrows path until close. Where there is
 * no report, or one of somebody else, nothing is listed. BM_ERR_NOMEM. */
bm_status bm_listed_pairs_open(const char *path, bm_listed_pairs *out, bm_error *err);
void bm_listed_pairs_close(bm_listed_pairs *pairs);

#endif
