/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c -- reads BANDMILL_*, TMPDIR, NO_COLOR and TERM; see environment.h. */
#include "cli/environment.h"

#include <bandmill/option_names.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"

static void read_text(const char *name, bool also_empty, const char **field)
{
    const char *value = getenv(name);
    if (value != NULL && (also_empty || value[0] != '\0'))
        *field = value;
}

/* Store the number at the beginning of the variable, if it is above 0. Text after the number is
 * ignored. */
static void read_seconds(const char *name, double *field)
{
    const char *value = getenv(name);
    const double seconds = value != NULL ? strtod(value, NULL) : 0;
    if (seconds > 0)
        *field = seconds;
}

void cli_environment_device(bm_device_options *options)
{
    read_text("BANDMILL_DEVICE", false, &options->device);
    read_text("BANDMILL_CPU", false, &options->cpu);
    read_text("BANDMILL_CACHE_DIR", false, &options->cache_dir);
    read_text("BANDMILL_TUNING", false, &options->tuning_path);
    read_text("BANDMILL_PROBE", true, &options->probe_program);
    read_seconds("BANDMILL_PROBE_SECONDS", &options->probe_seconds);
    read_seconds("BANDMILL_DEVICE_SECONDS", &options->call_seconds);
    read_text("BANDMILL_CL_SHAPE", true, &options->kernel_family);
    read_text("BANDMILL_CL_ROW", true, &options->kernel_params);
    const char *limit = getenv("BANDMILL_CL_LIMIT"), *way = getenv("BANDMILL_CL_TEXT");
    if (limit != NULL)
        options->buffer_limit_bytes = strtoull(limit, NULL, 10);
    unsigned offload;
    if (way != NULL && bm_option_value(BM_OPTION_OFFLOAD, way, strlen(way), &offload))
        options->text_offload = (bm_offload)offload;
}

bm_status cli_environment_resources(bm_resource_options *options, bm_error *err)
{
    const char *text = getenv("BANDMILL_SEAL_SECONDS");
    char *end = NULL;
    if (text == NULL || text[0] == '\0')
        return BM_OK;
    const double seconds = strtod(text, &end);
    if (*end != '\0' || !(seconds >= 0))
        return args_fail(err, "BANDMILL_SEAL_SECONDS is '%.100s' (a number of seconds)", text);
    options->checkpoint_seconds = seconds;
    return BM_OK;
}

void cli_environment_temp_dir(bm_resource_options *options)
{
    read_text("TMPDIR", false, &options->temp_dir);
}

bool cli_environment_emphasis(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return (no_color == NULL || no_color[0] == '\0') && terminal != NULL && terminal[0] != '\0' &&
           strcmp(terminal, "dumb") != 0;
}

const char *cli_environment_name(const char *field, size_t len)
{
    static const struct {
        const char *field, *name;
    } rows[] = {{"cpu", "BANDMILL_CPU"},
                {"cache_dir", "BANDMILL_CACHE_DIR"},
                {"tuning_path", "$BANDMILL_TUNING"},
                {"probe_program", "BANDMILL_PROBE"},
                {"probe_seconds", "BANDMILL_PROBE_SECONDS"},
                {"call_seconds", "BANDMILL_DEVICE_SECONDS"},
                {"kernel_family", "BANDMILL_CL_SHAPE"},
                {"kernel_params", "BANDMILL_CL_ROW"},
                {"buffer_limit_bytes", "BANDMILL_CL_LIMIT"},
                {"text_offload", "BANDMILL_CL_TEXT"},
                {"checkpoint_seconds", "BANDMILL_SEAL_SECONDS"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].field) == len && memcmp(rows[i].field, field, len) == 0)
            return rows[i].name;
    return NULL;
}
