/* listed.h -- is a file the one that its manifest lists? Asked while it is read, from front to back,
 * by whoever reads it anyway.
 *
 * Compared is XXH3 128; where the manifest has none (of an earlier version), SHA-256. A reader that
 * stops before the end has compared nothing. */
#ifndef BM_IO_MANIFEST_LISTED_H
#define BM_IO_MANIFEST_LISTED_H

#include "output/digest.h"
#include "output/manifest.h"

typedef struct bm_listed bm_listed;

/* `name`: as the manifest lists it; `path`: where it is, for messages. Both and the manifest are
 * borrowed until close. BM_ERR_FORMAT: it is not listed. */
bm_status bm_listed_open(const bm_manifest *manifest, const char *name, const char *path,
                         bm_listed **out, bm_error *err);
/* The next bytes of the file. NULL is fine, here and below: a file that nobody has listed. */
bm_status bm_listed_add(bm_listed *listed, const void *data, size_t len, bm_error *err);
/* That was all: BM_ERR_FORMAT names the file where it is another. Once; later calls are BM_OK. */
bm_status bm_listed_end(bm_listed *listed, bm_error *err);
void bm_listed_close(bm_listed *listed);

/* The same of a whole file that is open, read for this alone. */
bm_status bm_listed_check(const bm_manifest *manifest, const char *name, const bm_file_range *whole,
                          bm_error *err);

#endif
