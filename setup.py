"""What pyproject.toml cannot say yet.

The extension, which NumPy stands in for where it fails; and the packages: those in `shingling`, and
the migrations, which stand beside it.
"""

from setuptools import Extension, find_packages, setup

KERNEL = Extension(
    "shingling.kernel._kernel", sources=["shingling/kernel/_kernel.c"], optional=True
)
FOUND = find_packages(include=["shingling*"], exclude=["shingling.migrations*"])

setup(
    ext_modules=[KERNEL],
    packages=[*FOUND, "shingling.migrations", "shingling.migrations.versions"],
)
