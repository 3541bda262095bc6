/* out_group.h -- single files of one job, which get their names together or not at all.
 *
 *     take, take, …   each is written and synced beside its target
 *     place           all of them get their names; where one cannot, none has
 *     end             they stay; or, where something else failed meanwhile, all is as before
 *
 * {0} is an empty group. Threads: one at a time. */
#ifndef BM_IO_OUTPUT_OUT_GROUP_H
#define BM_IO_OUTPUT_OUT_GROUP_H

#include <bandmill/status.h>

#include "output/out_file.h"

#define BM_OUT_GROUP_MAX 4u /* rows, two histograms, a report */

typedef struct bm_out_group {
    bm_out_file *files[BM_OUT_GROUP_MAX];
    size_t n;
} bm_out_group;

/* The file is complete. It is taken, whatever the status. */
bm_status bm_out_group_take(bm_out_group *group, bm_out_file *file, bm_error *err);
/* On failure none has its name, and the group is empty. */
bm_status bm_out_group_place(bm_out_group *group, bm_error *err);
/* After place: the names stay. Otherwise, or without place: what was written is removed, and what had
 * the names before has them again. The group is empty. */
void bm_out_group_end(bm_out_group *group, bool stays);

#endif
