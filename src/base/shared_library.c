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

bm_status bm_shared_library_open(const char *file, const char *const *names, void *table,
                                 bm_error *err)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        const char *why = dlerror(); /* it begins with the file's name */
        if (why == NULL)
            why = file;
        return bm_fail(err, is_nomem(why) ? BM_ERR_NOMEM : BM_ERR_IO, "cannot open a library: %s",
                       why);
    }
    const char *missing = NULL;
    char *slot = table;
    for (; *names != NULL && missing == NULL; names++, slot += sizeof library) {
        void *symbol = dlsym(library, *names);
        memcpy(slot, &symbol, sizeof symbol); /* ISO C has no cast from void * to a function */
        if (symbol == NULL)
            missing = *names;
    }
    dlclose(library); /* it stays: RTLD_NODELETE */
    return missing == NULL ? BM_OK : bm_fail(err, BM_ERR_IO, "%s has no %s", file, missing);
}
