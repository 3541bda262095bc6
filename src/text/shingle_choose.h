/* shingle_choose.h -- the inner loops of one instruction set. */
#ifndef BM_TEXT_SHINGLE_CHOOSE_H
#define BM_TEXT_SHINGLE_CHOOSE_H

#include "text/shingle_ops.h"

/* The table of an instruction set that this processor has. */
const bm_shingle_ops *bm_shingle_ops_of(bm_isa isa);

#endif
