/* SPDX-License-Identifier: Apache-2.0 */
/* record_answers.c -- prints each record that our program reads from a file, so that
 * differential.py can compare it with other programs. Not a test by itself.
 *
 * Standard input is a sequence of requests: one line, then the bytes of a file.
 *
 *     FORMAT TAB HEADER TAB DELIMITER TAB ID TAB FIELDS TAB BYTES LF
 *
 * FORMAT is "jsonl", "json", "csv", "tsv" or "lines"; HEADER is "auto", "yes" or "no"; DELIMITER is
 * a character code, or 0 for the default; ID is a field, or empty; FIELDS are separated by commas,
 * or empty; BYTES is the size of the file. The answer is one line per record, followed by its
 * strings with the sizes that the line states, and a line for the end:
 *
 *     good TAB LINE TAB INVALID TAB BYTES-OF-ID TAB BYTES-OF-TEXT LF id text LF
 *     bad TAB LINE TAB BEHIND TAB BYTES-OF-REASON LF reason LF
 *     end TAB STATUS TAB ERROR-LINE LF
 *
 * The id and the text follow one another without a separator. */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "each_record.h"
#include "fuzz_check.h"

#define MOST_FIELDS 8

static bm_status answer(void *ctx, const bm_record *r, bm_error *err)
{
    (void)ctx, (void)err;
    if (r->bad) {
        printf("bad\t%" PRIu64 "\t%" PRIu64 "\t%zu\n%s\n", r->line, r->n_behind, strlen(r->reason),
               r->reason);
        return BM_OK;
    }
    printf("good\t%" PRIu64 "\t%" PRIu64 "\t%zu\t%zu\n", r->line, r->n_invalid, r->id.len,
           r->text.len);
    fwrite(r->id.data, 1, r->id.len, stdout);
    fwrite(r->text.data, 1, r->text.len, stdout);
    putchar('\n');
    return BM_OK;
}

static void read_file(const bm_input_options *options, size_t batch_bytes)
{
    bm_error err = {0};
    const bm_status status =
        each_record(options, (record_batches){.bytes = batch_bytes}, answer, NULL, &err);
    printf("end\t%d\t%" PRIu64 "\n", (int)status, err.line);
    fflush(stdout);
}

static bm_format format_of(const char *word)
{
    static const char *const words[] = {"jsonl", "json", "csv", "tsv", "lines"};
    static const bm_format formats[] = {BM_FORMAT_JSONL, BM_FORMAT_JSON, BM_FORMAT_CSV,
                                        BM_FORMAT_TSV, BM_FORMAT_LINES};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return formats[i];
    CHECK(!"a format of these");
    return BM_FORMAT_AUTO;
}

/* Cuts the next field off a line. */
static char *part(char **line)
{
    char *text = strsep(line, "\t\n");
    CHECK(text != NULL);
    return text;
}

static bool next_question(void)
{
    char line[4096], *rest = line, *fields, path[64];
    const char *names[MOST_FIELDS];
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    bm_input_options o = {.max_doc_bytes = 1 << 30, .max_errors = UINT64_MAX};
    o.format = format_of(part(&rest));
    const char header = part(&rest)[0];
    o.header = header == 'y' ? BM_HEADER_YES : header == 'n' ? BM_HEADER_NO : BM_HEADER_BY_FIELDS;
    o.delimiter = (char)atoi(part(&rest));
    o.id_field = part(&rest);
    if (o.id_field[0] == '\0')
        o.id_field = NULL;
    fields = part(&rest);
    while (fields != NULL && fields[0] != '\0' && o.n_text_fields < MOST_FIELDS)
        names[o.n_text_fields++] = strsep(&fields, ",");
    o.text_fields = o.n_text_fields > 0 ? names : NULL;
    const size_t size = strtoull(part(&rest), NULL, 10);
    char *data = malloc(size + 1);
    CHECK(data != NULL && fread(data, 1, size, stdin) == size);
    const int fd = memfd_create("answers", 0);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    free(data);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *const paths[] = {path};
    o.paths = paths;
    o.n_paths = 1;
    read_file(&o, size % 3 == 0 ? 64 : (size_t)1 << 20);
    close(fd);
    return true;
}

int main(void)
{
    while (next_question())
        ;
    return 0;
}
