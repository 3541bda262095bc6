/* device_list.c -- the public listing of devices.
 *
 * Tests: tests/cli/cases/devices.sh, tests/unit/jobs/test_public_api.c */
#include <bandmill/device.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "model/option_check.h"
#include "devices/device_pick.h"

struct bm_device_list {
    bm_device_pick all;
};

void bm_device_list_options_init_sized(bm_device_list_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &(bm_device_list_options){0}, sizeof *options);
}

static bm_status open_list(const bm_device_options *device, const bm_callbacks *callbacks,
                           bm_device_list **out, bm_error *err)
{
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the list given");
    bm_device_list *list = NULL;
    BM_TRY(bm_new_zero(&list, 1, err));
    bm_status status = bm_device_pick_list(device, callbacks, &list->all, err);
    if (status == BM_OK)
        *out = list;
    else
        bm_free(list);
    return status;
}

bm_status bm_device_list_open(bm_device_list **out, bm_error *err)
{
    return open_list(&(bm_device_options){0}, NULL, out, err);
}

bm_status bm_device_list_open_with(const bm_device_list_options *options, bm_device_list **out,
                                   bm_error *err)
{
    bm_device_list_options used = {0};
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_device_list_options, callbacks), &used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.device = &used.device}, err));
    return open_list(&used.device, &used.callbacks, out, err);
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
    return list != NULL ? list->all.why : "";
}

bool bm_device_list_broken(const bm_device_list *list)
{
    return list != NULL && list->all.broken;
}

void bm_device_list_close(bm_device_list *list)
{
    if (list == NULL)
        return;
    bm_device_pick_reset(&list->all);
    bm_free(list);
}
