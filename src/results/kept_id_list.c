/* kept_id_list.c -- the ids of kept documents, a line each, where there are no records to copy.
 *
 * Tests: tests/unit/results/test_kept_writer.c */
#include "base/error.h"
#include "json/json_write.h"
#include "results/kept_files.h"
#include "results/kept_writer_ops.h"
#include "model/file_names.h"

typedef struct id_list {
    bm_out_file *file;
    bm_buf line;
} id_list;

static void id_list_close(void *state)
{
    id_list *list = state;
    if (list == NULL)
        return;
    bm_out_file_abort(list->file);
    bm_buf_reset(&list->line);
    bm_free(list);
}

static bm_status id_list_open(const bm_kept_cfg *cfg, void **state, bm_error *err)
{
    id_list *list = NULL;
    BM_TRY(bm_new_zero(&list, 1, err));
    bm_status status = cfg->write != NULL
                           ? bm_kept_file_open(NULL, cfg, 0, &list->file, err)
                           : bm_out_dir_file(cfg->dir, BM_FILE_KEPT_IDS, &list->file, err);
    if (status == BM_OK)
        *state = list;
    else
        id_list_close(list);
    return status;
}

static bm_status id_list_add(void *state, bm_str id, bm_error *err)
{
    id_list *list = state;
    if (list->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "a kept id behind the end");
    list->line.len = 0;
    BM_TRY(bm_tsv_escape(&list->line, id, err));
    BM_TRY(bm_buf_add(&list->line, "\n", 1, err));
    return bm_out_file_write(list->file, list->line.data, list->line.len, err);
}

static bm_status id_list_finish(void *state, bm_error *err)
{
    id_list *list = state;
    bm_out_file *file = list->file;
    list->file = NULL;
    return file != NULL ? bm_out_file_close(file, err) : BM_OK;
}

const bm_kept_writer_ops bm_kept_ids = {.wants_ids = true,
                                        .open = id_list_open,
                                        .id = id_list_add,
                                        .finish = id_list_finish,
                                        .close = id_list_close};
