"""What executors need of this package, as one file that Spark sends them.

Pure Python only: pyarrow, numpy, twisted, crc32c and cramjam must be there on every node.
"""

import zipfile
from pathlib import Path
from typing import Final

import kafkalike
import spark_pipeline

_PACKAGES: Final = (kafkalike, spark_pipeline)


def write_package(target: Path) -> Path:
    """Write both packages into a zip file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            (folder,) = package.__path__
            root = Path(folder)
            for path in sorted(root.rglob("*.py")):
                archive.write(path, path.relative_to(root.parent))
    return target
