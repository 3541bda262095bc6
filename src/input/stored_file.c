/* SPDX-License-Identifier: Apache-2.0 */
/* stored_file.c -- see the header.
 *
 * Tests: tests/unit/input/test_input_digest.c, tests/cli/cases/addresses.sh */
#include "input/stored_file.h"

#include <unistd.h>

#include "base/address.h"
#include "base/error.h"
#include "base/files.h"

bm_status bm_stored_open(const char *path, bm_remote *remote, const bm_callbacks *callbacks,
                         bm_stored_file *out, bm_error *err)
{
    *out = (bm_stored_file){.name = path, .fd = -1, .remote = remote};
    if (remote != NULL)
        return BM_OK;
    if (!bm_is_address(path))
        return bm_open_regular(path, BM_ERR_INPUT, &out->fd, err);
    BM_TRY(bm_remotes_open(callbacks, &out->own, err));
    const bm_status status = bm_remote_open(out->own, path, "/tmp", &out->remote, err);
    if (status != BM_OK)
        bm_stored_close(out);
    return status;
}

void bm_stored_close(bm_stored_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    bm_remotes_close(file->own);
    *file = BM_STORED_FILE_NONE;
}

bm_status bm_stored_read(const bm_stored_file *file, void *out, size_t len, uint64_t at,
                         size_t *got, bm_error *err)
{
    if (file->remote != NULL)
        return bm_remote_read(file->remote, out, len, at, got, err);
    const int code = bm_pread_all(file->fd, out, len, at, got);
    return code == 0 ? BM_OK : bm_fail_errno(err, code, file->name, "cannot read");
}
