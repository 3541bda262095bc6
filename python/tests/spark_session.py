# SPDX-License-Identifier: Apache-2.0
"""Sessions of Spark for the tests: one of this process, which all files share, and others of executors."""

import os
import shutil
import sys

import pytest

if shutil.which("java") is None and os.environ.get("CI") != "true":
    pytest.skip("no java to run Spark with", allow_module_level=True)
if os.environ.get("CI") != "true":
    pytest.importorskip("pyspark")
from pyspark.sql import SparkSession

FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"


def start(master, place):
    cluster = master.startswith("local-cluster")
    here = os.path.dirname(os.path.abspath(__file__))  # warm_daemon
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": str(cluster).lower(),  # as its default is; without it there are fewer jobs
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": FAST_START,
        "spark.executor.extraJavaOptions": FAST_START,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.python.daemon.module": "warm_daemon",
        "spark.executor.memory": "1g",
        "spark.local.dir": str(place),
        "spark.eventLog.enabled": str(cluster).lower(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": place.as_uri(),
        # Processes that start where others have the processor.
        "spark.python.authenticate.socketTimeout": "600s",
        "spark.network.timeout": "600s",
        "spark.worker.timeout": "600",
        "spark.sql.broadcastTimeout": "600",
    }
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_HOSTNAME="localhost")
    builder = SparkSession.builder.master(master)
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
