/* SPDX-License-Identifier: Apache-2.0 */
/* signer_rate.c -- how much faster is a bm_signer with more threads, and how fast are several
 * callers that share one? Texts in memory to signatures by bm_signer_sign_texts, of the public
 * library.
 *
 *   signer_rate [--repeats N] [--threads N] [--perms K] [--callers] FILE
 *                                   a document a line; a TSV's id is part of its text
 *   prints one JSON object; with --callers one of the callers alone
 *
 * Each repeat signs the file with one thread, then with N (2), in calls of the whole file; which
 * goes first alternates. A ratio is that of one repeat's two rates, so that other work of the
 * machine affects both. `cpu` is the processor time of all threads over the time on the clock:
 * on a machine with nothing else to do it is the number of threads, and a repeat in which it is
 * less than 97 % of that had to share its processors. `ratio_quiet` is the median over the repeats
 * without these. `checksum` of the signatures is the same for both. Any error is one line on stderr
 * and exit code 1.
 *
 * `control` is how the machine itself scales: after each run, as many threads multiply, each
 * over its share of the same bytes, with nothing in common and nothing written. Where two of them
 * are not twice as fast as one, the two processors are not two (siblings of one core, a guest whose
 * processors are moved, a clock that falls), and no program can be; `ratio_of_control` is the
 * median of the repeats' ratios, each over that of its control, times the threads.
 *
 * --callers: 1, 2, 4 and 8 threads share a signer of N threads, each with its part of the file, in
 * calls of 1, 10 and 1,000 documents. `of_threads` is their rate over that of one call of the whole
 * file in the same repeat; `by_cpu` the same of bytes for each second of processor time, which
 * other work on the machine does not change much; `switches` how often a thread of the process
 * slept, for each thousand calls; `cpu` as above. All are medians. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <bandmill/sketch.h>

#define REPEATS_MAX 1000
#define QUIET       0.97

typedef struct figures {
    double rate[2]; /* in MB/s, of one thread and of several */
    double cpu[2];
    double control[2]; /* GB/s */
} figures;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "signer_rate: %s: %s\n", what, why);
    exit(1);
}

static double seconds_on(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static char *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    size_t cap = (size_t)1 << 20, n;
    char *data = malloc(cap);
    if (file == NULL || data == NULL)
        die(path, strerror(errno));
    for (*len = 0; (n = fread(data + *len, 1, cap - *len, file)) > 0;) {
        *len += n;
        if (*len == cap && (data = realloc(data, cap *= 2)) == NULL)
            die(path, "out of memory");
    }
    fclose(file);
    return data;
}

static bm_str *cut_lines(const char *data, size_t len, size_t *n)
{
    size_t cap = 1024;
    bm_str *lines = malloc(cap * sizeof *lines);
    *n = 0;
    for (const char *p = data, *all = data + len; p < all && lines != NULL;) {
        const char *end = memchr(p, '\n', (size_t)(all - p));
        end = end != NULL ? end : all;
        if (*n == cap)
            lines = realloc(lines, (cap *= 2) * sizeof *lines);
        if (lines != NULL)
            lines[(*n)++] = (bm_str){p, (size_t)(end - p)};
        p = end + 1;
    }
    if (lines == NULL)
        die("lines", "out of memory");
    return lines;
}

static bm_signer *open_signer(uint32_t threads, uint32_t perms)
{
    bm_signer_options options;
    bm_signer *signer;
    bm_error err;
    bm_signer_options_init(&options);
    options.sketch.perms = perms;
    options.resources.threads = threads;
    if (bm_signer_open(&options, &signer, &err) != BM_OK)
        die("open", err.message);
    return signer;
}

static double by_value(const double *values, size_t n, double share)
{
    double sorted[REPEATS_MAX];
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > values[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
    }
    return n == 0 ? 0 : sorted[(size_t)(share * (double)(n - 1) + .5)];
}

typedef struct contender {
    bm_signer *signer;
    double rate, cpu; /* of the last run */
} contender;

static void run(contender *c, const bm_str *texts, size_t n, const bm_signer_out *out)
{
    bm_error err;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += texts[i].len;
    const double wall = seconds_on(CLOCK_MONOTONIC), busy = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    if (bm_signer_sign_texts(c->signer, texts, n, out, &err) != BM_OK)
        die("sign", err.message);
    const double took = seconds_on(CLOCK_MONOTONIC) - wall;
    c->cpu = (seconds_on(CLOCK_PROCESS_CPUTIME_ID) - busy) / took;
    c->rate = (double)bytes / took * 1e-6;
}

/* --- the control --- */

typedef struct share {
    pthread_t thread;
    const char *begin, *end;
    uint64_t sum;
} share;

static void *multiply(void *arg)
{
    share *own = arg;
    uint64_t lanes[4] = {1, 2, 3, 4};
    for (const char *p = own->begin; own->end - p >= 32; p += 32) {
        uint64_t in[4];
        memcpy(in, p, sizeof in);
        for (int round = 0; round < 8; round++) /* enough work that memory does not matter */
            for (int i = 0; i < 4; i++)
                lanes[i] = (lanes[i] ^ in[i]) * UINT64_C(0x9E3779B97F4A7C15);
    }
    own->sum = lanes[0] + lanes[1] + lanes[2] + lanes[3];
    return NULL;
}

/* The rate in GB/s; the products are added to *sum, so the compiler cannot drop them. */
static double control(const char *data, size_t len, uint32_t threads, uint64_t *sum)
{
    share *shares = calloc(threads, sizeof *shares);
    if (shares == NULL)
        die("control", "out of memory");
    const double start = seconds_on(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < threads; i++) {
        shares[i].begin = data + len / threads * i;
        shares[i].end = data + len / threads * (i + 1);
        if (i > 0 && pthread_create(&shares[i].thread, NULL, multiply, &shares[i]) != 0)
            die("control", "cannot start a thread");
    }
    multiply(&shares[0]);
    for (uint32_t i = 1; i < threads; i++)
        pthread_join(shares[i].thread, NULL);
    const double took = seconds_on(CLOCK_MONOTONIC) - start;
    for (uint32_t i = 0; i < threads; i++)
        *sum += shares[i].sum;
    free(shares);
    return (double)len / took * 1e-9;
}

static uint64_t checksum(const uint32_t *words, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += words[i] * (2 * (uint64_t)i + 1);
    return sum;
}

/* --- callers --- */

#define CALLERS_MAX 8

static const uint32_t caller_counts[] = {1, 2, 4, 8};
static const size_t call_sizes[] = {1, 10, 1000};

enum { N_COUNTS = 4, N_SIZES = 3, N_FIGURES = 5 };

typedef struct caller {
    pthread_t thread;
    bm_signer *signer;
    const bm_str *texts;
    uint32_t *words;
    size_t n, docs_a_call, perms;
    pthread_barrier_t *start;
} caller;

static void *make_calls(void *arg)
{
    caller *own = arg;
    bm_error err;
    pthread_barrier_wait(own->start);
    for (size_t at = 0; at < own->n;) {
        const size_t n = own->n - at < own->docs_a_call ? own->n - at : own->docs_a_call;
        const bm_signer_out out = {.struct_size = sizeof out,
                                   .signatures = own->words + at * own->perms};
        if (bm_signer_sign_texts(own->signer, own->texts + at, n, &out, &err) != BM_OK)
            die("sign", err.message);
        at += n;
    }
    return NULL;
}

typedef struct shared_figures {
    double rate, cpu, switches;
} shared_figures;

static shared_figures run_callers(bm_signer *signer, uint32_t n_callers, size_t docs_a_call,
                                  const bm_str *texts, size_t n, uint32_t *words, uint32_t perms)
{
    caller callers[CALLERS_MAX];
    pthread_barrier_t start;
    struct rusage before, after;
    double bytes = 0;
    size_t n_calls = 0;
    pthread_barrier_init(&start, NULL, n_callers + 1);
    for (uint32_t i = 0; i < n_callers; i++) {
        const size_t first = n * i / n_callers, end = n * (i + 1) / n_callers;
        callers[i] = (caller){.signer = signer,
                              .texts = texts + first,
                              .words = words + first * perms,
                              .n = end - first,
                              .docs_a_call = docs_a_call,
                              .perms = perms,
                              .start = &start};
        n_calls += (end - first + docs_a_call - 1) / docs_a_call;
        if (pthread_create(&callers[i].thread, NULL, make_calls, &callers[i]) != 0)
            die("callers", "cannot start a thread");
    }
    getrusage(RUSAGE_SELF, &before);
    const double busy = seconds_on(CLOCK_PROCESS_CPUTIME_ID), wall = seconds_on(CLOCK_MONOTONIC);
    pthread_barrier_wait(&start);
    for (uint32_t i = 0; i < n_callers; i++)
        pthread_join(callers[i].thread, NULL);
    const double took = seconds_on(CLOCK_MONOTONIC) - wall;
    const double cpu = (seconds_on(CLOCK_PROCESS_CPUTIME_ID) - busy) / took;
    getrusage(RUSAGE_SELF, &after);
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < n; i++)
        bytes += (double)texts[i].len;
    return (shared_figures){.rate = bytes / took * 1e-6,
                            .cpu = cpu,
                            .switches =
                                (double)(after.ru_nvcsw - before.ru_nvcsw) * 1e3 / (double)n_calls};
}

/* Prints a row for each number of callers and documents per call. */
static void print_callers(contender *whole, const bm_str *texts, size_t n, uint32_t *words,
                          uint32_t perms, size_t repeats)
{
    static double figure[N_SIZES * N_COUNTS][N_FIGURES][REPEATS_MAX];
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    for (size_t r = 0; r < repeats; r++) {
        run(whole, texts, n, &out);
        const uint64_t sum = checksum(words, n * perms);
        for (size_t k = 0; k < N_SIZES * N_COUNTS; k++) {
            memset(words, 0, n * perms * sizeof *words);
            const shared_figures f = run_callers(whole->signer, caller_counts[k % N_COUNTS],
                                                 call_sizes[k / N_COUNTS], texts, n, words, perms);
            if (checksum(words, n * perms) != sum)
                die("checksum", "callers that share a signer sign otherwise");
            const double row[N_FIGURES] = {f.rate, f.rate / whole->rate,
                                           f.rate / f.cpu / (whole->rate / whole->cpu), f.cpu,
                                           f.switches};
            for (size_t i = 0; i < N_FIGURES; i++)
                figure[k][i][r] = row[i];
        }
    }
    printf(" \"callers\": [");
    for (size_t k = 0; k < N_SIZES * N_COUNTS; k++) {
        double median[N_FIGURES];
        for (size_t i = 0; i < N_FIGURES; i++)
            median[i] = by_value(figure[k][i], repeats, .5);
        printf(
            "%s\n  {\"callers\": %u, \"docs_a_call\": %zu, \"rate\": %.1f, \"of_threads\": %.3f, "
            "\"by_cpu\": %.3f, \"cpu\": %.2f, \"switches\": %.1f}",
            k == 0 ? "" : ",", caller_counts[k % N_COUNTS], call_sizes[k / N_COUNTS], median[0],
            median[1], median[2], median[3], median[4]);
    }
    printf("]}\n");
}

static void print(const figures *all, size_t n, uint32_t threads)
{
    double rates[2][REPEATS_MAX], ratios[REPEATS_MAX], quiet[REPEATS_MAX], cpu_ratios[REPEATS_MAX];
    double controls[REPEATS_MAX], of_control[REPEATS_MAX];
    size_t n_quiet = 0;
    for (size_t i = 0; i < n; i++) {
        const figures *f = &all[i];
        rates[0][i] = f->rate[0];
        rates[1][i] = f->rate[1];
        ratios[i] = f->rate[1] / f->rate[0];
        controls[i] = f->control[1] / f->control[0];
        of_control[i] = ratios[i] / controls[i] * threads;
        cpu_ratios[i] = ratios[i] * f->cpu[0] / f->cpu[1];
        if (f->cpu[0] >= QUIET && f->cpu[1] >= QUIET * threads)
            quiet[n_quiet++] = ratios[i];
    }
    printf(
        " \"rate_1\": {\"median\": %.1f, \"max\": %.1f}, \"rate_%u\": {\"median\": %.1f, \"max\": "
        "%.1f},\n",
        by_value(rates[0], n, .5), by_value(rates[0], n, 1), threads, by_value(rates[1], n, .5),
        by_value(rates[1], n, 1));
    printf(" \"ratio\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f}, \"ratio_of_best_rates\": "
           "%.3f,\n",
           by_value(ratios, n, .5), by_value(ratios, n, 0), by_value(ratios, n, 1),
           by_value(rates[1], n, 1) / by_value(rates[0], n, 1));
    printf(" \"ratio_quiet\": {\"median\": %.3f, \"repeats\": %zu}, \"ratio_by_cpu_time\": %.3f,\n",
           by_value(quiet, n_quiet, .5), n_quiet, by_value(cpu_ratios, n, .5));
    printf(" \"control\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f}, \"ratio_of_control\": "
           "%.3f}\n",
           by_value(controls, n, .5), by_value(controls, n, 0), by_value(controls, n, 1),
           by_value(of_control, n, .5));
}

int main(int argc, char **argv)
{
    static figures all[REPEATS_MAX];
    size_t repeats = 15, len, n;
    uint32_t threads = 2, perms = BM_PERMS_DEFAULT;
    bool callers = false;
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        unsigned long value = i + 1 < argc ? strtoul(argv[i + 1], NULL, 10) : 0;
        if (strcmp(argv[i], "--repeats") == 0 && value > 0 && value <= REPEATS_MAX)
            repeats = value, i++;
        else if (strcmp(argv[i], "--threads") == 0 && value > 1 && value <= BM_THREADS_MAX)
            threads = (uint32_t)value, i++;
        else if (strcmp(argv[i], "--perms") == 0 && value > 0 && value <= BM_PERMS_MAX)
            perms = (uint32_t)value, i++;
        else if (strcmp(argv[i], "--callers") == 0)
            callers = true;
        else
            path = argv[i];
    }
    if (path == NULL)
        die("usage", "signer_rate [--repeats N] [--threads N] [--perms K] [--callers] FILE");
    char *data = read_file(path, &len);
    bm_str *texts = cut_lines(data, len, &n);
    uint32_t *words = calloc(n * perms + 1, sizeof *words);
    if (words == NULL)
        die("words", "out of memory");
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    contender contenders[] = {{.signer = open_signer(1, perms)},
                              {.signer = open_signer(threads, perms)}};
    uint64_t sums[2], products = 0;
    for (int k = 0; k < 2; k++) { /* warm up */
        run(&contenders[k], texts, n, &out);
        sums[k] = checksum(words, n * perms);
    }
    if (sums[0] != sums[1])
        die("checksum", "one thread and several sign otherwise");
    for (size_t i = 0; i < (callers ? 0 : 2 * repeats); i++) {
        const size_t k = (i + i / 2) % 2;
        run(&contenders[k], texts, n, &out);
        all[i / 2].rate[k] = contenders[k].rate;
        all[i / 2].cpu[k] = contenders[k].cpu;
        all[i / 2].control[k] = control(data, len, k == 0 ? 1 : threads, &products);
    }
    printf(
        "{\"documents\": %zu, \"bytes\": %zu, \"perms\": %u, \"threads\": %u, \"repeats\": %zu,\n "
        "\"checksum\": \"%016" PRIx64 "\", \"control_checksum\": \"%016" PRIx64 "\",\n",
        n, len, perms, threads, repeats, sums[0], products);
    if (callers)
        print_callers(&contenders[1], texts, n, words, perms, repeats);
    else
        print(all, repeats, threads);
    bm_signer_close(contenders[0].signer);
    bm_signer_close(contenders[1].signer);
    free(words);
    free(texts);
    free(data);
    return 0;
}
