/* SPDX-License-Identifier: Apache-2.0 */
/* The program (src/cli), whose main is linked by this name: what the command `bandmill` of the
 * wheel runs. */
#include <locale.h>
#include <stdlib.h>

#include "cli/presets.h" /* which preset= takes */

int bm_program_main(int argc, char **argv);

/* Does not return: what the program's end does (buffers, handlers of drivers) is done, and Python,
 * which has nothing left to do, is not asked. Python had set the user's locale. */
static void bm_py_program(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    exit(bm_program_main(argc, argv));
}
