/* SPDX-License-Identifier: Apache-2.0 */
/* weighted_signer.c -- weighted documents to signatures of scheme cws by bm_signer_sign, of the
 * public library: for cws.py, and for the test that holds its words against other programs.
 *
 *   weighted_signer [--perms K] [--seeds FIRST:N] [--threads N] [--repeats N] [--words OUT] FILE
 *   prints one JSON object: the seconds of each repeat
 *
 * FILE, little-endian: the number of documents n and of elements m (64 bits each), n + 1 offsets
 * (64 bits), m hashes (64 bits), m weights (doubles). OUT: for each seed the words of all documents
 * (32 bits each). A repeat signs with every seed; opening the signers is not in its time, and the
 * signer of a seed is the same in all repeats: the first is that of one which knows no element yet.
 * Any error is one line on stderr and exit code 1. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bandmill/sketch.h>

typedef struct settings {
    uint32_t perms, first_seed, n_seeds, threads, repeats;
    const char *words, *path;
} settings;

typedef struct corpus {
    uint64_t n_docs, n_elements, *offsets, *hashes;
    double *weights;
} corpus;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "weighted_signer: %s: %s\n", what, why);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static settings read_settings(int argc, char **argv)
{
    settings s = {.perms = 128, .first_seed = 1, .n_seeds = 1, .threads = 1, .repeats = 1};
    const struct {
        const char *name;
        uint32_t *number;
    } numbers[] = {{"--perms", &s.perms},
                   {"--threads", &s.threads},
                   {"--repeats", &s.repeats},
                   {"--seeds", &s.first_seed}};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strncmp(name, "--", 2) != 0 || i + 1 == argc) {
            s.path = name;
            continue;
        }
        const char *value = argv[++i];
        char *end = NULL;
        if (strcmp(name, "--words") == 0)
            s.words = value;
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            if (strcmp(name, numbers[k].name) == 0)
                *numbers[k].number = (uint32_t)strtoul(value, &end, 10);
        if (strcmp(name, "--seeds") == 0 && *end == ':')
            s.n_seeds = (uint32_t)strtoul(end + 1, &end, 10);
        if (s.words != value && (end == NULL || end == value || *end != '\0'))
            die(name, "no option with such a value");
    }
    if (s.path == NULL)
        die("usage", "weighted_signer [options] FILE");
    return s;
}

static void *read_array(FILE *file, size_t n, size_t size)
{
    void *data = malloc(n * size + 1);
    if (data == NULL || fread(data, size, n, file) != n)
        die("the file of documents", "it is cut short, or memory is");
    return data;
}

static corpus read_corpus(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        die(path, strerror(errno));
    uint64_t *head = read_array(file, 2, sizeof *head);
    corpus c = {.n_docs = head[0], .n_elements = head[1]};
    c.offsets = read_array(file, c.n_docs + 1, sizeof *c.offsets);
    c.hashes = read_array(file, c.n_elements, sizeof *c.hashes);
    c.weights = read_array(file, c.n_elements, sizeof *c.weights);
    free(head);
    fclose(file);
    return c;
}

static bm_signer *open_signer(const settings *s, uint32_t seed)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.scheme = BM_SCHEME_CWS;
    options.sketch.perms = s->perms;
    options.sketch.seed = seed;
    options.resources.threads = s->threads;
    options.device.cpu = getenv("BANDMILL_CPU");
    bm_signer *signer = NULL;
    bm_error err = {0};
    if (bm_signer_open(&options, &signer, &err) != BM_OK)
        die("the signer", err.message);
    return signer;
}

static double sign(bm_signer *signer, const corpus *c, uint32_t *words)
{
    const bm_documents docs = bm_documents_of_weights(c->offsets, c->hashes, c->weights, c->n_docs);
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    bm_error err = {0};
    const double begin = now();
    if (bm_signer_sign(signer, &docs, &out, &err) != BM_OK)
        die("signing", err.message);
    return now() - begin;
}

/* Signs with every seed and adds up the seconds of each repeat; the words go to `out` (NULL:
 * nowhere). */
static void sign_all(const settings *s, const corpus *c, double *seconds, FILE *out)
{
    const size_t n_words = c->n_docs * s->perms;
    uint32_t *words = malloc(n_words * sizeof *words + 1);
    if (words == NULL)
        die("memory", strerror(errno));
    for (uint32_t i = 0; i < s->n_seeds; i++) {
        bm_signer *signer = open_signer(s, s->first_seed + i);
        for (uint32_t r = 0; r < s->repeats; r++)
            seconds[r] += sign(signer, c, words);
        bm_signer_close(signer);
        if (out != NULL && fwrite(words, sizeof *words, n_words, out) != n_words)
            die(s->words, strerror(errno));
    }
    free(words);
}

int main(int argc, char **argv)
{
    const settings s = read_settings(argc, argv);
    corpus c = read_corpus(s.path);
    double *seconds = calloc(s.repeats + 1, sizeof *seconds);
    FILE *out = s.words != NULL ? fopen(s.words, "wb") : NULL;
    if (seconds == NULL || (s.words != NULL && out == NULL))
        die(s.words != NULL ? s.words : "memory", strerror(errno));
    sign_all(&s, &c, seconds, out);
    if (out != NULL && fclose(out) != 0)
        die(s.words, strerror(errno));
    printf(
        "{\"documents\": %llu, \"elements\": %llu, \"perms\": %u, \"threads\": %u, \"seconds\": [",
        (unsigned long long)c.n_docs, (unsigned long long)c.n_elements, s.perms, s.threads);
    for (uint32_t r = 0; r < s.repeats; r++)
        printf("%s%.6f", r > 0 ? ", " : "", seconds[r]);
    printf("]}\n");
    free(seconds);
    free(c.offsets);
    free(c.hashes);
    free(c.weights);
    return 0;
}
