/* device_list.c -- the public listing of devices.
 *
 * Tests: tests/cli/cases/devices.sh, tests/unit/jobs/test_public_api.c */
#include <bandmill/device.h>

#include "base/error.h"
#include "base/memory.h"
#include "pipeline/devices/device_pick.h"

struct bm_device_list {
    bm_device_pick all;
    char note[256];
};

bm_status bm_device_list_open(bm_device_list **out, bm_error *err)
{
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the list given");
    bm_device_list *list = bm_alloc_zero(1, sizeof *list);
    if (list == NULL)
        return bm_fail_nomem(err, sizeof *list);
    bm_status status = bm_device_pick_list(&list->all, list->note, sizeof list->note, err);
    if (status == BM_OK)
        *out = list;
    else
        bm_free(list);
    return status;
}

size_t bm_device_list_count(const bm_device_list *list)
{
    return list != NULL ? list->all.n : 0;
}

const bm_device_info *bm_device_list_at(const bm_device_list *list, size_t index)
{
    return list != NULL && index < list->all.n ? &list->all.devices[index] : NULL;
}

const char *bm_device_list_note(const bm_device_list *list)
{
    return list != NULL ? list->note : "";
}

void bm_device_list_close(bm_device_list *list)
{
    if (list == NULL)
        return;
    bm_device_pick_reset(&list->all);
    bm_free(list);
}
