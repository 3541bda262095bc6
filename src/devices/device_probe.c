/* device_probe.c -- what the program runs in a process of its own, for the library.
 *
 * Tests: tests/parity/test_probe_opencl.c, tests/cli/cases/devices.sh */
#include "opencl/opencl_backend.h"
#include "program/program.h"

bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err)
{
    return bm_backend_opencl_try(device, cache_dir, err);
}
