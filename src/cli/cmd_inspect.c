/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_inspect.c -- bandmill inspect: describes a file or directory that bandmill wrote.
 *
 * Tests: tests/cli/cases/dedup.sh */
#include <string.h>

#include "cli/command.h"
#include "cli/json_printer.h"

bm_status cli_run_inspect(cli_context *context, bm_error *err)
{
    const arg_list *paths = &context->settings.operands;
    bm_status status = BM_OK;
    for (size_t i = 0; i < paths->n && status == BM_OK; i++) {
        char *json = NULL;
        status = bm_inspect_within(paths->items[i], context->settings.resources.memory, &json, err);
        if (status != BM_OK)
            break;
        size_t len = strlen(json);
        while (len > 0 && json[len - 1] == '\n')
            json[--len] = '\0';
        if (context->settings.messages.json) {
            cli_write_json(&context->console, json, len);
            cli_write(&context->console, "\n", 1);
        } else {
            if (i > 0)
                cli_print(&context->console, "\n");
            cli_print_json(&context->console, json);
        }
        bm_string_free(json);
    }
    return cli_finish_after(&context->console, status, err);
}
