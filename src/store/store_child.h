/* store_child.h -- a file of LMDB's read in a child of this process, of which LMDB may make an end. */
#ifndef BM_STORE_STORE_CHILD_H
#define BM_STORE_STORE_CHILD_H

#include <bandmill/status.h>

/* BM_OK where bm_pages_read came to its end; that the child came to another is BM_ERR_FORMAT. `path`, `name`: as of
 * bm_store_env_cfg; `data`: a descriptor of its data.mdb; `slot`: it takes
 * one in lock.mdb, so that no writer writes over what it reads (else somebody holds that for it). */
bm_status bm_child_reads_pages(const char *path, const char *name, int data, bool slot,
                               bm_error *err);

#endif
