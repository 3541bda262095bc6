#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheel-licences.py WHEEL EXPRESSION FILE... -- a wheel that carries other projects' libraries names their licences in its metadata too:
`EXPRESSION` is put behind its License-Expression with AND, and each FILE into its folder of licences, with a line License-File (PEP 639)."""

import base64
import hashlib
import pathlib
import re
import sys
import zipfile


def main():
    wheel, expression, *files = sys.argv[1:]
    path = pathlib.Path(wheel)
    with zipfile.ZipFile(path) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    (folder,) = {info.filename.split("/")[0] for info, _ in members if re.match(r"[^/]+\.dist-info/METADATA$", info.filename)}
    added = {f"bundled/{pathlib.Path(name).name}": pathlib.Path(name).read_bytes() for name in files}

    def changed(info, data):
        if info.filename == f"{folder}/METADATA":
            lines = "".join(f"License-File: {name}\n" for name in added)
            text, n = re.subn(r"^(License-Expression: .*)\n", rf"\g<1> AND {expression}\n{lines}", data.decode(), count=1, flags=re.M)
            if n != 1:
                sys.exit(f"wheel-licences.py: {wheel}: METADATA has no line License-Expression")
            return text.encode()
        return data

    members = [(info, changed(info, data)) for info, data in members if info.filename != f"{folder}/RECORD"]
    date = members[0][0].date_time
    members += [(zipfile.ZipInfo(f"{folder}/licenses/{name}", date), data) for name, data in added.items()]
    record = ""
    for info, data in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{info.filename},sha256={digest},{len(data)}\n"
    record += f"{folder}/RECORD,,\n"
    members.append((zipfile.ZipInfo(f"{folder}/RECORD", date), record.encode()))
    new = path.with_suffix(".new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in members:
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = info.external_attr or 0o100644 << 16
            archive.writestr(info, data)
    new.replace(path)


main()
