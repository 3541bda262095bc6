/* store_newest.c -- has somebody else written since a view was opened?
 *
 * Asked often, by readers that live long: so nothing of the index is looked at but the record of its last commit. In doubt
 * nothing is newer: whoever asks will ask again.
 *
 * Tests: tests/unit/store/test_store_newest.c */
#include <sys/stat.h>

#include "base/memory.h"
#include "store/store_snapshot.h"

bool bm_store_view_is_last(const bm_store_view *view)
{
    const bm_snapshot *s = &view->snapshot;
    bm_store_record newest = {0};
    const bool last = s->store->place.dir < 0 ||
                      bm_store_record_read(&s->store->place, &newest, NULL) != BM_OK ||
                      newest.commit <= s->state.commit;
    bm_store_record_reset(&newest);
    return last;
}

bool bm_store_is_replaced(const bm_store *store)
{
    struct stat here, there;
    bool replaced = false;
    char *path = NULL;
    if (store->place.path == NULL || fstat(store->place.data, &here) != 0 ||
        bm_string_format(&path, NULL, "%s/" BM_STORE_DATA, store->place.path) != BM_OK)
        return false;
    if (stat(path, &there) == 0)
        replaced = here.st_dev != there.st_dev || here.st_ino != there.st_ino;
    bm_free(path);
    return replaced;
}
