/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_folder.h -- files for targets that read by path: each process has its own directory, in
 * memory where the system has such a place, removed when the process exits normally. Header only.
 */
#pragma once

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_check.h"
#include "tests/world/world_folder.h"

#define FUZZ_PATH 256u

static char fuzz_folder_path[64];

static inline void fuzz_folder_end(void)
{
    world_folder_remove(fuzz_folder_path);
}

/* Writes "FOLDER/NAME" to `out` and returns it. */
static inline const char *fuzz_path(const char *name, char out[FUZZ_PATH])
{
    if (fuzz_folder_path[0] == '\0') {
        const char *root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        CHECK(world_folder_make(root, fuzz_folder_path, sizeof fuzz_folder_path));
        atexit(fuzz_folder_end);
    }
    CHECK((size_t)snprintf(out, FUZZ_PATH, "%s/%s", fuzz_folder_path, name) < FUZZ_PATH);
    return out;
}

/* Makes the file at this path contain exactly these bytes. */
static inline void fuzz_write(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len && close(fd) == 0);
}

/* An input of two parts, separated by the line `---`; without that line the second part is empty.
 */
typedef struct fuzz_parts {
    const uint8_t *first, *second;
    size_t n_first, n_second;
} fuzz_parts;

static inline fuzz_parts fuzz_split(const uint8_t *data, size_t size)
{
    const uint8_t *at = size == 0 ? NULL : memmem(data, size, "\n---\n", 5);
    if (at == NULL)
        return (fuzz_parts){data, data + size, size, 0};
    const size_t n = (size_t)(at - data) + 1;
    return (fuzz_parts){data, at + 5, n, size - n - 4};
}
