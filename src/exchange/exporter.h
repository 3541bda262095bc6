/* exporter.h -- signatures on their way into the form of another tool: what each form is given, and
 * the table of forms.
 *
 * A form is a row in export_form.c and a function that writes its files into the directory of the
 * job. It walks over the documents as often as it needs; each walk compares what it reads with the
 * digests of the manifest. */
#ifndef BM_EXCHANGE_EXPORTER_H
#define BM_EXCHANGE_EXPORTER_H

#include <bandmill/exchange.h>

#include "results/sign_dir.h"
#include "output/out_dir.h"
#include "job/job_context.h"

typedef struct bm_exporter {
    bm_job_context *context;
    bm_sign_dir *dir;
    bm_out_dir *out;
    const struct bm_export_form *form;
    uint32_t word_bytes;
} bm_exporter;

/* Documents first … first+n-1. */
typedef struct bm_export_block {
    uint64_t first;
    size_t n;
    const void *words;          /* n * perms */
    const uint32_t *n_shingles; /* n */
    const uint64_t *keys;       /* n * bands where keys are exported; else NULL */
    const char *ids;            /* one after another; NULL where nobody asked for them */
    const size_t *ends;         /* where each ends */
} bm_export_block;

static inline bm_str bm_export_block_id(const bm_export_block *block, size_t i)
{
    const size_t begin = i == 0 ? 0 : block->ends[i - 1];
    return (bm_str){block->ids + begin, block->ends[i] - begin};
}

/* Blocks of documents, one after the other, read as they are asked for. */
typedef struct bm_export_reader {
    bm_exporter *exporter;
    bool ids; /* wanted */
    uint64_t next;
    size_t most; /* documents of a block */
    void *words;
    uint32_t *n_shingles;
    uint64_t *keys;
    size_t *ends;
    bm_buf text;
} bm_export_reader;

/* Good for close whatever the status. */
bm_status bm_export_reader_open(bm_exporter *exporter, bool ids, bm_export_reader *out,
                                bm_error *err);
/* The next block, valid until the next call; n 0: that was all. BM_ERR_FORMAT: the files are not those
 * that the manifest lists (the last block tells). */
bm_status bm_export_reader_next(bm_export_reader *reader, bm_export_block *out, bm_error *err);
void bm_export_reader_close(bm_export_reader *reader);

/* Each block to `take`. */
typedef bm_status (*bm_export_take)(void *ctx, const bm_export_block *block, bm_error *err);
bm_status bm_export_walk(bm_exporter *exporter, bool ids, bm_export_take take, void *ctx,
                         bm_error *err);

/* What a form has a place for. The rest lies beside its files. */
enum {
    BM_FORM_HAS_IDS = 1u << 0,
    BM_FORM_HAS_SIZES = 1u << 1, /* numbers of shingles */
    BM_FORM_HAS_PROVENANCE = 1u << 2,
    BM_FORM_HAS_KEYS = 1u << 3,   /* it can be made of keys of bands */
    BM_FORM_OF_BANDS = 1u << 4,   /* it is made of the words of bands, whatever is asked for */
    BM_FORM_BY_DOCUMENT = 1u << 5 /* it lists ids and sizes itself, beside its files */
};

typedef struct bm_export_form {
    bm_exchange to;
    unsigned has;         /* BM_FORM_* bits */
    uint32_t bands, rows; /* that the tool itself uses; 0: it has no plan */
    /* Has it a place for signatures of this scheme, and what is said of others? NULL: for any. */
    bool (*takes)(const char *scheme);
    const char *taken;
    bm_status (*write)(bm_exporter *exporter, bm_error *err);
} bm_export_form;

const bm_export_form *bm_export_form_of(bm_exchange to);
/* BM_ERR_USAGE: it has no place for signatures of the scheme. */
bm_status bm_export_form_check(const bm_export_form *form, const bm_settings *settings,
                               bm_error *err);

bool bm_export_lean_takes(const char *scheme);
bm_status bm_export_lean(bm_exporter *exporter, bm_error *err);
bm_status bm_export_npy(bm_exporter *exporter, bm_error *err);
bm_status bm_export_milvus(bm_exporter *exporter, bm_error *err);
bm_status bm_export_tsv(bm_exporter *exporter, bm_error *err);
bm_status bm_export_table(bm_exporter *exporter, bm_error *err);
bool bm_export_datatrove_takes(const char *scheme);
bm_status bm_export_datatrove(bm_exporter *exporter, bm_error *err);

/* ids.txt and n_shingles.npy, where the form has no place for them. */
bm_status bm_export_beside(bm_exporter *exporter, bm_error *err);

#endif
