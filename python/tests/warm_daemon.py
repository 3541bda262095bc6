# SPDX-License-Identifier: Apache-2.0
"""The process of Spark's that forks workers, as the tests want it: what each worker would do over again is done once.

All that they import is imported; what is there is frozen, for they look through it for garbage after every task; archives of
pyspark, whose lists of contents they would read again, are off the path (pyspark is installed beside them).
"""

import gc
import importlib
import sys

from pyspark import daemon

if __name__ == "__main__":
    for name in ("pandas", "pyarrow.compute", "pyarrow.pandas_compat", "pyspark.worker", "bandmill.spark"):
        importlib.import_module(name)
    sys.path[:] = [place for place in sys.path if not place.endswith(".zip")]
    for place in [place for place in sys.path_importer_cache if ".zip" in place]:
        del sys.path_importer_cache[place]
    gc.collect()
    gc.freeze()
    daemon.manager()
