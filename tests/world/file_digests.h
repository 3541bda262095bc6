/* SPDX-License-Identifier: Apache-2.0 */
/* file_digests.h -- the two digests that a report lists for a file. Header only. */
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "output/digest.h"

/* Computes both digests in pieces of `piece_bytes`. */
static inline bm_status file_digests(const char *path, uint64_t piece_bytes, bm_digests *out)
{
    bm_digest *digest = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bm_file_range whole = {fd, path, 0, UINT64_MAX};
    bm_status status =
        fd < 0 ? BM_ERR_IO : bm_digest_open(BM_DIGEST_BOTH, piece_bytes, &digest, NULL);
    if (status == BM_OK)
        status = bm_digest_add_file(digest, &whole, NULL);
    if (status == BM_OK)
        status = bm_digest_end(digest, out, NULL);
    bm_digest_close(digest);
    if (fd >= 0)
        close(fd);
    return status;
}
