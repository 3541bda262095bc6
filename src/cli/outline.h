/* outline.h -- a JSON report as an outline for people:
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
#ifndef BM_CLI_OUTLINE_H
#define BM_CLI_OUTLINE_H

#include "cli/voice.h"

/* `json` is one valid JSON value (the library's own). What is not JSON ends the outline early. */
void cli_print_outline(cli_voice *voice, const char *json);

#endif
