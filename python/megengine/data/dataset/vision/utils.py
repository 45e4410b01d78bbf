# SPDX-License-Identifier: Apache-2.0
"""Files of data sets: default folders, downloads, archives and pictures.

Modules for archives and downloads are imported on use: they take as long as the rest of the
package.
"""

import contextlib
import lzma
import os
import tarfile
import tempfile
import zlib

import numpy as np

from ....core.digest import file_digest
from ....core.opencv import opencv
from ....logger import get_logger

IMG_EXT = (".jpg", ".png", ".jpeg", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

_MOST_ENTRIES = 1 << 20  # entries of an archive; each takes about a kilobyte of memory

logger = get_logger(__name__)


def _default_dataset_root() -> str:
    """The default folder of data sets: ``$MGE_DATASET_ROOT``, or one in the user's cache."""
    root = os.getenv("MGE_DATASET_ROOT")
    if root is None:
        cache = os.getenv("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(cache, "megengine")
    return os.path.expanduser(root)


def calculate_md5(filename: str | os.PathLike) -> str:
    """The MD5 sum of a file in hexadecimal digits.

    Args:
        filename: path of the file.
    """
    return file_digest(filename, "md5")


def load_raw_data_from_url(url: str, filename: str, target_md5: str, raw_data_dir: str) -> None:
    """Make sure that a file is there: it stays if its sum is right, and is fetched otherwise.

    Args:
        url: address of the file.
        filename: its name in the folder.
        target_md5: its MD5 sum.
        raw_data_dir: the folder.
    Raises:
        HTTPDownloadError: it cannot be fetched, or has another sum.
    """
    # It imports HTTP and TLS, and data sets are fetched once.
    from ....utils.http_download import HTTPDownloadError, download_from_url

    path = os.path.join(raw_data_dir, filename)
    if os.path.exists(path):
        if calculate_md5(path) == target_md5:
            return
        logger.warning("%s exists with another sum than %s; it is fetched again", path, target_md5)
    logger.info("fetching %s to %s", url, path)
    download_from_url(url, path)
    found = calculate_md5(path)
    if found != target_md5:
        os.remove(path)
        raise HTTPDownloadError(f"{url} has the MD5 sum {found}, it should be {target_md5}")


def is_img(filename: str) -> bool:
    """Whether a file's name has the suffix of a picture.

    Args:
        filename: name of a file.
    """
    return filename.lower().endswith(IMG_EXT)


def read_image(path: str) -> np.ndarray:
    """A picture's pixels.

    Args:
        path: path of the file.
    Returns:
        (H, W, 3) uint8 in blue, green, red.
    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a picture that OpenCV can read.
    """
    return _read_picture(path, opencv().IMREAD_COLOR)


def _read_picture(path: str, kind: int) -> np.ndarray:
    """The pixels of a picture; ``kind`` is OpenCV's flag for colours or greys."""
    cv2 = opencv()
    if not os.path.exists(path):
        raise FileNotFoundError(f"no such picture: {path}")
    # OpenCV would wait for the writer of a pipe.
    image = None
    if os.path.isfile(path):
        with contextlib.suppress(cv2.error):  # a picture of too many pixels
            image = cv2.imread(path, kind)
    if image is None:
        raise ValueError(f"{path} is not a picture that OpenCV can read")
    return image


def _require_inside(member, to: str, archive: str) -> None:
    target = os.path.normpath(os.path.join(to, member.name))
    if os.path.commonpath((to, target)) != to or not (member.isreg() or member.isdir()):
        raise ValueError(f"{archive} has the entry {member.name!r}, which is not a file inside it")


def _make_own(member) -> None:
    """Drop owner and permissions as tarfile's filter "data" does, which Python has from 3.11.4."""
    member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
    is_program = member.isdir() or member.mode & 0o100
    member.mode = member.mode & 0o755 | 0o600 if is_program else member.mode & 0o644 | 0o600
    if member.isdir():
        member.mode |= 0o700


def _extract(path: str, to: str) -> None:
    with tarfile.open(path, "r:*") as archive:
        members = []
        for member in archive:
            _require_inside(member, to, path)
            _make_own(member)
            members.append(member)
            if len(members) > _MOST_ENTRIES:
                raise ValueError(f"{path} has more than {_MOST_ENTRIES} entries")
        # The loop above refuses all that tarfile's filters refuse.
        trusted = {"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}
        os.makedirs(to, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".untar-", dir=to) as folder:
            archive.extractall(folder, members, **trusted)
            _move_all(folder, to)


def _move_all(folder: str, to: str) -> None:
    """Move the contents of a folder into another one, where a new folder appears as a whole."""
    for name in os.listdir(folder):
        source, target = os.path.join(folder, name), os.path.join(to, name)
        if os.path.isdir(source) and os.path.isdir(target):
            _move_all(source, target)
        else:
            os.replace(source, target)


def untar(path: str, to: str | None = None, remove: bool = False) -> None:
    """Unpack an archive. Entries outside of the folder are refused. After an error nothing is
    unpacked; a new folder of the archive has its name when it is complete.

    Files belong to this user, without setuid bits and without write permission for others.

    Args:
        path: the archive, compressed or not.
        to: the target folder; default: that of the archive.
        remove: delete the archive afterwards.
    Raises:
        FileNotFoundError: there is no such archive.
        ValueError: the archive is damaged, or an entry is a link or a device, or is outside the
            folder; then nothing is unpacked.
    """
    to = os.path.realpath(to or os.path.dirname(path))
    try:
        _extract(path, to)
    except (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OverflowError) as error:
        raise ValueError(f"{path} is not an archive, or is damaged: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{path} is not an archive, or is damaged: {error}") from error
    if remove:
        os.remove(path)


untargz = untar
