/* interrupt.h -- whether somebody asked the program to end. */
#ifndef BM_CLI_INTERRUPT_H
#define BM_CLI_INTERRUPT_H

#include <stdbool.h>

/* Once, before anything that may take long. */
void cli_catch_signals(void);
/* True once SIGINT or SIGTERM came. */
bool cli_interrupted(void);
/* The first of them that came; 0: none. */
int cli_stop_signal(void);

#endif
