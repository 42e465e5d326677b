"""What pyproject.toml cannot say yet.

The extension, which NumPy stands in for where it fails; and the packages: those in `shingling`, and
the migrations, which stand beside it. One extension fits every CPython from 3.11 on. With
SHINGLING_PURE=1 there is none, and the wheel fits every Python and machine.
"""

import os

from setuptools import Extension, find_packages, setup

KERNEL = Extension(
    "shingling.kernel._kernel",
    sources=["shingling/kernel/_kernel.c"],
    py_limited_api=True,
    optional=True,
)
FOUND = find_packages(include=["shingling*"], exclude=["shingling.migrations*"])
IS_PURE = os.environ.get("SHINGLING_PURE") == "1"

setup(
    ext_modules=[] if IS_PURE else [KERNEL],
    packages=[*FOUND, "shingling.migrations", "shingling.migrations.versions"],
    py_modules=["scrapy_shingling"],  # the first guess by the name of the distribution
    options={} if IS_PURE else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
