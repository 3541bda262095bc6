/* bus_error.h -- files that are read as memory (an index) and cannot be read: their disk fails, or somebody cuts
 * them short while they are open. */
#ifndef BM_CLI_BUS_ERROR_H
#define BM_CLI_BUS_ERROR_H

#include <stdbool.h>

/* From now on such a read ends the process with one line on stderr, as JSON or not, and exit code 4. */
void cli_catch_bus_error(bool json);

#endif
