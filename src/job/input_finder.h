/* input_finder.h -- where a file is now that a manifest names. */
#ifndef BM_CONTEXT_INPUT_FINDER_H
#define BM_CONTEXT_INPUT_FINDER_H

#include "output/manifest.h"

typedef struct bm_input_places {
    const char *manifest;          /* its path */
    const char *sources;           /* a directory that the caller knows; NULL: none */
    const bm_callbacks *callbacks; /* while digests are computed; may be NULL */
} bm_input_places;

/* *path is the caller's, to bm_free. Of the places where a file of the recorded size lies, the first
 * that has the recorded bytes, which are looked at only where there are several. The order:
 *
 *     the name as it is (a relative one: in the current directory); where the job read it
 *     NAME in the directory of the manifest, and in the one that holds that directory
 *     sources/NAME, and then without the first directories of the name, one after another
 *     where it lay as seen from the directory of the manifest
 *
 * BM_ERR_IO: it is nowhere. BM_ERR_FORMAT: only files of another size are there, or it was standard
 * input. Both name it. */
bm_status bm_input_find(const bm_manifest_input *input, const bm_input_places *places, char **path,
                        bm_error *err);

/* *same: are the bytes of the file at `path` those that were read? All of them are looked at. `callbacks` may be NULL;
 * BM_ERR_IO, BM_ERR_INPUT (it is no regular file), BM_ERR_NOMEM, BM_ERR_CANCELLED. */
bm_status bm_input_is_same(const bm_manifest_input *input, const char *path,
                           const bm_callbacks *callbacks, bool *same, bm_error *err);

#endif
