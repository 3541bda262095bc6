# SPDX-License-Identifier: Apache-2.0
"""sql_engines.py -- runs the SQL of a page: with DuckDB inside this process, or with a PostgreSQL server that lives for one script.

Rows are printed as `psql -At` does: one a line, tabs between the columns, nothing for NULL."""
import glob
import os
import pwd
import shutil
import subprocess


class Missing(Exception):
    """The engine is not on this machine."""


def duckdb(script, folder):
    """What the last statement selects."""
    try:
        import duckdb as engine  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Missing("the Python package duckdb") from error
    before = os.getcwd()
    os.chdir(folder)
    try:
        with engine.connect() as connection:
            rows = connection.execute(script).fetchall()
    finally:
        os.chdir(before)
    return "".join("\t".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)


def server_programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    if not found or not shutil.which("psql"):
        raise Missing("PostgreSQL (the packages postgresql and postgresql-client)")
    return os.path.dirname(found[-1])


def as_server(command, owner):
    """A server does not run as root: then as the user of Debian's package."""
    return ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"] + command if owner else command


def postgresql(script, folder, scratch):
    """What psql prints for a script, on a new server without a network, whose data lie below `scratch`."""
    programs, owner = server_programs(), None
    if os.geteuid() == 0:
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError as error:
            raise Missing("the user postgres, to run a server as") from error
    data = os.path.join(scratch, "pg")
    if not os.path.isdir(data):
        os.makedirs(data)
        if owner:
            os.chmod(scratch, 0o755)
            os.chown(data, owner.pw_uid, owner.pw_gid)
        subprocess.run(as_server([f"{programs}/initdb", "-D", f"{data}/d", "-A", "trust", "-U", "reader", "--no-sync", "-E", "UTF8"],
                                 owner), check=True, capture_output=True, cwd=data)
    control = [f"{programs}/pg_ctl", "-D", f"{data}/d", "-w", "-t", "600", "-l", f"{data}/log"]
    subprocess.run(as_server(control + ["-o", f"-k {data} -c listen_addresses='' -c fsync=off", "start"], owner), check=True,
                   capture_output=True, cwd=data)
    try:
        done = subprocess.run(["psql", "-h", data, "-U", "reader", "-d", "postgres", "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1"],
                              input=script.encode(), cwd=folder, capture_output=True, check=False)
    finally:
        subprocess.run(as_server(control + ["-m", "fast", "stop"], owner), check=True, capture_output=True, cwd=data)
    return (done.stdout + done.stderr).decode()
