/* SPDX-License-Identifier: Apache-2.0 */
/* token_collisions.c -- how often tokens of a few bytes stand for more than one shingle.
 *
 *     token_collisions K FILE...
 *
 * All files are one text, cut into shingles of K bytes. The library says the distinct 64-bit hashes
 * of them (bm_shingle_texts); a token of B bytes is the low 8 B bits. Prints a line for each B from
 * 4 down to 2: bytes, shingles n, tokens, pairs of shingles with one token, and what the formula
 * expects of these pairs, n (n-1) / 2 / 2^(8 B). */
#include <stdio.h>
#include <stdlib.h>

#include <bandmill/sketch.h>

/* The bytes of the files behind one another (free); NULL: a file that cannot be read, which is
 * said. */
static char *read_all(char **paths, size_t *len)
{
    char *text = NULL;
    size_t cap = 0;
    *len = 0;
    for (; *paths != NULL; paths++) {
        FILE *file = fopen(*paths, "rb");
        size_t got = file == NULL ? 0 : 1;
        while (got > 0) {
            if (cap - *len < 65536) {
                cap = 2 * cap + 65536;
                char *more = realloc(text, cap);
                if (more == NULL)
                    break;
                text = more;
            }
            got = fread(text + *len, 1, cap - *len, file);
            *len += got;
        }
        if (file == NULL || ferror(file) || got > 0) {
            perror(*paths);
            free(text);
            return NULL;
        }
        fclose(file);
    }
    return text;
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static void count(const uint64_t *hashes, size_t n, unsigned bytes)
{
    uint64_t *tokens = malloc((n + 1) * sizeof *tokens);
    if (tokens == NULL) {
        perror("tokens");
        exit(1);
    }
    const unsigned bits = 8 * bytes;
    for (size_t i = 0; i < n; i++)
        tokens[i] = hashes[i] & ((UINT64_C(1) << bits) - 1);
    qsort(tokens, n, sizeof *tokens, by_value);
    uint64_t distinct = 0, pairs = 0, run = 0;
    for (size_t i = 0; i < n; i++) {
        run = i > 0 && tokens[i] == tokens[i - 1] ? run + 1 : 0;
        distinct += run == 0;
        pairs += run; /* with each of those before it that have the same token */
    }
    double expected = (double)n * ((double)n - 1) / 2 / (double)(UINT64_C(1) << bits);
    printf("%u\t%zu\t%llu\t%llu\t%.2f\n", bytes, n, (unsigned long long)distinct,
           (unsigned long long)pairs, expected);
    free(tokens);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: token_collisions K FILE...\n");
        return 2;
    }
    size_t len;
    char *text = read_all(argv + 2, &len);
    if (text == NULL)
        return 1;
    bm_error err = {0};
    bm_shingle_options options;
    bm_shingle_options_init(&options);
    options.text.normalize = 0;
    options.text.shingle = BM_SHINGLE_BYTE;
    options.text.shingle_k = (uint32_t)strtoul(argv[1], NULL, 10);
    bm_str whole = {text, len};
    bm_hash_sets *sets = NULL;
    if (bm_shingle_texts(&options, &whole, 1, &sets, &err) != BM_OK) {
        fprintf(stderr, "token_collisions: %s\n", err.message);
        free(text);
        return 1;
    }
    size_t n = (size_t)bm_hash_sets_offsets(sets)[1];
    for (unsigned bytes = 4; bytes >= 2; bytes--)
        count(bm_hash_sets_hashes(sets), n, bytes);
    bm_hash_sets_free(sets);
    free(text);
    return 0;
}
