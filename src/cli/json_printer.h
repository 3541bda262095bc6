/* SPDX-License-Identifier: Apache-2.0 */
/* json_printer.h -- prints a JSON report as an outline for people:
 *
 *     kind: signatures
 *     counts:
 *       documents: 1000
 *     inputs:
 *       - file: a.jsonl, bytes: 1234
 *       - ... and 37 more (--json shows all)
 *
 * Each member of an object takes a line, indented below the first level. A list of objects takes a
 * line for each of the first few; a list of anything else takes one line. */
#pragma once

#include "cli/console.h"

/* `json` is one valid JSON value (the library's own). Invalid JSON ends the output early. */
void cli_print_json(cli_console *console, const char *json);
