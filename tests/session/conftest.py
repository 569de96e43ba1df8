"""An installation of its own, for the tests whose processes have to be real."""

from tests.service.conftest import installation

__all__ = ["installation"]
