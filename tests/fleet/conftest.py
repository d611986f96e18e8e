"""The environment of the fleet engines, built once."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("fleet_env", Path(__file__).resolve().parent / "build_env.py")
fleet_env = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fleet_env)


@pytest.fixture(scope="session")
def engines():
    """The folder of a virtual environment with Ray, Spark and a Java."""
    return fleet_env.environment()
