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
 * Each member of an object is a line, and members of inner objects are indented. In a list of
 * objects, each of the first few objects is a line. Any other list is one line. */
#pragma once

#include "cli/console.h"

/* `json` must be one valid JSON value. Invalid JSON ends the output early. */
void cli_print_json(cli_console *console, const char *json);
