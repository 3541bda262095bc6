/* SPDX-License-Identifier: Apache-2.0 */
/* json_printer.h -- a JSON report as an json_printer for people:
 *
 *     kind: signatures
 *     counts:
 *       documents: 1000
 *     inputs:
 *       - file: a.jsonl, bytes: 1234
 *       - ... and 37 more (--json shows all)
 *
 * Members of an object take a line each, below the first level indented; a list of objects takes a
 * line for each of the first few, a list of anything else one line. */
#pragma once

#include "cli/console.h"

/* `json` is one valid JSON value (the library's own). Text that is no JSON ends the json_printer
 * early.
 * */
void cli_print_json(cli_console *console, const char *json);
