/* query_source.c -- open, look for what is newer, close.
 *
 * Tests: tests/cli/cases/query_follow.sh */
#include "index/query_source.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "index/index_place.h"
#include "index/index_settings.h"

#define LOOK_SECONDS 0.25

static const bm_store_cfg reads = {.mode = BM_STORE_READ, .look_ups = true};

bm_status bm_query_source_open(const char *path, bm_settings *settings, bm_query_source *out,
                               bm_error *err)
{
    char real[PATH_MAX];
    *out = (bm_query_source){.looked = bm_clock_seconds()};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_find(path, real, sizeof real, err));
    if ((out->path = bm_strdup(real)) == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, sizeof real));
    BM_TRY_OUT(bm_store_open(out->path, &reads, &out->store, err));
    BM_TRY_OUT(bm_index_settings_take(bm_store_facts_of(out->store), path, settings, err));
    status = bm_store_view_open(out->store, &out->view, err);
out:
    if (status != BM_OK)
        bm_query_source_close(out);
    return status;
}

void bm_query_source_close(bm_query_source *source)
{
    bm_store_view_close(source->view);
    bm_store_close(source->store);
    bm_free(source->path);
    *source = (bm_query_source){0};
}

/* Another file stands at the path: compact put it there, or somebody built the index anew. */
static bm_status open_again(bm_query_source *source, bool *moved, bm_error *err)
{
    bm_query_source next = {.looked = source->looked};
    const bm_store_facts *now = bm_store_facts_of(source->store);
    BM_TRY(bm_store_open(source->path, &reads, &next.store, err));
    const bm_store_facts *then = bm_store_facts_of(next.store);
    const bool same = then->kind == now->kind && then->settings.len == now->settings.len &&
                      memcmp(then->settings.data, now->settings.data, now->settings.len) == 0;
    bm_status status = same ? bm_store_view_open(next.store, &next.view, err)
                            : bm_fail_at(err, BM_ERR_FORMAT, source->path, 0,
                                         "another index has taken its place, with other settings");
    if (status == BM_OK) {
        next.path = source->path;
        source->path = NULL;
        bm_query_source_close(source);
        *source = next;
        *moved = true;
    } else {
        bm_query_source_close(&next);
    }
    return status;
}

bm_status bm_query_source_refresh(bm_query_source *source, bool *moved, bm_error *err)
{
    const double now = bm_clock_seconds();
    bm_store_view *view = NULL;
    bm_error why = {0};
    bm_status status = BM_OK;
    *moved = false;
    if (source->path == NULL || now - source->looked < LOOK_SECONDS)
        return BM_OK;
    source->looked = now;
    if (bm_store_is_replaced(source->store)) {
        status = open_again(source, moved, &why);
    } else if (!bm_store_view_is_last(source->view)) {
        status = bm_store_view_open(source->store, &view, &why);
        if (status == BM_OK) {
            bm_store_view_close(source->view);
            source->view = view;
            *moved = true;
        }
    }
    if (status != BM_ERR_NOMEM)
        return BM_OK;
    if (err != NULL)
        *err = why;
    return status;
}
