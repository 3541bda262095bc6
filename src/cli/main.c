/* SPDX-License-Identifier: Apache-2.0 */
/* main.c -- the program: finds the command, reads its options, runs it, and ends with the
 * documented exit code. interrupt.c handles signals.
 *
 * Tests: tests/cli/cases/usage.sh, tests/cli/cases/before_command.sh,
 * tests/cli/cases/interrupt.sh */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "cli/command.h"
#include "cli/environment.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/presets.h"

/* The allocator maps each block of 4 MiB or more separately. So the memory of a long document
 * returns to the system when it is freed, and arrays can grow without copies or gaps. By default
 * the allocator would raise this limit to as much as 32 MiB. Each arena keeps freed memory, up to
 * the trim threshold. With one arena per thread, many threads would keep more than all other
 * memory, so the number of arenas is limited. */
static void configure_allocator(void)
{
#if defined(__GLIBC__)
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 16 << 20);
    (void)mallopt(M_ARENA_MAX, 4);
#endif
}

/* If descriptor 0, 1 or 2 is closed, open it as /dev/null, so that it cannot become one of our
 * files. The mode makes reads or writes fail, as they would with a closed descriptor. */
static void reserve_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        if (open("/dev/null", fd == 0 ? O_WRONLY : fd == 1 ? O_RDONLY : O_RDWR) != fd)
            _Exit(bm_status_exit_code(BM_ERR_IO));
    }
}

/* Is the word among argv[1] to argv[end - 1], before any "--"? */
static bool has_word(char **argv, int end, const char *word)
{
    for (int i = 1; i < end && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], word) == 0)
            return true;
    }
    return false;
}

/* Handle a command line without a command: --version, --help or, otherwise, an error. */
static bm_status answer_without_command(cli_context *context, int end, char **argv, bm_error *err)
{
    if (has_word(argv, end, "--version"))
        cli_print_version(&context->console);
    else if (has_word(argv, end, "--help") || has_word(argv, end, "-h"))
        cli_print_help(&context->console);
    else
        return args_fail(err, "no command (bandmill help lists the commands)");
    return cli_finish(&context->console, err);
}

static bool has_help(int n, const char *const *args)
{
    for (int i = 0; i < n; i++)
        if (strcmp(args[i], "--help") == 0 || strcmp(args[i], "-h") == 0)
            return true;
    return false;
}

static bm_status answer_index_help(cli_context *context, bm_error *err)
{
    cli_print_index_help(&context->console);
    return cli_finish(&context->console, err);
}

static void begin_messages(cli_context *context)
{
    const cli_message_settings *messages = &context->settings.messages;
    context->console.json = messages->json;
    context->console.quiet = messages->quiet;
    context->console.verbose = messages->verbose;
    cli_progress_when when = messages->progress;
    if (when == CLI_PROGRESS_AUTO && messages->quiet)
        when = CLI_PROGRESS_NEVER;
    cli_meter_init(&context->meter, when, context->console.err, STDERR_FILENO, cli_now());
    context->console.emphasis = context->meter.terminal && cli_environment_emphasis();
}

static bm_status (*const runs[CLI_N_COMMANDS])(cli_context *context, bm_error *err) = {
#define COMMAND_RUNS(id, name, run) [CLI_##id] = cli_run_##run,
    CLI_COMMAND_LIST(COMMAND_RUNS)
#undef COMMAND_RUNS
};

/* Run the command `name`. `args` has all arguments except the command. */
static bm_status run_command(cli_context *context, const char *name, int n, const char *const *args,
                             bm_error *err)
{
    cli_command_id id;
    cli_settings *settings = &context->settings;
    bm_status status = cli_command_find(name, &id, err);
    if (status != BM_OK)
        return status;
    context->console.command = id;
    status = cli_settings_read(settings, id, n, args, err);
    if (status != BM_OK)
        return status;
    settings->device.n_stuck = &context->n_stuck;
    settings->output.command = context->command_line;
    if (settings->messages.help) {
        cli_print_command_help(&context->console, id);
        return cli_finish(&context->console, err);
    }
    status = cli_check_stdout(settings, id, err);
    if (status != BM_OK)
        return status;
    begin_messages(context);
    const cli_preset *preset = cli_preset_of(settings);
    if (preset != NULL)
        cli_report_note(&context->console, "--preset %s: %s", preset->name, preset->note);
    return runs[id](context, err);
}

/* Find the word after "index", remove it from `args`, and set `out` (`cap` bytes) to the name of
 * the command: "index", a blank and that word. Without such a word, it is "index". */
static bm_status second_word(int *n, const char **args, char *out, size_t cap, bm_error *err)
{
    int at;
    bm_status status = args_find_operand(&cli_options, *n, args, &at, err);
    snprintf(out, cap, CLI_INDEX);
    if (status != BM_OK || at == *n)
        return status;
    snprintf(out, cap, CLI_INDEX " %s", args_quote(args[at]).text);
    memmove(args + at, args + at + 1, (size_t)(*n - at - 1) * sizeof *args);
    --*n;
    return BM_OK;
}

/* Find the command and run it. Options may precede the command. */
static bm_status answer(cli_context *context, int argc, char **argv, bm_error *err)
{
    int at;
    bm_status status =
        args_find_operand(&cli_options, argc - 1, (const char *const *)(argv + 1), &at, err);
    if (status != BM_OK)
        return status;
    at++; /* `at` becomes an index in argv */
    if (at == argc || has_word(argv, at, "--version"))
        return answer_without_command(context, at, argv, err);
    const char **args = malloc((size_t)argc * sizeof *args);
    if (args == NULL) {
        args_fail(err, "out of memory");
        return err->status = BM_ERR_NOMEM;
    }
    int n = 0;
    for (int i = 1; i < argc; i++)
        if (i != at)
            args[n++] = argv[i];
    char two[256];
    const char *name = argv[at];
    if (strcmp(name, CLI_INDEX) == 0) {
        status = second_word(&n, args, two, sizeof two, err);
        name = two;
    }
    if (status == BM_OK && strcmp(name, CLI_INDEX) == 0 && has_help(n, args))
        status = answer_index_help(context, err);
    else if (status == BM_OK)
        status = run_command(context, name, n, args, err);
    free(args);
    return status;
}

/* End the process normally, except in two cases. If threads are stuck in a device's driver, exit
 * handlers might wait for them. If a signal arrived while stdout waited for its reader, that reader
 * may never read. */
static int end_process(const cli_context *context, int code)
{
    bool waiting = context->console.out_errno == EINTR;
    if (waiting || context->n_stuck > 0) {
        fflush(waiting ? context->console.err : NULL);
        _exit(code);
    }
    return code;
}

static int exit_code(bm_status status)
{
    if (status == BM_ERR_CANCELLED && cli_stop_signal() == SIGTERM)
        return 128 + SIGTERM;
    return bm_status_exit_code(status);
}

int main(int argc, char **argv)
{
    static cli_stream data = {.fd = STDOUT_FILENO}, messages = {.fd = STDERR_FILENO};
    cli_context context;
    bm_error err;
    bm_status status;
    memset(&context, 0, sizeof context);
    memset(&err, 0, sizeof err);
    reserve_standard_descriptors();
    configure_allocator();
    if (argc == 4 && strcmp(argv[1], "__probe-opencl") == 0)
        return cli_probe(argv[2], argv[3]);
    cli_catch_signals();
    context.console.err = cli_open_stream(&messages, stderr);
    context.console.out = cli_open_stream(&data, stdout);
    context.console.meter = &context.meter;
    context.console.command = CLI_N_COMMANDS;
    context.console.json = has_word(argv, argc, "--json"); /* set before the options are read,
                                                            * because it also applies to errors in
                                                            * them */
    cli_catch_bus_error(context.console.json);

    if (argc < 2) { /* no argument at all: print the list of commands */
        context.console.out = context.console.err;
        cli_print_help(&context.console);
        return bm_status_exit_code(BM_ERR_USAGE);
    }
    context.command_line = (const char *const *)argv;
    status = answer(&context, argc, argv, &err);
    cli_settings_free(&context.settings);
    if (status != BM_OK && status != BM_ERR_PIPE) {
        err.status = status;
        cli_report_error(&context.console, &err, exit_code(status));
    }
    return end_process(&context, exit_code(status));
}
