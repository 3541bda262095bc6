/* store_build.h -- the band keys of an index that is built, which are sorted aside until its commit. */
#ifndef BM_STORE_STORE_BUILD_H
#define BM_STORE_STORE_BUILD_H

#include "store/store_writer.h"

bm_status bm_store_build_begin(bm_store *store, bm_error *err);
/* All bands as one run. */
bm_status bm_store_build_end(bm_store *store, bm_error *err);

#endif
