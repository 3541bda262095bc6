/* index_follow.h -- unique documents that come a line at a time, each answered before the next is waited for. */
#ifndef BM_INDEX_INDEX_FOLLOW_H
#define BM_INDEX_INDEX_FOLLOW_H

#include "index/index_adder.h"

/* Lines of standard input through an adder whose job is unique, until there are no more, or something fails; commits
 * when it is due, while nothing comes too, but not at the end. */
bm_status bm_index_follow_run(bm_index_adder *adder, bm_error *err);

#endif
