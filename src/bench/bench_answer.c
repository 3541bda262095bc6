/* SPDX-License-Identifier: Apache-2.0 */
/* bench_answer.c -- runs whole jobs over a sample, and computes the answers. See bench_answer.h. */
#include "bench/bench_answer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bandmill/job.h>
#include <bandmill/schemes.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/scheme_facts.h"

#define PIECE_BYTES ((size_t)8 << 20)
#define READ_PIECE  ((size_t)1 << 20)
#define READ_BYTES  ((uint64_t)256 << 20)
#define LINE_CHARS  78u
#define BAR_CHARS   40.0

static const char *const part_names[BM_BENCH_N_PARTS] = {"arithmetic", "link", "host", "disk"};

/* --- the model --- */

static double over(double amount, double rate)
{
    return rate > 0 ? amount / rate : 0;
}

/* Compute the answers from the measurements: part, binds, gb_s, documents_s, replaces, hours, cost
 * and kwh. `native` is the same job on the CPU; `replaces` needs it. NULL: it was not measured. */
static void bench_answer_compute(const bm_bench_options *options, const bm_bench_rates *rates,
                                 const bm_bench_job *native, bm_bench_job *job)
{
    const double up = over(job->up_bytes, rates->up_mb_s * 1e6);
    const double down = over(job->down_bytes, rates->down_mb_s * 1e6);
    const double arithmetic = over(job->signed_shingles, rates->mshingles_s * 1e6);
    const double host = job->cpu_seconds - arithmetic * rates->cores;
    job->part[BM_BENCH_ARITHMETIC] = arithmetic;
    job->part[BM_BENCH_LINK] = up > down ? up : down;
    job->part[BM_BENCH_HOST] = host > 0 ? host / rates->threads : 0;
    job->part[BM_BENCH_DISK] = over(job->bytes, rates->read_mb_s * 1e6) +
                               over(job->written_bytes, rates->write_mb_s * 1e6);
    size_t most = 0;
    for (size_t i = 1; i < BM_BENCH_N_PARTS; i++)
        most = job->part[i] > job->part[most] ? i : most;
    job->binds = part_names[most];
    const double disk = job->part[BM_BENCH_DISK];
    const double seconds = job->seconds > disk ? job->seconds : disk;
    job->gb_s = over(job->bytes * 1e-9, seconds);
    job->documents_s = over(job->documents, seconds);
    /* The job would keep some cores busy on the CPU alone. Subtract the cores that it keeps busy
     * beside the device. */
    job->replaces = native != NULL ? (native->cpu_seconds - job->cpu_seconds) / seconds : 0;
    job->hours = over(1e9, job->documents_s) / 3600;
    job->cost = job->hours * options->price;
    job->kwh = job->hours * options->watts * 1e-3;
}

/* --- the sample, on the disk --- */

bm_status bm_bench_folder_make(const char *name, char path[BM_BENCH_FOLDER_BYTES], bm_error *err)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, BM_BENCH_FOLDER_BYTES, "%s/bandmill-%s-XXXXXX",
             tmp != NULL && tmp[0] == '/' ? tmp : "/tmp", name);
    if (mkdtemp(path) != NULL)
        return BM_OK;
    const bm_status status = bm_fail_errno(err, errno, path, "cannot make a temporary directory");
    path[0] = '\0';
    return status;
}

double bm_bench_folder_clear(const char *path)
{
    double bytes = 0;
    char below[BM_BENCH_FOLDER_BYTES + 300];
    struct stat st;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || lstat(below, &st) != 0)
            continue;
        bytes += S_ISDIR(st.st_mode) ? bm_bench_folder_clear(below) : (double)st.st_size;
        unlink(below);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(path);
    return bytes;
}

static bm_status add_record(bm_json *json, bm_str text, bm_error *err)
{
    json->comma = false;
    bm_json_begin_object(json);
    bm_json_key_string(json, "text", text);
    bm_json_end_object(json);
    return json->status != BM_OK ? bm_fail_nomem(err, text.len)
                                 : bm_buf_add(&json->buf, "\n", 1, err);
}

/* Write `n` documents as JSON Lines. They are on the disk when the function returns. *bytes: size
 * of the file. */
static bm_status write_sample(const bm_bench_text *text, size_t n, const char *path, double *bytes,
                              bm_error *err)
{
    bm_json json = {0};
    bm_status status = BM_OK;
    FILE *file = fopen(path, "we");
    *bytes = 0;
    for (size_t i = 0; file != NULL && i < n; i++) {
        BM_TRY_OUT(add_record(&json, bm_bench_text_get(text, i), err));
        if (json.buf.len < PIECE_BYTES && i + 1 < n)
            continue;
        *bytes += (double)json.buf.len;
        if (fwrite(json.buf.data, 1, json.buf.len, file) != json.buf.len)
            break;
        json.buf.len = 0;
    }
    if (file == NULL || ferror(file) || fflush(file) != 0 || fsync(fileno(file)) != 0)
        status = bm_fail_errno(err, errno, path, "cannot write the documents");
out:
    if (file != NULL)
        fclose(file);
    bm_buf_reset(&json.buf);
    return status;
}

/* Return the rate of input or output in MB/s, over the time that the thread spent waiting. `begin`
 * has the wall clock and the thread's CPU clock at the beginning. 0: there was hardly any waiting,
 * as with files in memory. */
static double wait_rate(double bytes, const double begin[2])
{
    const double seconds = bm_clock_seconds() - begin[0];
    const double waited = seconds - (bm_clock_of(CLOCK_THREAD_CPUTIME_ID) - begin[1]);
    return waited > seconds * .1 ? bytes * 1e-6 / waited : 0;
}

/* Return the rate at which a regular file is read. The file comes from the disk if the system drops
 * it from the page cache. 0: it cannot be read, or there was hardly any waiting. */
static double read_rate(const char *path)
{
    char *piece = bm_alloc(READ_PIECE, 1);
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint64_t bytes = 0;
    double rate = 0;
    if (piece != NULL && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0) {
        const double begin[2] = {bm_clock_seconds(), bm_clock_of(CLOCK_THREAD_CPUTIME_ID)};
        for (ssize_t got; bytes < READ_BYTES && (got = read(fd, piece, READ_PIECE)) > 0;)
            bytes += (uint64_t)got;
        rate = wait_rate((double)bytes, begin);
    }
    if (fd >= 0)
        close(fd);
    bm_free(piece);
    return rate;
}

/* --- jobs --- */

typedef struct runner {
    const bm_bench_options *options;
    double until;
    char folder[BM_BENCH_FOLDER_BYTES], sample[BM_BENCH_FOLDER_BYTES + 16],
        one[BM_BENCH_FOLDER_BYTES + 16], out[BM_BENCH_FOLDER_BYTES + 16];
} runner;

typedef struct spent {
    double seconds, cpu_seconds;
} spent;

/* Run one job, and store its counts in `job`. */
static bm_status run_job(const runner *r, const char *path, bm_bench_job *job, spent *took,
                         bm_error *err)
{
    const bool dedup = strcmp(job->job, "dedup") == 0;
    const bm_callbacks *calls = &r->options->callbacks;
    bm_summary *summary = NULL;
    bm_dedup_options d;
    bm_sign_options s;
    bm_dedup_options_init(&d);
    bm_sign_options_init(&s);
    s.input.paths = &path;
    s.input.n_paths = 1;
    s.text = r->options->text;
    s.sketch = r->options->sketch;
    s.device = r->options->device;
    s.device.device = job->device;
    s.resources.threads = r->options->threads;
    s.output.path = r->out;
    s.callbacks = (bm_callbacks){.ctx = calls->ctx, .cancelled = calls->cancelled};
    d.input = s.input;
    d.text = s.text;
    d.sketch = s.sketch;
    d.device = s.device;
    d.resources = s.resources;
    d.output = s.output;
    d.callbacks = s.callbacks;
    const double begin = bm_clock_seconds(), cpu = bm_clock_of(CLOCK_PROCESS_CPUTIME_ID);
    BM_TRY(dedup ? bm_job_dedup(&d, &summary, err) : bm_job_sign(&s, &summary, err));
    *took = (spent){bm_clock_seconds() - begin, bm_clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu};
    const bm_counts *counts = bm_summary_counts(summary);
    const bm_band_plan *plan = bm_summary_plan(summary);
    const bm_sketch_options *sketch = &r->options->sketch;
    const double n_docs = (double)counts->documents, n_shingles = (double)counts->shingles;
    const double row_bytes = 4.0 * bm_scheme_row_uints(sketch->scheme, sketch->perms);
    const double used = dedup && sketch->scheme != BM_SCHEME_OPH
                            ? (double)(plan->bands * plan->rows) / sketch->perms
                            : 1;
    const double hash_bytes = bm_scheme_value_bytes(sketch->scheme) * n_shingles;
    job->documents = n_docs;
    job->shingles = n_shingles;
    job->signed_shingles = n_shingles * used;
    job->up_bytes = hash_bytes < job->bytes || dedup ? hash_bytes : job->bytes;
    job->down_bytes = n_docs * (dedup ? 8.0 * plan->bands : row_bytes);
    bm_summary_free(summary);
    job->written_bytes = bm_bench_folder_clear(r->out);
    return BM_OK;
}

static void keep_least(spent *least, const spent *now)
{
    least->seconds = now->seconds < least->seconds ? now->seconds : least->seconds;
    least->cpu_seconds =
        now->cpu_seconds < least->cpu_seconds ? now->cpu_seconds : least->cpu_seconds;
}

/* Run each job once with one document and once with all documents. If the time ends during the
 * first round, the remaining devices are left out, and *n becomes smaller. */
static bm_status run_round(const runner *r, bm_bench_job *jobs, size_t *n, spent (*least)[2],
                           bool first, bm_error *err)
{
    for (size_t i = 0; i < *n; i++) {
        spent now[2];
        if (first && i % 2 == 0 && i > 0 && r->until > 0 && bm_clock_seconds() > r->until) {
            *n = i;
            return BM_OK;
        }
        if (first) { /* a run that is not measured builds what is built only once */
            BM_TRY(run_job(r, r->one, &jobs[i], &now[0], err));
            least[i][0] = least[i][1] = (spent){1e9, 1e9};
        }
        BM_TRY(run_job(r, r->one, &jobs[i], &now[0], err));
        BM_TRY(run_job(r, r->sample, &jobs[i], &now[1], err));
        keep_least(&least[i][0], &now[0]);
        keep_least(&least[i][1], &now[1]);
    }
    return BM_OK;
}

static void set_spent(bm_bench_job *job, const spent least[2], uint32_t threads)
{
    const double seconds = least[1].seconds - least[0].seconds;
    const double cpu = least[1].cpu_seconds - least[0].cpu_seconds;
    job->opening = least[0].seconds;
    job->cpu_seconds = cpu > 0 ? cpu : 0;
    /* Use at least the CPU time divided by the threads, in case the job with one document was
     * disturbed. */
    job->seconds = seconds > job->cpu_seconds / threads ? seconds : job->cpu_seconds / threads;
}

bm_status bm_bench_answer_run(const bm_bench_options *options, const bm_bench_text *text,
                              const bm_device_info *devices, bm_bench_rates *rates, size_t n,
                              double until, bm_bench_job *jobs, size_t *n_jobs, bm_error *err)
{
    runner r = {.options = options, .until = until};
    bm_status status = BM_OK;
    spent(*least)[2] = NULL;
    double bytes = 0, one_bytes;
    BM_TRY(bm_bench_folder_make("bench", r.folder, err));
    snprintf(r.sample, sizeof r.sample, "%s/sample.jsonl", r.folder);
    snprintf(r.one, sizeof r.one, "%s/one.jsonl", r.folder);
    snprintf(r.out, sizeof r.out, "%s/out", r.folder);
    BM_TRY_OUT(bm_new_zero(&least, n * 2, err));
    BM_TRY_OUT(write_sample(text, 1, r.one, &one_bytes, err));
    const double begin[2] = {bm_clock_seconds(), bm_clock_of(CLOCK_THREAD_CPUTIME_ID)};
    BM_TRY_OUT(write_sample(text, text->n, r.sample, &bytes, err));
    const double write = wait_rate(bytes, begin);
    const double read = read_rate(options->n_paths > 0 ? options->paths[0] : r.sample);
    for (size_t i = 0; i < n * 2; i++) {
        const bm_device_info *device = &devices[i / 2];
        jobs[i] = (bm_bench_job){.job = i % 2 == 0 ? "sign" : "dedup", .bytes = bytes};
        snprintf(jobs[i].device, sizeof jobs[i].device, "%s", device->spec);
        snprintf(jobs[i].device_name, sizeof jobs[i].device_name, "%s", device->name);
        rates[i / 2].read_mb_s = read;
        rates[i / 2].write_mb_s = write;
    }
    *n_jobs = n * 2;
    for (uint32_t round = 0; round < options->repeats; round++) {
        const double since = bm_clock_seconds();
        BM_TRY_OUT(run_round(&r, jobs, n_jobs, least, round == 0, err));
        const double now = bm_clock_seconds();
        if (until > 0 && now + (now - since) > until)
            break;
    }
    for (size_t i = 0; i < *n_jobs; i++)
        set_spent(&jobs[i], least[i], options->threads);
    for (size_t i = 0; i < *n_jobs; i++) {
        const bool alone = strcmp(jobs[0].device, "cpu") != 0 || i < 2;
        bench_answer_compute(options, &rates[i / 2], alone ? NULL : &jobs[i % 2], &jobs[i]);
    }
out:
    bm_free(least);
    bm_bench_folder_clear(r.folder);
    return status;
}

/* --- in words --- */

static bm_status add_job(bm_buf *out, const bm_bench_job *job, bm_error *err)
{
    BM_TRY(bm_buf_add_format(out, err, " %s %.3g GB/s, bound by the %s", job->job, job->gb_s,
                             job->binds));
    if (strcmp(job->device, "cpu") == 0)
        return BM_OK;
    return job->replaces >= .05
               ? bm_buf_add_format(out, err, ", in place of %.1f cores", job->replaces)
               : bm_buf_add_text(out, ", in place of no core", err);
}

static bm_status add_billion(const bm_bench_options *options, bm_buf *out, const bm_bench_job *job,
                             bm_error *err)
{
    BM_TRY(bm_buf_add_format(out, err, " %s on %s %.3g hours", job->job, job->device, job->hours));
    if (options->price > 0)
        BM_TRY(bm_buf_add_format(out, err, ", a cost of %.3g", job->cost));
    return options->watts > 0 ? bm_buf_add_format(out, err, ", %.3g kWh", job->kwh) : BM_OK;
}

/* Wrap the text into lines of at most LINE_CHARS. Only a longer word makes a longer line. */
static void wrap(char *text)
{
    char *line = text, *space = NULL;
    for (char *c = text; *c != '\0'; c++) {
        if (*c == ' ')
            space = c;
        if ((size_t)(c - line) >= LINE_CHARS && space != NULL) {
            *space = '\n';
            line = space + 1;
            space = NULL;
        }
    }
}

bm_status bm_bench_answer_write(const bm_bench_options *options, const bm_bench_job *jobs, size_t n,
                                char **out, bm_error *err)
{
    static const char bar[] = "########################################";
    bm_buf text = {0};
    bm_status status = BM_OK;
    double most = 0;
    BM_TRY_OUT(bm_buf_add_format(&text, err, "%.0f documents of %.0f bytes, %s, as JSON Lines:",
                                 jobs[0].documents, jobs[0].bytes / jobs[0].documents,
                                 options->n_paths > 0 ? "from the input" : "made from a seed"));
    for (size_t i = 0; i < n; i++) {
        const bm_bench_job *job = &jobs[i];
        most = job->gb_s > most ? job->gb_s : most;
        if (i % 2 != 0)
            BM_TRY_OUT(bm_buf_add_text(&text, ";", err));
        else if (strcmp(job->device, "cpu") == 0)
            BM_TRY_OUT(bm_buf_add_format(&text, err, " on %u CPU cores (%s)", options->threads,
                                         job->device_name));
        else
            BM_TRY_OUT(bm_buf_add_format(&text, err, "%s on %s (%s)", i > 0 ? ";" : "", job->device,
                                         job->device_name));
        BM_TRY_OUT(add_job(&text, job, err));
    }
    BM_TRY_OUT(bm_buf_add_text(&text, ". A billion of them take", err));
    for (size_t job = 0; job < 2; job++) { /* the first device, which is the CPU if present, and the
                                              fastest */
        size_t best = job;
        for (size_t i = job; i < n; i += 2)
            best = jobs[i].gb_s > jobs[best].gb_s ? i : best;
        BM_TRY_OUT(add_billion(options, &text, &jobs[job], err));
        if (best != job) {
            BM_TRY_OUT(bm_buf_add_text(&text, ";", err));
            BM_TRY_OUT(add_billion(options, &text, &jobs[best], err));
        }
        BM_TRY_OUT(bm_buf_add_text(&text, job == 0 ? ";" : ".", err));
    }
    BM_TRY_OUT(bm_buf_end(&text, err));
    wrap(text.data);
    BM_TRY_OUT(bm_buf_add_text(&text, "\n\n", err));
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(bm_buf_add_format(&text, err, "%-12s %-5s %8.3f GB/s  %.*s\n", jobs[i].device,
                                     jobs[i].job, jobs[i].gb_s,
                                     (int)(over(jobs[i].gb_s, most) * BAR_CHARS + .5), bar));
    status = bm_string_format(out, err, "%.*s", (int)text.len, text.data);
out:
    bm_buf_reset(&text);
    return status;
}

void bm_bench_answer_json(bm_json *json, const bm_bench_job *jobs, size_t n)
{
    bm_json_key_array(json, "answer");
    for (size_t i = 0; i < n; i++) {
        const bm_bench_job *job = &jobs[i];
        const struct {
            const char *name;
            double value;
        } members[] = {{"gb_s", job->gb_s},
                       {"documents_s", job->documents_s},
                       {"replaces_cores", job->replaces},
                       {"billion_hours", job->hours},
                       {"billion_cost", job->cost},
                       {"billion_kwh", job->kwh},
                       {"bytes", job->bytes},
                       {"documents", job->documents},
                       {"shingles", job->shingles},
                       {"signed_shingles", job->signed_shingles},
                       {"up_bytes", job->up_bytes},
                       {"down_bytes", job->down_bytes},
                       {"written_bytes", job->written_bytes},
                       {"seconds", job->seconds},
                       {"cpu_seconds", job->cpu_seconds},
                       {"opening_seconds", job->opening}};
        bm_json_begin_object(json);
        bm_json_key_text(json, "device", job->device);
        bm_json_key_text(json, "job", job->job);
        bm_json_key_text(json, "binds", job->binds);
        for (size_t m = 0; m < sizeof members / sizeof members[0]; m++)
            bm_json_key_double(json, members[m].name, members[m].value);
        bm_json_key_object(json, "part_seconds");
        for (size_t p = 0; p < BM_BENCH_N_PARTS; p++)
            bm_json_key_double(json, part_names[p], job->part[p]);
        bm_json_end_object(json);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}
