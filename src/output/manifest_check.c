/* manifest_check.c -- what is asked of a manifest once it is read: are the outputs as it says?
 *
 * Tests: tests/unit/results/test_sign_dir.c, tests/unit/jobs/test_inspect.c */
#include "output/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "json/json_scan.h"
#include "output/digest_files.h"

#define THREADS_FROM ((uint64_t)8 << 20) /* bytes of outputs: fewer are hashed by the caller */

/* What messages call the manifest: the last part of its path. */
static const char *shown(const bm_manifest *manifest)
{
    const char *path = bm_manifest_path(manifest), *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bm_status bm_manifest_beside(const bm_manifest *manifest, const char *name, char **out,
                             bm_error *err)
{
    const char *path = bm_manifest_path(manifest), *last = shown(manifest);
    return bm_string_format(out, err, "%.*s%s", (int)(last - path), path, name);
}

bm_status bm_manifest_compare_count(const bm_manifest *manifest, const char *name, uint64_t n,
                                    const char *file, bm_error *err)
{
    uint64_t counted = 0;
    bm_status status = bm_manifest_count(manifest, name, &counted, err);
    return status != BM_OK || counted == n
               ? status
               : bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                            "counts.%s is %" PRIu64 " (%s has %" PRIu64 ")", name, counted, file,
                            n);
}

/* The first piece that is not the one listed: SIZE_MAX where none is found. *listed: its digest. */
static size_t find_piece(const bm_manifest_output_row *row, const bm_manifest_found *is,
                         char listed[BM_HASH128_HEX])
{
    char hex[BM_HASH128_HEX];
    bm_str item;
    size_t at = 0, i = 0;
    for (; i < is->n_pieces && bm_json_scan_element(row->pieces, &at, &item); i++) {
        bm_hash128_hex(is->pieces[i].xxh3, hex);
        if (item.len != BM_HASH128_HEX + 1 || memcmp(item.data + 1, hex, BM_HASH128_HEX - 1) == 0)
            continue;
        memcpy(listed, item.data + 1, BM_HASH128_HEX - 1);
        listed[BM_HASH128_HEX - 1] = '\0';
        return i;
    }
    return SIZE_MAX;
}

static bm_status changed(const bm_manifest *manifest, const char *path, const char *place,
                         const char *kind, const char *is, const char *listed, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                      "the file has changed since it was written: %s%s is %s (%s lists %s)", place,
                      kind, is, shown(manifest), listed);
}

/* A file that is another: where? */
static bm_status changed_piece(const bm_manifest *manifest, const bm_manifest_found *found,
                               size_t index, const char *listed, bm_error *err)
{
    const uint64_t size = bm_manifest_piece_bytes(manifest);
    char is[BM_HASH128_HEX], place[96];
    bm_hash128_hex(found->pieces[index].xxh3, is);
    snprintf(place, sizeof place, "of piece %zu of %zu (from byte %" PRIu64 " on) ", index + 1,
             found->n_pieces, index * size);
    return changed(manifest, found->path, place, "XXH3 128", is, listed, err);
}

bm_status bm_manifest_compare(const bm_manifest *manifest, const bm_manifest_output_row *row,
                              const bm_manifest_found *found, bm_error *err)
{
    const bm_digests *is = found->digests;
    const struct {
        const char *name, *is, *listed;
    } kinds[] = {{"SHA-256", is->sha256, row->sha256}, {"XXH3 128", is->xxh3, row->xxh3_128}};
    char piece[BM_HASH128_HEX];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].is[0] == '\0' || kinds[i].listed == NULL ||
            strcmp(kinds[i].is, kinds[i].listed) == 0)
            continue;
        const size_t index = is->xxh3[0] != '\0' ? find_piece(row, found, piece) : SIZE_MAX;
        return index != SIZE_MAX ? changed_piece(manifest, found, index, piece, err)
                                 : changed(manifest, found->path, "", kinds[i].name, kinds[i].is,
                                           kinds[i].listed, err);
    }
    return BM_OK;
}

/* --- all outputs --- */

typedef struct checking {
    const bm_manifest *manifest;
    char **paths; /* an output each, like the next */
    bm_digest_file *files;
    size_t n;
} checking;

static bm_status open_output(void *ctx, size_t index, int *fd, bool *owned, bm_error *err)
{
    const checking *c = ctx;
    *owned = true;
    return bm_open_regular(c->paths[index], BM_ERR_FORMAT, fd, err);
}

/* Where an output is, and how long. */
static bm_status look_at(checking *c, const char *folder, size_t index, bm_error *err)
{
    const char *name = bm_manifest_output_at(c->manifest, index)->name;
    bm_digest_file *file = &c->files[index];
    struct stat info;
    bm_error inner = {0};
    int fd = -1;
    BM_TRY(bm_string_format(&c->paths[index], err, "%s/%s", folder, name));
    bm_status status = bm_open_regular(c->paths[index], BM_ERR_FORMAT, &fd, &inner);
    if (status == BM_ERR_IO && inner.code == ENOENT)
        return bm_fail_at(err, BM_ERR_FORMAT, c->paths[index], 0,
                          "is missing (the manifest lists it)");
    if (status != BM_OK && err != NULL)
        *err = inner;
    BM_TRY(status);
    if (fstat(fd, &info) != 0)
        status = bm_fail_errno(err, errno, c->paths[index], "cannot look at the file");
    close(fd);
    BM_TRY(status);
    *file = (bm_digest_file){.shown = c->paths[index], .bytes = (uint64_t)info.st_size};
    return bm_new_zero(&file->pieces,
                       bm_digest_count_pieces(file->bytes, bm_manifest_piece_bytes(c->manifest)),
                       err);
}

static bm_status check_output(const checking *c, size_t index, bm_error *err)
{
    const bm_digest_file *file = &c->files[index];
    const size_t n = bm_digest_count_pieces(file->bytes, bm_manifest_piece_bytes(c->manifest));
    bm_digests whole;
    BM_TRY(bm_digests_join(file->pieces, n, BM_DIGEST_BOTH, &whole, err));
    return bm_manifest_compare(c->manifest, bm_manifest_output_at(c->manifest, index),
                               &(bm_manifest_found){c->paths[index], &whole, file->pieces, n}, err);
}

static bm_status digest_outputs(const checking *c, bm_error *err)
{
    uint64_t bytes = 0;
    bm_pool *pool = NULL;
    bm_status status = BM_OK;
    for (size_t i = 0; i < c->n; i++)
        bytes += c->files[i].bytes;
    if (bytes >= THREADS_FROM)
        BM_TRY_OUT(bm_pool_open(bm_cpu_count(), &pool, err));
    const bm_digest_work work = {.files = c->files,
                                 .n = c->n,
                                 .piece_bytes = bm_manifest_piece_bytes(c->manifest),
                                 .kinds = BM_DIGEST_BOTH,
                                 .open = open_output,
                                 .ctx = (void *)c,
                                 .pool = pool};
    status = bm_digest_files(&work, err);
out:
    bm_pool_close(pool);
    return status;
}

bm_status bm_manifest_check(const bm_manifest *manifest, const char *folder, bm_error *err)
{
    checking c = {.manifest = manifest, .n = bm_manifest_n_outputs(manifest)};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&c.paths, c.n + 1, err));
    BM_TRY_OUT(bm_new_zero(&c.files, c.n + 1, err));
    for (size_t i = 0; i < c.n; i++)
        BM_TRY_OUT(look_at(&c, folder, i, err));
    BM_TRY_OUT(digest_outputs(&c, err));
    for (size_t i = 0; i < c.n; i++)
        BM_TRY_OUT(check_output(&c, i, err));
out:
    for (size_t i = 0; i < c.n; i++) {
        if (c.paths != NULL)
            bm_free(c.paths[i]);
        if (c.files != NULL)
            bm_free(c.files[i].pieces);
    }
    bm_free(c.paths);
    bm_free(c.files);
    return status;
}
