/* shared_library.h -- a shared library that is opened when something wants it. One that is linked costs each
 * start of the program .05 to .6 ms, whether or not a file of its kind turns up.
 *
 * What a module calls of a library is a list of names, from which the table of pointers and the names to look
 * up are made:
 *
 *     #define FUNCTIONS(X) X(inflate) X(inflateEnd)
 *     typedef struct zlib {
 *         FUNCTIONS(BM_LIBRARY_MEMBER)
 *     } zlib;
 *     static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};
 *
 * The build gives the file's name, its SONAME, as BM_SONAME_ZLIB (cmake/rooms.cmake). */
#ifndef BM_BASE_SHARED_LIBRARY_H
#define BM_BASE_SHARED_LIBRARY_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_LIBRARY_MEMBER(name) __typeof__(name) *name;
#define BM_LIBRARY_NAME(name)   #name,

/* Opens `file`, found as the dynamic linker finds it, and fills `table`: pointers to functions, one for each
 * of `names`, which ends with NULL. The library stays for the life of the process: to open it again costs
 * microseconds, and what it left behind (threads, exit handlers) keeps its code. Where it is missing or lacks
 * one of the names: BM_ERR_IO, in the linker's words or with the name; BM_ERR_NOMEM. Any thread. */
bm_status bm_shared_library_open(const char *file, const char *const *names, void *table,
                                 bm_error *err);

/* What was wanted: one of the two. */
typedef struct bm_library_lack {
    const char *library; /* the linker's words, until it is asked again in this thread */
    const char *name;    /* of `names` */
} bm_library_lack;

/* The same for who has words of his own: false where there is something in `lack`. */
bool bm_shared_library_find(const char *file, const char *const *names, void *table,
                            bm_library_lack *lack);

#endif
