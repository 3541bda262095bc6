/* input_finder.c -- one place after another.
 *
 * A file of the recorded size counts as found without a look at its bytes: whoever reads it learns
 * its digest on the way, and says so if it is another. Only where several different files have that
 * size are they digested here.
 *
 * Tests: tests/unit/job/test_input_finder.c, tests/cli/cases/staged.sh */
#include "job/input_finder.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/input_digest.h"

#define FOUND_MAX 8u /* different files of the recorded size that are looked at */

typedef struct found {
    char *path;
    dev_t device;
    ino_t inode;
} found;

typedef struct search {
    const bm_manifest_input *input;
    const bm_input_places *places;
    char *beside; /* the manifest's directory */
    found found[FOUND_MAX];
    size_t n;
    char *other; /* the first file there is, of another size */
    uint64_t other_bytes;
} search;

/* `path` is taken. */
static void look_at(search *s, char *path)
{
    struct stat st;
    const bool there = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    bool known = s->n == FOUND_MAX;
    for (size_t i = 0; there && i < s->n; i++)
        known = known || (s->found[i].device == st.st_dev && s->found[i].inode == st.st_ino);
    if (there && (uint64_t)st.st_size == s->input->bytes && !known) {
        s->found[s->n++] = (found){path, st.st_dev, st.st_ino};
    } else if (there && (uint64_t)st.st_size != s->input->bytes && s->other == NULL) {
        s->other = path;
        s->other_bytes = (uint64_t)st.st_size;
    } else {
        bm_free(path);
    }
}

/* dir/name, or `name` alone where dir is NULL. */
static bm_status look_in(search *s, const char *dir, const char *name, bm_error *err)
{
    char *path = NULL;
    BM_TRY(dir == NULL ? bm_string_format(&path, err, "%s", name)
                       : bm_string_format(&path, err, "%s/%s", dir, name));
    look_at(s, path);
    return BM_OK;
}

/* The name without its first step, NULL: it has only one. */
static const char *without_first(const char *name)
{
    const char *slash = strchr(name, '/');
    while (slash != NULL && *slash == '/')
        slash++;
    return slash != NULL && *slash != '\0' ? slash : NULL;
}

/* Steps upwards would lead out of the directory. */
static bool leads_up(const char *name)
{
    for (const char *step = name; step != NULL; step = without_first(step))
        if (strncmp(step, "..", 2) == 0 && (step[2] == '/' || step[2] == '\0'))
            return true;
    return false;
}

static bm_status look_below(search *s, const char *dir, bm_error *err)
{
    const char *name = s->input->file;
    if (name[0] == '/')
        name = without_first(name);
    for (; name != NULL; name = without_first(name)) {
        if (!leads_up(name))
            BM_TRY(look_in(s, dir, name, err));
    }
    return BM_OK;
}

/* The directory that holds this one; where its path is a link, that which the link stands in. */
static bm_status look_around(search *s, bm_error *err)
{
    char *parent = bm_strdup(s->beside);
    if (parent == NULL)
        return bm_fail_nomem(err, strlen(s->beside) + 1);
    size_t len = strlen(parent);
    while (len > 1 && parent[len - 1] == '/')
        parent[--len] = '\0';
    char *slash = strrchr(parent, '/');
    const char *last = slash != NULL ? slash + 1 : parent;
    bm_status status;
    if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        char *above = NULL;
        status = bm_string_format(&above, err, "%s/..", parent);
        if (status == BM_OK)
            status = look_in(s, above, s->input->file, err);
        bm_free(above);
    } else {
        if (slash != NULL)
            slash[slash == parent ? 1 : 0] = '\0';
        status = look_in(s, slash != NULL ? parent : NULL, s->input->file, err);
    }
    bm_free(parent);
    return status;
}

static bm_status look_everywhere(search *s, bm_error *err)
{
    const char *name = s->input->file;
    BM_TRY(look_in(s, NULL, name, err));
    if (s->input->found != NULL)
        BM_TRY(look_in(s, NULL, s->input->found, err));
    if (name[0] != '/') {
        BM_TRY(look_in(s, s->beside, name, err));
        BM_TRY(look_around(s, err));
    }
    if (s->places->sources != NULL)
        BM_TRY(look_below(s, s->places->sources, err));
    if (s->input->here != NULL)
        BM_TRY(look_in(s, s->beside, s->input->here, err));
    return BM_OK;
}

bm_status bm_input_is_same(const bm_manifest_input *input, const char *path,
                           const bm_callbacks *callbacks, bool *same, bm_error *err)
{
    const bm_manifest_part whole = {0, UINT64_MAX, input->xxh3_128};
    const bm_manifest_part *parts = input->n_parts > 0 ? input->parts : &whole;
    const size_t n = input->n_parts > 0 ? input->n_parts : 1;
    *same = false;
    for (size_t i = 0; i < n; i++) {
        const bm_digest_of of = {path, parts[i].from, parts[i].bytes, input->piece_bytes};
        bm_hash128 digest;
        char hex[BM_HASH128_HEX];
        BM_TRY(bm_input_digest_file(&of, callbacks, &digest, err));
        bm_hash128_hex(digest, hex);
        if (strcmp(hex, parts[i].xxh3_128) != 0)
            return BM_OK;
    }
    *same = true;
    return BM_OK;
}

/* Of several files of that size: the first that has the bytes, else the first. A file that cannot
 * be read is not the one. */
static bm_status choose(const search *s, size_t *at, bm_error *err)
{
    *at = 0;
    for (size_t i = 0; s->n > 1 && i < s->n; i++) {
        bm_error inner = {0};
        bool same = false;
        bm_status status =
            bm_input_is_same(s->input, s->found[i].path, s->places->callbacks, &same, &inner);
        if (status == BM_ERR_CANCELLED || status == BM_ERR_NOMEM) {
            if (err != NULL)
                *err = inner;
            return status;
        }
        if (same) {
            *at = i;
            return BM_OK;
        }
    }
    return BM_OK;
}

static bm_status not_found(const search *s, bm_error *err)
{
    const char *sources = s->places->sources;
    if (s->other != NULL)
        return bm_fail_at(err, BM_ERR_FORMAT, s->other, 0,
                          "the file is not the one that %s was made from (it has %" PRIu64
                          " bytes, had %" PRIu64 ")",
                          s->places->manifest, s->other_bytes, s->input->bytes);
    return bm_fail_at(err, BM_ERR_IO, s->input->file, 0,
                      "the file is not there any more (looked for here, beside %s%s%s%s)",
                      s->beside, sources != NULL ? " and below " : "",
                      sources != NULL ? sources : "",
                      sources != NULL ? "" : "; `sources` says where else");
}

bm_status bm_input_find(const bm_manifest_input *input, const bm_input_places *places, char **path,
                        bm_error *err)
{
    search s = {.input = input, .places = places};
    size_t at = 0;
    if (strcmp(input->file, "-") == 0)
        return bm_fail_at(err, BM_ERR_FORMAT, places->manifest, 0,
                          "its input was standard input, which cannot be read again");
    if (strspn(input->xxh3_128, "0") == BM_HASH128_HEX - 1) { /* it could not be read then */
        *path = bm_strdup(input->file);
        return *path != NULL ? BM_OK : bm_fail_nomem(err, strlen(input->file));
    }
    const char *slash = strrchr(places->manifest, '/');
    s.beside = slash == NULL ? bm_strdup(".")
                             : bm_strndup(places->manifest, (size_t)(slash - places->manifest));
    bm_status status = BM_OK;
    BM_TRY_OUT(s.beside != NULL ? look_everywhere(&s, err)
                                : bm_fail_nomem(err, strlen(places->manifest)));
    BM_TRY_OUT(s.n > 0 ? choose(&s, &at, err) : not_found(&s, err));
    *path = s.found[at].path;
    s.found[at].path = NULL;
out:
    for (size_t i = 0; i < s.n; i++)
        bm_free(s.found[i].path);
    bm_free(s.other);
    bm_free(s.beside);
    return status;
}
