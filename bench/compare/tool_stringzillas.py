# SPDX-License-Identifier: Apache-2.0
"""stringzillas-cpus: rolling fingerprints of 128 dimensions over windows of 24 bytes. It knows no words, so the shingles
are others; it has no LSH, so bands are sorted with NumPy, which is ours."""
import adapter
import numpy
import stringzilla
import stringzillas

WINDOW_BYTES = 24


def sign(texts, job):
    scope = stringzillas.DeviceScope(cpu_cores=job.threads)
    engine = stringzillas.Fingerprints(ndim=job.perms, window_widths=numpy.array([WINDOW_BYTES], dtype=numpy.uint64),
                                       capabilities=scope)
    with job.stage("load"):
        texts = stringzilla.Strs(texts)
    with job.stage("sign"):  # windows within
        return engine(texts, device=scope)[0]


def pairs(job):
    matrix = sign(job.read(), job)
    with job.stage("bands"):
        return adapter.pairs_of_bands(numpy.asarray(matrix), job.bands, job.rows)


if __name__ == "__main__":
    adapter.main("stringzillas-cpus", sign, pairs)
