/* cl_list_answer.c -- see the header. Both processes are of one machine, and mostly of one program:
 * the structs go as they are, and what a bool or an enum may not hold is refused.
 *
 * Tests: tests/unit/opencl/test_cl_list.c */
#include "opencl/cl_list_answer.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/whole_io.h"

#define MAGIC       "BMCLLST1"
#define MAX_DEVICES 65536u

typedef struct header {
    char magic[8];
    uint32_t info_bytes, n;
    char note[sizeof((bm_cl_listing *)0)->note];
} header;

bool bm_cl_list_answer_write(int fd, const bm_cl_listing *listing)
{
    header h = {.info_bytes = sizeof(bm_device_info), .n = (uint32_t)listing->n};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    memcpy(h.note, listing->note, sizeof h.note);
    int code = bm_pwrite_all(fd, &h, sizeof h, 0);
    if (code == 0)
        code = bm_pwrite_all(fd, listing->devices, listing->n * sizeof *listing->devices, sizeof h);
    errno = code;
    return code == 0;
}

/* Does it hold what a bm_device_info can hold? */
static bool is_sound(const bm_device_info *info)
{
    unsigned kind;
    unsigned char usable;
    memcpy(&kind, &info->kind, sizeof kind);
    memcpy(&usable, &info->usable, sizeof usable);
    return kind <= BM_DEVICE_CL_OTHER && kind != BM_DEVICE_NATIVE && usable <= 1 &&
           memchr(info->spec, '\0', sizeof info->spec) != NULL &&
           memchr(info->name, '\0', sizeof info->name) != NULL &&
           memchr(info->platform, '\0', sizeof info->platform) != NULL &&
           memchr(info->driver, '\0', sizeof info->driver) != NULL &&
           memchr(info->why, '\0', sizeof info->why) != NULL;
}

bm_status bm_cl_list_answer_read(int fd, bm_cl_listing *out, bm_error *err)
{
    header h;
    struct stat st;
    size_t got;
    if (fstat(fd, &st) != 0 || bm_pread_all(fd, &h, sizeof h, 0, &got) != 0 || got != sizeof h ||
        memcmp(h.magic, MAGIC, sizeof h.magic) != 0 || h.info_bytes != sizeof(bm_device_info) ||
        h.n > MAX_DEVICES || memchr(h.note, '\0', sizeof h.note) == NULL ||
        (uint64_t)st.st_size != sizeof h + (uint64_t)h.n * sizeof(bm_device_info))
        return BM_NOT_FOUND;
    bm_device_info *devices = NULL;
    BM_TRY(bm_new(&devices, h.n, err));
    const size_t len = h.n * sizeof *devices;
    bool sound = bm_pread_all(fd, devices, len, sizeof h, &got) == 0 && got == len;
    for (uint32_t i = 0; sound && i < h.n; i++)
        sound = is_sound(&devices[i]);
    if (!sound) {
        bm_free(devices);
        return BM_NOT_FOUND;
    }
    *out = (bm_cl_listing){.devices = devices, .n = h.n};
    memcpy(out->note, h.note, sizeof out->note);
    return BM_OK;
}
