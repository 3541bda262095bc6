/* query_source.h -- what is searched: an index that others may write meanwhile, or one made for a call. */
#ifndef BM_QUERY_SOURCE_H
#define BM_QUERY_SOURCE_H

#include "job/settings.h"
#include "store/store_view.h"

typedef struct bm_query_source {
    char *path; /* where it is; NULL: it has no name */
    bm_store *store;
    bm_store_view *view;
    double looked; /* when it was asked last whether there is a newer commit */
} bm_query_source; /* {0} is closed */

/* Open the index at `path`, its last commit, and take over what it has fixed (index_settings.h). */
bm_status bm_query_source_open(const char *path, bm_settings *settings, bm_query_source *out,
                               bm_error *err);
void bm_query_source_close(bm_query_source *source);
/* See the last commit from now on, and the index that took the place of this one; looks a few times a second
 * at most, however often it is called. *moved: the view is another. What cannot be opened leaves the view that
 * there was, but for BM_ERR_NOMEM. */
bm_status bm_query_source_refresh(bm_query_source *source, bool *moved, bm_error *err);

#endif
