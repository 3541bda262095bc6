/* program.h -- between the library and its own program, and nobody else: not installed, not
 * exported.
 *
 * A driver's compiler may abort, hang or call exit; so the library has it tried in a process of its
 * own, which is this program with the command __probe-opencl. And a thread that waits for ever in
 * a driver keeps a process from ending in the usual way. */
#ifndef BM_PROGRAM_PROGRAM_H
#define BM_PROGRAM_PROGRAM_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Build the kernels of one OpenCL device and compare one known answer: what `bandmill
 * __probe-opencl DEVICE CACHE_DIR` runs. `device` is that command's own language (cl_probe.c). */
bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err);

/* Threads that wait for ever in the driver of a device which stopped answering. A process that has
 * some should end by _exit once its output is written: exit handlers of the driver may wait for
 * them. Any thread. */
uint32_t bm_devices_left_behind(void);

#endif
