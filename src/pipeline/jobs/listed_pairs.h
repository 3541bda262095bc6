/* listed_pairs.h -- a pairs.tsv that lies where `dedup --pairs` wrote it, and what the files beside it say of
 * its documents: in what order they stood in the input, and which of them are identical.
 *
 * The file itself has neither. Rows are in input order of a, then b, a before b: that orders all documents that
 * are an a, but not those that are only a b among each other. Of identical documents each has a row with the
 * first of them, and the first alone has their links. Where the job made components, groups.jsonl has the rest
 * of the order: every document of the file is in a group, with all that it is linked to, in input order.
 *
 * Where it made stars, the linked documents of one group lie in several, so that order is lost. What remains is
 * enough to keep the first: each document comes after all that stand as an a beside it.
 *
 * A document is a copy where it stands in one row alone, as b, with similarity 1. One that stands so and is no
 * copy has the set of its a; its a has no other links either, since a set that equals another has the same
 * signature and similarities. Then it makes no difference. (Two sets of two million shingles that differ in one
 * have 1.000000 too: such a document might differ.) */
#ifndef BM_JOBS_LISTED_PAIRS_H
#define BM_JOBS_LISTED_PAIRS_H

#include "base/meter.h"
#include "io/manifest/listed.h"
#include "model/id_set.h"

typedef struct bm_listed_doc {
    uint64_t key, place; /* documents sorted by the first, then by the second, are in input order */
    uint64_t rows;       /* in which it stands */
    uint32_t a;          /* of the last row in which it is b */
    bool leads;          /* it is the a of a row */
    bool equal;          /* the last row in which it is b has similarity 1 */
} bm_listed_doc;

typedef struct bm_listed_pairs {
    bm_manifest *report;
    bm_listed *listed; /* NULL: nobody lists the file, and the rest is empty */
    double threshold;  /* of the job */
    bool against;      /* it compared with known documents, whose pairs are not in the file */
    bool stars;
    bm_listed_doc *docs; /* by their numbers in the set of ids */
    size_t n, cap;
    uint64_t n_rows;
} bm_listed_pairs; /* {0} lists nothing */

/* The order of documents of a file, and the copies among them. */
typedef struct bm_listed_order {
    uint32_t *docs; /* by place */
    uint32_t *rep;  /* of each place, the place of the first of its copies, or itself */
} bm_listed_order;

/* Does a report of `dedup` beside `path` list it, under its name? Borrows path until close. Where there is
 * no report, or one of somebody else, nothing is listed. BM_ERR_NOMEM; BM_ERR_IO: there is one that cannot be read;
 * BM_ERR_FORMAT: it does not say what the job was. */
bm_status bm_listed_pairs_open(const char *path, bm_listed_pairs *out, bm_error *err);
/* The next row of the file. */
bm_status bm_listed_pairs_row(bm_listed_pairs *pairs, const bm_pair *row, bm_error *err);
/* All rows were added. `ids` are those of the documents. BM_ERR_FORMAT: groups.jsonl is missing or another than
 * that of the report; BM_ERR_CANCELLED; `out` is empty then. */
bm_status bm_listed_pairs_order(bm_listed_pairs *pairs, const bm_id_set *ids, bm_meter *meter,
                                bm_listed_order *out, bm_error *err);
void bm_listed_order_reset(bm_listed_order *order);
void bm_listed_pairs_close(bm_listed_pairs *pairs);

#endif
