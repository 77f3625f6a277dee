"""Which folders make up the distribution. Everything else about it is in pyproject.toml.

Templates, style sheets, scripts and documentation stand beside the packages in a checkout. In a wheel they
lie inside ``rlvram_site``, where ``rlvram_site.settings`` looks for them.
"""

from setuptools import find_namespace_packages, setup

PACKAGES = ["rlvram_site", "studies", "admission", "host", "notices", "operating", "search"]
OUTSIDE = {f"rlvram_site.files.{name}": name for name in ("templates", "static", "docs")}

setup(
    packages=[
        *find_namespace_packages(include=[name for top in PACKAGES for name in (top, f"{top}.*")]),
        *OUTSIDE,
    ],
    package_dir=OUTSIDE,
    package_data={
        "": ["**/*.json", "**/*.gz", "samples/new-study/**/*"],
        **{name: ["**/*"] for name in OUTSIDE},
    },
)
