/* row_marks.h -- some of the rows of a directory of signatures: a bit each. */
#ifndef BM_JOBS_ROW_MARKS_H
#define BM_JOBS_ROW_MARKS_H

#include <bandmill/types.h>

typedef struct bm_row_marks {
    uint64_t *bits; /* (n_rows + 63) / 64; bm_free */
    uint64_t n_rows;
    uint64_t n; /* that are marked */
} bm_row_marks;

static inline bool bm_row_is_marked(const bm_row_marks *marks, uint64_t row)
{
    return (marks->bits[row / 64] >> row % 64 & 1) != 0;
}

static inline void bm_row_mark(bm_row_marks *marks, uint64_t row)
{
    const uint64_t bit = (uint64_t)1 << row % 64;
    marks->n += (marks->bits[row / 64] & bit) == 0;
    marks->bits[row / 64] |= bit;
}

#endif
