# SPDX-License-Identifier: Apache-2.0
"""Write the list of materials of a release, as SPDX 2.3 in JSON.

    make_sbom.py VERSION FOLDER OUTPUT

The files are those in FOLDER. The packages are those that NOTICE lists, in the versions that Debian
has installed: they are compiled in, linked, or copied into wheels.
"""

import hashlib
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from spdx_tools.spdx.model import (
    Actor,
    ActorType,
    Checksum,
    ChecksumAlgorithm,
    CreationInfo,
    Document,
    ExternalPackageRef,
    ExternalPackageRefCategory,
    File,
    Package,
    Relationship,
    RelationshipType,
    SpdxNoAssertion,
)
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.write_anything import write_file

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT, ENGINE = "SPDXRef-DOCUMENT", "SPDXRef-mge"
# A package of Debian as MgeLicences.cmake names it.
LISTS = re.compile(r"set\((?:compiled_in|copied_into_wheels) ([^)]+)\)")


def debian_packages():
    """Names and versions of the installed packages whose code is in the artefacts."""
    text = (ROOT / "cmake/MgeLicences.cmake").read_text()
    names = sorted({name for names in LISTS.findall(text) for name in names.split()})
    form = "${binary:Package} ${Version} ${source:Package}\n"
    done = subprocess.run(
        ["dpkg-query", "--show", "--showformat", form, *names], stdout=subprocess.PIPE, text=True
    )
    for line in sorted(done.stdout.splitlines()):
        name, version, source = line.split()
        yield name.partition(":")[0], version, source


def package(identity, name, version, **fields):
    return Package(
        spdx_id=identity,
        name=name,
        version=version,
        download_location=SpdxNoAssertion(),
        files_analyzed=False,
        **fields,
    )


def checked_file(path):
    content = path.read_bytes()
    return File(
        name=f"./{path.name}",
        spdx_id="SPDXRef-file-" + re.sub(r"[^A-Za-z0-9.]", "-", path.name),
        checksums=[
            Checksum(ChecksumAlgorithm.SHA1, hashlib.sha1(content).hexdigest()),
            Checksum(ChecksumAlgorithm.SHA256, hashlib.sha256(content).hexdigest()),
        ],
    )


def list_of_materials(version, folder):
    seconds = int(os.environ["SOURCE_DATE_EPOCH"])
    document = Document(
        CreationInfo(
            spdx_version="SPDX-2.3",
            spdx_id=DOCUMENT,
            name=f"mge-{version}",
            document_namespace=f"https://spdx.org/spdxdocs/mge-{version}-{seconds}",
            creators=[Actor(ActorType.TOOL, "mge-scripts-release")],
            created=datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None),
        )
    )
    relate = document.relationships.append
    document.packages.append(package(ENGINE, "mge", version))
    relate(Relationship(DOCUMENT, RelationshipType.DESCRIBES, ENGINE))
    for name, package_version, source in debian_packages():
        identity = f"SPDXRef-debian-{name}"
        place = f"pkg:deb/debian/{name}@{package_version}?upstream={source}"
        reference = ExternalPackageRef(
            ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", place.replace("+", "%2B")
        )
        document.packages.append(
            package(identity, name, package_version, external_references=[reference])
        )
        relate(Relationship(ENGINE, RelationshipType.DEPENDS_ON, identity))
    for path in sorted(folder.iterdir()):
        if path.suffix in (".whl", ".deb", ".gz"):
            file = checked_file(path)
            document.files.append(file)
            relate(Relationship(file.spdx_id, RelationshipType.GENERATED_FROM, ENGINE))
    return document


if __name__ == "__main__":
    document = list_of_materials(sys.argv[1], Path(sys.argv[2]))
    if faults := validate_full_spdx_document(document):
        sys.exit("\n".join(fault.validation_message for fault in faults))
    write_file(document, sys.argv[3], validate=False)
