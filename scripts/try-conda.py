# SPDX-License-Identifier: Apache-2.0
"""try-conda.py [DIR]: build and test packaging/conda/recipe.yaml where no conda channel can be reached. The channel, DIR/channel, is made here
of what Debian or Ubuntu has installed (scripts/install-deps.sh, ninja-build, patchelf, ocl-icd-libopencl1): each package that the recipe
names has the files of its Debian package, and the compilers are the system's. So this shows that the recipe can be read and solved, that
it names all that the build looks for, where the files come to lie, and that its tests pass; not that conda-forge's packages are so.
Needs PyPI's py-rattler-build. DIR (build/conda) is made anew."""

import pathlib
import platform
import re
import shutil
import subprocess
import sys

import rattler_build

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}[platform.machine()]
# The conda package; Debian's; what it asks of those who are built with it.
LIBRARIES = [
    ("bzip2", "libbz2-dev", True),
    ("libdeflate", "libdeflate-dev", True),
    ("liblzma-devel", "liblzma-dev", True),
    ("libutf8proc", "libutf8proc-dev", True),
    ("lmdb", "liblmdb-dev", True),
    ("lz4-c", "liblz4-dev", True),
    ("ocl-icd", "ocl-icd-libopencl1", True),
    ("opencl-headers", "opencl-c-headers", False),
    ("openssl", "libssl-dev", True),
    ("simdjson", "libsimdjson-dev", True),
    ("xxhash", "libxxhash-dev", True),
    ("zlib", "zlib1g-dev", True),
    ("zstd", "libzstd-dev", True),
]
# As conda-forge's compilers do: nothing is found but what the recipe names.
ACTIVATE = """export CC=/usr/bin/gcc CXX=/usr/bin/g++ PKG_CONFIG_LIBDIR=$PREFIX/lib/pkgconfig
export CMAKE_ARGS="-DCMAKE_BUILD_TYPE=Release -DCMAKE_FIND_ROOT_PATH=$PREFIX -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY"
"""


def output_of(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def stage(debian, place):
    """The headers, the libraries by their SONAMEs, and pkg-config files of a package, below one prefix."""
    version = output_of("dpkg-query", "-W", "-f", "${Version}", debian).split(":")[-1].split("-")[0].split("+")[0].split("~")[0]
    for name in output_of("dpkg", "-L", debian).splitlines():
        path = pathlib.Path(name)
        if not path.is_file():
            continue
        parts = [p for p in path.parts[1:] if p not in ("usr", output_of("gcc", "-print-multiarch").strip())]
        if parts[0] == "include" or parts[-2:-1] == ["pkgconfig"]:
            to = place.joinpath(*parts)
            to.parent.mkdir(parents=True, exist_ok=True)
            if parts[0] == "include":
                shutil.copyfile(path, to)
            else:
                flags = " ".join(f"-l{w[2:]}" for w in path.read_text().split() if w.startswith("-l"))
                to.write_text(
                    f"Name: {path.stem}\nDescription: of Debian\nVersion: {version}\nLibs: -L${{pcfiledir}}/.. {flags}\n"
                    "Cflags: -I${pcfiledir}/../../include\n"
                )
        elif parts[0] == "lib" and ".so" in path.name:
            (place / "lib").mkdir(parents=True, exist_ok=True)
            soname = re.search(r"SONAME +(\S+)", output_of("objdump", "-p", name)).group(1)
            shutil.copyfile(path.resolve(), place / "lib" / soname)
            if path.name.endswith(".so") and path.name != soname:
                (place / "lib" / path.name).symlink_to(soname)
    return version


def build(recipe, place, variants=None, test="skip"):
    variant = {"target_platform": [TARGET], **(variants or {})}
    for rendered in recipe.render(rattler_build.VariantConfig(variant)):
        result = rendered.run_build(
            tool_config=rattler_build.ToolConfiguration(test_strategy=test),
            output_dir=place / "channel",
            channels=[(place / "channel").as_uri()],
            env_isolation=rattler_build.EnvironmentIsolation.CONDA_BUILD,
        )
        print(*result.packages, sep="\n")


def main():
    place = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/conda").resolve()
    shutil.rmtree(place, ignore_errors=True)
    (place / "staged").mkdir(parents=True)
    made = []
    for name, debian, asks in LIBRARIES:
        version = stage(debian, place / "staged" / name)
        made.append((name, version, asks, f"cp -a {place}/staged/{name}/. $PREFIX"))
    (place / "activate.sh").write_text(ACTIVATE)
    for name in (f"gcc_{TARGET}", f"gxx_{TARGET}", f"sysroot_{TARGET}", "cmake", "ninja", "pkg-config"):
        to = f"$PREFIX/etc/conda/activate.d/{name}.sh"
        made.append((name, "1", False, f"install -D -m 644 {place}/activate.sh {to}" if name.startswith("gcc") else "true"))
    for name, version, asks, script in made:
        recipe = {
            "package": {"name": name, "version": version},
            "build": {"script": [script], "dynamic_linking": {"binary_relocation": False}},
        }
        if asks:
            recipe["requirements"] = {"run_exports": [f"{name} {version}.*"]}
        build(rattler_build.Stage0Recipe.from_dict(recipe), place)
    compilers = {"c_compiler": ["gcc"], "cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"]}
    build(rattler_build.Stage0Recipe.from_file(ROOT / "packaging/conda/recipe.yaml"), place, compilers, "native")


main()
