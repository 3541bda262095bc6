/* shared_library.c -- dlopen and dlsym.
 *
 * Tests: tests/unit/base/test_shared_library.c */
#include "base/shared_library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

/* The dynamic linker says it in words only. */
static bool is_nomem(const char *why)
{
    return strstr(why, "cannot allocate") != NULL || strstr(why, "cannot map") != NULL ||
           strstr(why, "failed to map") != NULL;
}

bool bm_shared_library_find(const char *file, const char *const *names, void *table,
                            bm_library_lack *lack)
{
    *lack = (bm_library_lack){0};
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        const char *why = dlerror(); /* it begins with the file's name */
        lack->library = why != NULL ? why : file;
        return false;
    }
    char *slot = table;
    for (; *names != NULL && lack->name == NULL; names++, slot += sizeof library) {
        void *symbol = dlsym(library, *names);
        memcpy(slot, &symbol, sizeof symbol); /* ISO C has no cast from void * to a function */
        if (symbol == NULL)
            lack->name = *names;
    }
    dlclose(library); /* it stays: RTLD_NODELETE */
    return lack->name == NULL;
}

bm_status bm_shared_library_open(const char *file, const char *const *names, void *table,
                                 bm_error *err)
{
    bm_library_lack lack;
    if (bm_shared_library_find(file, names, table, &lack))
        return BM_OK;
    if (lack.name != NULL)
        return bm_fail(err, BM_ERR_IO, "%s has no %s", file, lack.name);
    return bm_fail(err, is_nomem(lack.library) ? BM_ERR_NOMEM : BM_ERR_IO,
                   "cannot open a library: %s", lack.library);
}
