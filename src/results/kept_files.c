/* kept_files.c -- see the header. Names come from kept_names.c.
 *
 * Tests: tests/unit/results/test_kept_writer.c */
#include "results/kept_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "results/kept_names.h"
#include "input/tables.h"

static bm_compression compression_of(bm_kept kept, bm_compression own)
{
    switch (kept) {
    case BM_KEPT_GZ:
        return BM_COMPRESSION_GZ;
    case BM_KEPT_ZST:
        return BM_COMPRESSION_ZST;
    case BM_KEPT_SAME:
        return own;
    default:
        return BM_COMPRESSION_NONE;
    }
}

/* Inputs of several machines may have had one name; where they are now may tell them apart. False:
 * all are where their names say. */
static bool name_by_path(bm_kept_source *sources, const bm_input_set *set)
{
    bool other = false;
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        const bm_source *source = bm_input_set_source(set, i);
        other = other || strcmp(source->path, sources[i].name) != 0;
        sources[i].name = source->path;
    }
    return other;
}

bm_status bm_kept_files_name(bm_kept_files *r, const bm_kept_cfg *cfg, bm_error *err)
{
    const bm_input_set *set = cfg->set;
    size_t n = bm_input_set_count(set);
    bm_kept_source *sources = bm_alloc_zero(n, sizeof *sources);
    bm_kept_naming naming;
    bm_status status = BM_OK;
    char *cwd = NULL;
    if (cfg->write != NULL) {
        bm_free(sources);
        r->n = n;
        return BM_OK;
    }
    r->names = bm_alloc_zero(n, sizeof *r->names);
    r->compressions = bm_alloc_zero(n, sizeof *r->compressions);
    if (sources == NULL || r->names == NULL || r->compressions == NULL) {
        status = bm_fail_nomem(err, n * sizeof *sources);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = bm_input_set_source(set, i);
        sources[i].name = strcmp(source->path, "-") == 0 ? "-" : source->name;
        sources[i].compression = source->compression;
        r->compressions[i] = compression_of(cfg->kept, source->compression);
    }
    cwd = n > 1 ? getcwd(NULL, 0) : strdup("/"); /* one input needs none */
    if (cwd == NULL) {
        status = bm_fail_errno(err, errno, ".", "cannot tell the current directory");
        goto out;
    }
    naming = (bm_kept_naming){
        .format = bm_input_set_format(set), .kept = cfg->kept, .cwd = cwd, .removed = cfg->removed};
    status = bm_kept_names(sources, n, &naming, r->names, err);
    if (status == BM_ERR_USAGE && name_by_path(sources, set)) {
        bm_error again = {0};
        status = bm_kept_names(sources, n, &naming, r->names, &again);
        if (status != BM_OK && status != BM_ERR_USAGE && err != NULL)
            *err = again;
    }
    if (status == BM_OK)
        r->n = n;
out:
    free(cwd);
    bm_free(sources);
    return status;
}

bm_status bm_kept_file_open(const bm_kept_files *files, const bm_kept_cfg *cfg, size_t index,
                            bm_out_file **out, bm_error *err)
{
    const bm_input_room room = bm_input_set_room(cfg->set);
    const bm_pack_lanes lanes = {room.threads, room.memory / (cfg->halves ? 2 : 1)};
    const bool tables = bm_format_is_table(bm_input_set_format(cfg->set));
    if (cfg->write != NULL) {
        BM_TRY(bm_out_file_stream(cfg->write, cfg->write_ctx, out, err));
        return bm_out_file_compress(*out, compression_of(cfg->kept, BM_COMPRESSION_NONE), lanes,
                                    err);
    }
    BM_TRY(bm_out_dir_file(cfg->dir, files->names[index], out, err));
    if (!tables) /* they are compressed inside */
        BM_TRY(bm_out_file_compress(*out, files->compressions[index], lanes, err));
    bm_out_file_digest_early(*out, 0);
    return BM_OK;
}

void bm_kept_files_reset(bm_kept_files *files)
{
    for (size_t i = 0; files->names != NULL && i < files->n; i++)
        bm_free(files->names[i]);
    bm_free(files->names);
    bm_free(files->compressions);
    *files = (bm_kept_files){0};
}
