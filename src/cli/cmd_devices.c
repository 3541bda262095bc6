/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_devices.c -- bandmill devices: lists the devices that can sign here, and tests whether they
 * compute correctly.
 *
 * With --self-test the usable devices are tested one after another against known answers, even
 * after one has failed. The exit code is 8 if any answer was wrong, else 5 if any device could not
 * run.
 *
 * Tests: tests/cli/cases/devices.sh, tests/fault/device/shapes.sh */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/field_names.h"
#include "cli/interrupt.h"
#include "cli/job_callbacks.h"

typedef struct device_verdict {
    bm_status status;
    bool tested;
    uint32_t n_checks;
    bm_error error;
    const char *spec;
    char note[1024]; /* the first message that the library logged while testing the device; "": no
                      * message */
} device_verdict;

static const char *kind_name(bm_device_kind kind)
{
    switch (kind) {
    case BM_DEVICE_NATIVE:
        return "native";
    case BM_DEVICE_CL_CPU:
        return "cpu";
    case BM_DEVICE_CL_GPU:
        return "gpu";
    case BM_DEVICE_CL_NONE:
        return "none";
    case BM_DEVICE_CL_OTHER:
        break;
    }
    return "other";
}

static void print_json_field(cli_console *console, const char *name, const char *text)
{
    cli_print(console, ",\"%s\":", name);
    cli_json_string(console->out, text);
}

static void print_json_row(cli_console *console, const bm_device_info *device,
                           const device_verdict *verdict)
{
    cli_print(console, "{\"spec\":");
    cli_json_string(console->out, device->spec);
    print_json_field(console, "name", device->name);
    print_json_field(console, "platform", device->platform);
    print_json_field(console, "driver", device->driver);
    print_json_field(console, "kind", kind_name(device->kind));
    cli_print(console,
              ",\"compute_units\":%" PRIu32 ",\"clock_mhz\":%" PRIu32 ",\"memory_bytes\":%" PRIu64
              ",\"max_alloc_bytes\":%" PRIu64 ",\"local_bytes\":%" PRIu64 ",\"usable\":%s",
              device->compute_units, device->clock_mhz, device->memory_bytes,
              device->max_alloc_bytes, device->local_bytes, device->usable ? "true" : "false");
    if (device->kind != BM_DEVICE_NATIVE && device->kind != BM_DEVICE_CL_NONE)
        cli_print(console, ",\"unified\":%s", device->unified_bytes > 0 ? "true" : "false");
    if (device->pci[0] != '\0')
        print_json_field(console, "pci", device->pci);
    if (device->uuid[0] != '\0')
        print_json_field(console, "uuid", device->uuid);
    if (device->same_as[0] != '\0') {
        print_json_field(console, "same_as", device->same_as);
        print_json_field(console, "same_by", device->same_by);
    }
    if (!device->usable)
        print_json_field(console, "why", device->why);
    if (verdict->tested) {
        cli_print(console, ",\"self_test\":\"%s\",\"checks\":%" PRIu32,
                  verdict->status == BM_OK ? "passed" : "failed", verdict->n_checks);
        if (verdict->status != BM_OK)
            print_json_field(console, "self_test_error", verdict->error.message);
        if (verdict->note[0] != '\0')
            print_json_field(console, "self_test_note", verdict->note);
    }
    cli_print(console, "}");
}

static void print_row(cli_console *console, const bm_device_info *device,
                      const device_verdict *verdict)
{
    char memory[32] = "-";
    if (device->memory_bytes > 0)
        cli_format_bytes((double)device->memory_bytes, memory, sizeof memory);
    const bool empty = device->kind == BM_DEVICE_CL_NONE;
    cli_print(console, "%-12s %-7s %5" PRIu32 "  %8s  %s", device->spec, kind_name(device->kind),
              device->compute_units, memory, empty ? device->platform : device->name);
    if (device->platform[0] != '\0' && device->kind != BM_DEVICE_NATIVE && !empty)
        cli_print(console, " (%s)", device->platform);
    if (device->driver[0] != '\0')
        cli_print(console, " [%s]", device->driver);
    if (device->pci[0] != '\0')
        cli_print(console, " at %s", device->pci);
    if (device->same_as[0] != '\0')
        cli_print(console, "; the same GPU as %s%s", device->same_as,
                  strcmp(device->same_by, "name") == 0 ? ", by name and memory" : "");
    if (!device->usable)
        cli_print(console, "  NOT USABLE: %s", device->why);
    else if (verdict->tested && verdict->status == BM_OK)
        cli_print(console, "  self-test passed, %" PRIu32 " answers", verdict->n_checks);
    else if (verdict->tested)
        cli_print(console, "  SELF-TEST FAILED: %s", verdict->error.message);
    if (verdict->note[0] != '\0')
        cli_print(console, "; %s", verdict->note);
    cli_print(console, "\n");
}

static void keep_note(void *ctx, bm_log_level level, const char *message)
{
    device_verdict *verdict = ctx;
    const size_t spec = strlen(verdict->spec);
    (void)level;
    if (strncmp(message, verdict->spec, spec) == 0 && strncmp(message + spec, ": ", 2) == 0)
        message += spec + 2; /* skip the name of the device, because the row has it already */
    if (verdict->note[0] == '\0')
        snprintf(verdict->note, sizeof verdict->note, "%s", message);
}

static void self_test(cli_context *context, const bm_device_info *device, device_verdict *verdict)
{
    verdict->tested = device->usable;
    if (!device->usable)
        return;
    bm_self_test_options options;
    bm_self_test_options_init(&options);
    options.device = context->settings.device;
    options.device.device = device->spec;
    options.callbacks = (bm_callbacks){.ctx = verdict, .log = keep_note};
    verdict->spec = device->spec;
    options.device.cpu = NULL; /* test the best instruction set of this CPU, which is the one that
                                * the list shows */
    verdict->status = bm_device_self_test(&options, &verdict->n_checks, &verdict->error);
    char shown[sizeof verdict->error.message];
    cli_show_fields(verdict->error.message, CLI_DEVICES, shown, sizeof shown);
    snprintf(verdict->error.message, sizeof verdict->error.message, "%s", shown);
}

/* Print each device and, with --self-test, test it before. The status and *err are those of the
 * first wrong answer or, if there is none, of the last device that could not run. BM_ERR_CANCELLED:
 * the user interrupted the list. */
static bm_status print_devices(cli_context *context, const bm_device_list *devices, bm_error *err)
{
    cli_console *console = &context->console;
    bm_status worst = BM_OK;
    for (size_t i = 0; i < bm_device_list_count(devices) && !cli_interrupted(); i++) {
        const bm_device_info *device = bm_device_list_at(devices, i);
        device_verdict verdict;
        memset(&verdict, 0, sizeof verdict);
        if (context->settings.self_test)
            self_test(context, device, &verdict);
        if (console->json && i > 0)
            cli_print(console, ",");
        (console->json ? print_json_row : print_row)(console, device, &verdict);
        if (verdict.status != BM_OK && worst != BM_ERR_SELFTEST) {
            worst = verdict.status;
            *err = verdict.error;
        }
    }
    if (!cli_interrupted())
        return worst;
    memset(err, 0, sizeof *err);
    return err->status = BM_ERR_CANCELLED;
}

bm_status cli_run_devices(cli_context *context, bm_error *err)
{
    cli_console *console = &context->console;
    bm_device_list *devices = NULL;
    bm_device_list_options options;
    bm_device_list_options_init(&options);
    options.device = context->settings.device;
    options.device.device = NULL;
    options.callbacks = cli_callbacks(context);
    bm_status status = bm_device_list_open_with(&options, &devices, err);
    if (status != BM_OK)
        return status;
    const char *note = bm_device_list_note(devices);
    const bool broken = bm_device_list_broken(devices);
    if (broken)
        cli_report_log(console, BM_LOG_WARNING, note);
    if (console->json)
        cli_print(console, "{\"schema\":1,\"devices\":[");
    else
        cli_print(console, "%-12s %-7s %5s  %8s  %s\n", "DEVICE", "KIND", "UNITS", "MEMORY",
                  "NAME");
    status = print_devices(context, devices, err);
    if (console->json) {
        cli_print(console, "],\"note\":");
        if (note[0] != '\0')
            cli_json_string(console->out, note);
        else
            cli_print(console, "null");
        cli_print(console, "}\n");
    } else if (note[0] != '\0' && !broken && bm_device_list_count(devices) == 1) {
        cli_report_note(console, "%s", note);
    }
    bm_device_list_close(devices);
    return cli_finish_after(console, status, err);
}
