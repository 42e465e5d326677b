"""What pyproject.toml cannot say yet: the extension, which NumPy stands in for where it fails."""

from setuptools import Extension, setup

KERNEL = Extension(
    "shingling.kernel._kernel", sources=["shingling/kernel/_kernel.c"], optional=True
)

setup(ext_modules=[KERNEL])
