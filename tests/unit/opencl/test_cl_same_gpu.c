/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU under two platforms, and cases that only look so. The rows are made up;
 * tests/fault/icd/same_gpu.sh shows that drivers are asked for their addresses. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "opencl/cl_listing.h"

typedef struct row {
    const char *spec, *platform, *name, *pci, *uuid;
    uint64_t gigabytes;
    bool out_of_use;
    const char *same; /* expected: "SPEC BY"; NULL: none */
} row;

static void expect(const char *what, const row *rows, size_t n)
{
    bm_device_info infos[8];
    cr_assert_leq(n, 8);
    memset(infos, 0, sizeof infos);
    for (size_t i = 0; i < n; i++) {
        bm_device_info *info = &infos[i];
        snprintf(info->spec, sizeof info->spec, "%s", rows[i].spec);
        snprintf(info->platform, sizeof info->platform, "%s", rows[i].platform);
        snprintf(info->name, sizeof info->name, "%s", rows[i].name);
        snprintf(info->pci, sizeof info->pci, "%s", rows[i].pci != NULL ? rows[i].pci : "");
        snprintf(info->uuid, sizeof info->uuid, "%s", rows[i].uuid != NULL ? rows[i].uuid : "");
        snprintf(info->same_as, sizeof info->same_as, "left over");
        info->memory_bytes = rows[i].gigabytes << 30;
        info->kind = BM_DEVICE_CL_GPU;
        info->usable = !rows[i].out_of_use;
    }
    bm_cl_mark_same(infos, n);
    for (size_t i = 0; i < n; i++) {
        char got[48] = "";
        if (infos[i].same_as[0] != '\0')
            snprintf(got, sizeof got, "%s %s", infos[i].same_as, infos[i].same_by);
        cr_assert_str_eq(got, rows[i].same != NULL ? rows[i].same : "", "%s: row %zu", what, i);
    }
}

#define EXPECT(what, ...)                                                                          \
    expect(what, (const row[]){__VA_ARGS__}, sizeof((const row[]){__VA_ARGS__}) / sizeof(row))

#define AMD "AMD Accelerated Parallel Processing"
#define NV  "NVIDIA CUDA"
#define PCI "0000:41:00.0"

Test(cl_same_gpu, an_address_tells_and_the_vendors_own_driver_is_preferred)
{
    EXPECT("rusticl last", {"opencl:0.0", AMD, "gfx1030", PCI, NULL, 16, false, NULL},
           {"opencl:1.0", "rusticl", "AMD Radeon RX 6800", PCI, NULL, 15, false, "opencl:0.0 pci"});
    EXPECT("rusticl first",
           {"opencl:0.0", "rusticl", "AMD Radeon RX 6800", PCI, NULL, 15, false, "opencl:1.0 pci"},
           {"opencl:1.0", AMD, "gfx1030", PCI, NULL, 16, false, NULL});
    EXPECT("the vendor's cannot be used",
           {"opencl:0.0", "rusticl", "A", PCI, NULL, 15, false, NULL},
           {"opencl:1.0", AMD, "gfx1030", PCI, NULL, 16, true, "opencl:0.0 pci"});
    EXPECT("other addresses", {"opencl:0.0", AMD, "gfx1030", PCI, NULL, 16, false, NULL},
           {"opencl:1.0", "rusticl", "gfx1030", "0000:42:00.0", NULL, 16, false, NULL});
    EXPECT("three", {"opencl:0.0", "clvk", "A", PCI, NULL, 16, false, "opencl:2.0 pci"},
           {"opencl:1.0", "rusticl", "B", PCI, NULL, 16, false, "opencl:2.0 pci"},
           {"opencl:2.0", AMD, "C", PCI, NULL, 16, false, NULL});
}

Test(cl_same_gpu, equal_uuids_tell_and_other_ones_do_not)
{
    EXPECT("equal", {"opencl:0.0", NV, "A", NULL, "1", 16, false, NULL},
           {"opencl:1.0", "Clover", "B", NULL, "1", 16, false, "opencl:0.0 uuid"});
    EXPECT("one has no PCI address", {"opencl:0.0", NV, "A", PCI, "1", 16, false, NULL},
           {"opencl:1.0", "Clover", "B", NULL, "1", 16, false, "opencl:0.0 uuid"});
    EXPECT("others, at one address", {"opencl:0.0", NV, "A", PCI, "1", 16, false, NULL},
           {"opencl:1.0", "rusticl", "B", PCI, "2", 16, false, "opencl:0.0 pci"});
    EXPECT("others, and nothing else is known", {"opencl:0.0", NV, "A", NULL, "1", 16, false, NULL},
           {"opencl:1.0", NV, "A", NULL, "2", 16, false, NULL});
}

Test(cl_same_gpu, parts_of_a_gpu_under_one_platform_are_devices_of_their_own)
{
    EXPECT("two of one address", {"opencl:0.0", NV, "MIG 3g", PCI, "1", 40, false, NULL},
           {"opencl:0.1", NV, "MIG 3g", PCI, "2", 40, false, NULL});
    EXPECT("opencl:1.0 and opencl:10.0", {"opencl:1.0", NV, "A", PCI, NULL, 40, false, NULL},
           {"opencl:10.0", NV, "A", PCI, NULL, 40, false, "opencl:1.0 pci"});
}

Test(cl_same_gpu, without_addresses_name_and_memory_tell_one_for_one)
{
    EXPECT("two drivers", {"opencl:0.0", NV, "H200", NULL, NULL, 139, false, NULL},
           {"opencl:0.1", NV, "H200", NULL, NULL, 139, false, NULL},
           {"opencl:1.0", NV, "H200", NULL, NULL, 139, false, "opencl:0.0 name"},
           {"opencl:1.1", NV, "H200", NULL, NULL, 139, false, "opencl:0.1 name"},
           {"opencl:1.2", NV, "H200", NULL, NULL, 139, false, NULL});
    EXPECT("one of them names its address", {"opencl:0.0", NV, "H200", PCI, NULL, 139, false, NULL},
           {"opencl:1.0", NV, "H200", NULL, NULL, 139, false, "opencl:0.0 name"});
    EXPECT("each names another kind of address",
           {"opencl:0.0", NV, "H200", PCI, NULL, 139, false, NULL},
           {"opencl:1.0", NV, "H200", NULL, "1", 139, false, "opencl:0.0 name"});
    EXPECT("other memory", {"opencl:0.0", NV, "H200", NULL, NULL, 139, false, NULL},
           {"opencl:1.0", NV, "H200", NULL, NULL, 80, false, NULL});
}

Test(cl_same_gpu, emulators_and_cpus_are_no_gpu)
{
    bm_device_info cpus[2] = {
        {.spec = "opencl:0.0", .kind = BM_DEVICE_CL_CPU, .usable = true, .pci = PCI},
        {.spec = "opencl:1.0", .kind = BM_DEVICE_CL_CPU, .usable = true, .pci = PCI}};
    bm_cl_mark_same(cpus, 2);
    cr_assert_str_empty(cpus[1].same_as);
    EXPECT("an emulator", {"opencl:0.0", NV, "A", PCI, NULL, 16, false, NULL},
           {"opencl:1.0", "Oclgrind", "Oclgrind Simulator", PCI, NULL, 16, false, NULL});
    static const char *const platforms[] = {
        "Oclgrind", "Intel(R) FPGA Emulation Platform for OpenCL(TM)", "NVIDIA CUDA", "rusticl"};
    for (size_t i = 0; i < 4; i++) {
        bm_device_info info = {.kind = BM_DEVICE_CL_GPU};
        snprintf(info.platform, sizeof info.platform, "%s", platforms[i]);
        cr_assert_eq(bm_cl_is_emulator(&info), i < 2, "%s", platforms[i]);
    }
}
