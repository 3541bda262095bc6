/* stdout_place.c -- the file behind standard output against those that the options name. The library
 * compares all others; it does not know where the program's rows go.
 *
 * Tests: tests/cli/cases/stdout_place.sh */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options.h"

static bool is_stdout(const struct stat *out, const char *path)
{
    struct stat info;
    if (path == NULL || (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &info) : stat(path, &info)))
        return false;
    return info.st_dev == out->st_dev && info.st_ino == out->st_ino;
}

bm_status cli_check_stdout(const cli_settings *settings, cli_command_id command, bm_error *err)
{
    const bool writes = settings->output.path == NULL || settings->messages.json;
    const arg_list *operands = &settings->operands;
    const bool ids = command == CLI_EXPLAIN || command == CLI_INDEX_REMOVE; /* behind the first */
    const size_t n_files = ids && operands->n > 1 ? 1 : operands->n;
    const char *const outputs[] = {settings->output.path, settings->output.report,
                                   settings->results.histogram, settings->results.histogram_svg,
                                   settings->tune.svg};
    const char *const lists[] = {settings->input.files_from, settings->input.offsets_path};
    struct stat out;
    if (!writes || fstat(STDOUT_FILENO, &out) != 0 || !S_ISREG(out.st_mode))
        return BM_OK;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        if (is_stdout(&out, outputs[i]))
            return args_fail(err, "standard output is the output %s too (a file for each)",
                             outputs[i]);
    for (size_t i = 0; i < n_files + 2; i++) {
        const char *path = i < n_files ? operands->items[i] : lists[i - n_files];
        if (is_stdout(&out, path))
            return args_fail(err, "standard output is the input %s (expected a place of its own)",
                             path);
    }
    for (size_t i = 0; i < settings->index.targets.n; i++)
        if (is_stdout(&out, settings->index.targets.items[i]))
            return args_fail(err, "standard output is the input %s (expected a place of its own)",
                             settings->index.targets.items[i]);
    return BM_OK;
}
