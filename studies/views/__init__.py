"""Pages of the studies. Each module is one page; what it shows is computed in ``studies.services``."""
