/* out_entries.h -- the files of an output directory that were closed: digested, synced and listed. */
#ifndef BM_IO_OUTPUT_OUT_ENTRIES_H
#define BM_IO_OUTPUT_OUT_ENTRIES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/meter.h"
#include "base/pool.h"
#include "json/json_write.h"
#include "output/digest.h"
#include "output/out_file.h"

/* A file that was closed. */
typedef struct bm_out_entry {
    char *name; /* below the folder of outputs */
    int fd;     /* -1: closed, and opened again for the digest and the sync */
    uint64_t bytes;
    bm_digest_piece *pieces; /* NULL: none is known yet */
    size_t n_pieces;
    bm_digests of;
    bm_sealed_part sealed;
    bool synced;
} bm_out_entry;

typedef struct bm_out_entries {
    bm_out_entry *rows; /* after finish sorted by name, but for those that came later */
    size_t n, cap;
    unsigned n_held; /* with a descriptor */
    bool finished;
    bm_pool *pool;   /* whose threads digest; NULL: the caller's alone */
    bm_meter *meter; /* told how many are done, of twice as many; NULL: nobody watches */
    size_t n_told;
} bm_out_entries; /* reset closes and frees */

/* The work directory in which the folder of outputs lies. */
typedef struct bm_out_entries_at {
    int folder;
    const char *path;
} bm_out_entries_at;

/* A file is complete: its descriptor and its name are taken, unless that fails. */
bm_status bm_out_entries_take(bm_out_entries *list, bm_out_file *file, bm_error *err);
/* Digest and sync all of them. Once. BM_ERR_FORMAT: a part of one is not what was sealed. */
bm_status bm_out_entries_finish(bm_out_entries *list, bm_out_entries_at at, bm_error *err);
/* Sync those that are not yet, and let go of their descriptors. */
bm_status bm_out_entries_sync(bm_out_entries *list, bm_out_entries_at at, bm_error *err);
/* After finish: an object without a newline behind it, from names to digests of one kind
 * (BM_DIGEST_SHA256, BM_DIGEST_XXH3). */
bm_status bm_out_entries_write(const bm_out_entries *list, unsigned kind, bm_json *out,
                               bm_error *err);
/* The same of files of several pieces: from names to arrays of XXH3 128 of each piece. */
bm_status bm_out_entries_write_pieces(const bm_out_entries *list, bm_json *out, bm_error *err);
void bm_out_entries_reset(bm_out_entries *list);

#endif
