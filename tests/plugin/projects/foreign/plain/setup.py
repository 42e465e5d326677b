# As `scrapyd-deploy` makes it where there is none.
from setuptools import find_packages, setup

setup(
    name="plain",
    version="1.0",
    packages=find_packages(),
    entry_points={"scrapy": ["settings = plain.settings"]},
)
