/* filter_drops.h -- the records that a directory of `dedup` leaves out: those that it removed, and
 * those that were skipped.
 *
 * removed.tsv and skipped.tsv have them in input order, as many of each input as sources.tsv counts;
 * so it is known which input a row is of, even if two have one name. A record is known
 *
 *     by its line, which says enough where no two records begin in one;
 *     by its id (`by_id`) where they do, where there are no lines (dedup had only signatures), and
 *     where ids are all that is kept. Then the inputs are read once for their ids (job_filter.c), and
 *     a place is the number of a record, from 0, among those of all inputs. */
#ifndef BM_JOBS_FILTER_DROPS_H
#define BM_JOBS_FILTER_DROPS_H

#include "output/manifest.h"
#include "model/id_set.h"
#include "job/settings.h"

typedef struct bm_drop {
    uint32_t file;  /* number of the input */
    uint64_t place; /* line, or number */
} bm_drop;

/* Records in input order. */
typedef struct bm_drop_list {
    bm_drop *rows;
    size_t n, cap, next;
} bm_drop_list;

typedef struct bm_drops {
    bool by_id;
    bool no_lines;                 /* dedup had only signatures */
    bm_id_set bases;               /* then: X of the removed documents X#N */
    const bm_settings *settings;   /* borrowed: what says how much they may take */
    bm_drop_list removed, skipped; /* by id: the first has both, filled by reading */
    bm_id_set ids;                 /* by id: of the removed documents */
    uint64_t n_removed, n_skipped;
    uint64_t bytes; /* that they will take at most */
} bm_drops;         /* {0} is empty, but for `settings` */

/* Read the tables of the directory, whose report is open. out->by_id: ids are wanted whatever the
 * tables say. BM_ERR_FORMAT names file and line, or the file where its bytes are not those that the
 * report lists; BM_ERR_NOMEM names a `memory` that is enough. */
bm_status bm_drops_load(const bm_manifest *manifest, bm_drops *out, bm_error *err);
void bm_drops_reset(bm_drops *drops); /* frees */
/* By id: reading has met one of them, in the input `name`. BM_ERR_INPUT: more than there were. */
bm_status bm_drops_meet(bm_drops *drops, bm_drop drop, const char *name, bm_error *err);
/* Is this record left out? Asked for records in input order. */
bool bm_drops_take(bm_drops *drops, bm_drop here);
/* How many were left out so far. */
uint64_t bm_drops_taken(const bm_drops *drops);
/* No lines are known, and `id` is an X#N: would it matter to a removed document whether the input has it
 * so, or `sign` had numbered it? */
bool bm_drops_doubt(const bm_drops *drops, bm_str id);
/* Is a document of this id removed? */
bool bm_drops_has_id(const bm_drops *drops, bm_str id);

#endif
