/* checkpoint_line.c -- each line's fields stand once; writing and reading go over the same list. */
#include "job/checkpoint_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 8u

typedef struct fields {
    const char *word;
    uint64_t *at[MAX_FIELDS];
    size_t n;
} fields;

/* `complete` is a number in between. */
static fields fields_of_documents(bm_checkpoint_saved *s, uint64_t *complete)
{
    return (fields){"documents",
                    {&s->docs, &s->skipped, complete, &s->docs_bytes, &s->docs_records,
                     &s->sets_bytes, &s->sets_records},
                    7};
}

static fields fields_of_match(bm_checkpoint_saved *s)
{
    return (fields){"matched", {&s->match_bytes, &s->match_records}, 2};
}

static fields fields_of_place(bm_checkpoint_saved *s)
{
    bm_content_place *place = &s->place;
    return (fields){
        "place", {&place->file, &place->bytes, &place->digest.lo, &place->digest.hi}, 4};
}

static fields fields_of_arrays(bm_array_sums *sums)
{
    bm_hash128 *of = sums->of;
    return (fields){"arrays",
                    {&of[BM_ARRAY_SIGNATURES].lo, &of[BM_ARRAY_SIGNATURES].hi,
                     &of[BM_ARRAY_CONTENT].lo, &of[BM_ARRAY_CONTENT].hi, &of[BM_ARRAY_BAND_KEYS].lo,
                     &of[BM_ARRAY_BAND_KEYS].hi},
                    6};
}

static void write_fields(const fields *f, char out[BM_CHECKPOINT_LINE_BYTES])
{
    int len = snprintf(out, BM_CHECKPOINT_LINE_BYTES, "%s", f->word);
    for (size_t i = 0; i < f->n; i++)
        len += snprintf(out + len, BM_CHECKPOINT_LINE_BYTES - (size_t)len, "\t%" PRIu64, *f->at[i]);
}

static bool read_fields(const char *line, const fields *f)
{
    size_t len = strlen(f->word);
    if (strncmp(line, f->word, len) != 0)
        return false;
    const char *at = line + len;
    for (size_t i = 0; i < f->n; i++) {
        char *end;
        if (at[0] != '\t' || at[1] < '0' || at[1] > '9')
            return false;
        errno = 0;
        *f->at[i] = strtoull(at + 1, &end, 10);
        if (errno != 0)
            return false;
        at = end;
    }
    return *at == '\0';
}

void bm_checkpoint_line_of_documents(const bm_checkpoint_saved *saved,
                                     char out[BM_CHECKPOINT_LINE_BYTES])
{
    bm_checkpoint_saved s = *saved;
    uint64_t complete = s.complete;
    fields f = fields_of_documents(&s, &complete);
    write_fields(&f, out);
}

void bm_checkpoint_line_of_arrays(const bm_checkpoint_saved *saved,
                                  char out[BM_CHECKPOINT_LINE_BYTES])
{
    bm_array_sums sums = saved->sums;
    fields f = fields_of_arrays(&sums);
    write_fields(&f, out);
}

void bm_checkpoint_line_of_place(const bm_checkpoint_saved *saved,
                                 char out[BM_CHECKPOINT_LINE_BYTES])
{
    bm_checkpoint_saved s = *saved;
    fields f = fields_of_place(&s);
    write_fields(&f, out);
}

void bm_checkpoint_line_of_match(const bm_checkpoint_saved *saved,
                                 char out[BM_CHECKPOINT_LINE_BYTES])
{
    bm_checkpoint_saved s = *saved;
    fields f = fields_of_match(&s);
    write_fields(&f, out);
}

bool bm_checkpoint_line_read(const char *line, bm_checkpoint_saved *saved)
{
    bm_checkpoint_saved s = *saved;
    uint64_t complete = 0;
    fields documents = fields_of_documents(&s, &complete), match = fields_of_match(&s),
           place = fields_of_place(&s), arrays = fields_of_arrays(&s.next_sums);
    if (read_fields(line, &documents)) {
        s.complete = complete != 0;
        s.matched = s.broken = s.place.known = false;
        s.sums = s.next_sums;
        s.next_sums.known = false;
    } else if (read_fields(line, &arrays)) {
        s.next_sums.known = true;
    } else if (read_fields(line, &place)) {
        s.place.known = true;
    } else if (strcmp(line, BM_CHECKPOINT_BROKEN) == 0) {
        s.broken = true;
    } else if (read_fields(line, &match)) {
        s.matched = true;
    } else {
        return false;
    }
    *saved = s;
    return true;
}
