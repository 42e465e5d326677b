"""What pyproject.toml cannot say yet: the extension, which NumPy stands in for where it fails."""

from setuptools import Extension, setup

setup(ext_modules=[Extension("shingling._kernel", sources=["shingling/_kernel.c"], optional=True)])
