/* out_apart.c -- outputs against each other, two at a time.
 *
 * Tests: tests/unit/output/test_out_apart.c, tests/cli/cases/one_file_twice.sh */
#include "output/out_apart.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "output/out_target.h"

/* Where a path leads. */
typedef struct place {
    char *resolved;
    char *work; /* of a directory; NULL: none */
    bool there;
    struct stat info;
} place;

static void reset(place *p)
{
    bm_free(p->resolved);
    bm_free(p->work);
}

static bm_status find(const bm_out_named *output, place *out, bm_error *err)
{
    *out = (place){0};
    BM_TRY(bm_out_target_resolve(output->path, &out->resolved, err));
    if (output->is_dir)
        BM_TRY(bm_string_format(&out->work, err, "%s.partial", out->resolved));
    out->there = lstat(out->resolved, &out->info) == 0;
    return out->there || errno == ENOENT || errno == ENOTDIR
               ? BM_OK
               : bm_fail_errno(err, errno, output->path, "cannot look at the output");
}

static bool same_node(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What `a` is to `b`; NULL: nothing. */
static const char *relation(const place *a, const place *b)
{
    if (strcmp(a->resolved, b->resolved) == 0 ||
        (a->there && b->there && same_node(&a->info, &b->info)))
        return "is";
    if (bm_out_lies_in(a->resolved, b->resolved) ||
        (b->work != NULL && bm_out_lies_in(a->resolved, b->work)))
        return "lies in";
    return NULL;
}

static bm_status check_two(const bm_out_named *first, const bm_out_named *second, bm_error *err)
{
    place a = {0}, b = {0};
    bm_status status = find(first, &a, err);
    if (status == BM_OK)
        status = find(second, &b, err);
    const bm_out_named *inner = second, *outer = first;
    const char *what = status == BM_OK ? relation(&b, &a) : NULL;
    if (status == BM_OK && what == NULL) {
        what = relation(&a, &b);
        inner = first;
        outer = second;
    }
    if (what != NULL && strcmp(what, "is") == 0)
        status = bm_fail_at(err, BM_ERR_USAGE, inner->path, 0,
                            "two outputs in one file (a file for each)");
    else if (what != NULL)
        status = bm_fail_at(err, BM_ERR_USAGE, inner->path, 0,
                            "the output %s the output %s (expected a place of its own)", what,
                            outer->path);
    reset(&a);
    reset(&b);
    return status;
}

bm_status bm_out_apart(const bm_out_named *outputs, size_t n, bm_error *err)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            BM_TRY(check_two(&outputs[k], &outputs[i], err));
    }
    return BM_OK;
}

bm_status bm_out_apart_from_temp(const char *target, const char *temp_dir, bm_error *err)
{
    place output = {0};
    char *real = realpath(temp_dir, NULL);
    /* who opens it says why */
    if (real == NULL)
        return errno == ENOMEM ? bm_fail_nomem(err, PATH_MAX) : BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(find(&(bm_out_named){target, true}, &output, err));
    if ((bm_out_lies_in(real, output.resolved) || bm_out_lies_in(real, output.work)))
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_USAGE, temp_dir, 0,
                              "temporary files would lie in the output %s (expected another "
                              "directory)",
                              target));
out:
    free(real);
    reset(&output);
    return status;
}
