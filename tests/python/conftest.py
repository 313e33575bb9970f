import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))


def pytest_collection_modifyitems(items):
    """Under a sanitizer what crashes on purpose ends with a report, and not by a signal."""
    for item in items if os.environ.get("TW_SANITIZED") else ():
        if item.name.endswith("[crashes]"):
            item.add_marker(pytest.mark.skip(reason="the sanitizer answers the signal"))


@pytest.fixture
def threads_as_before():
    """Kernels use as many threads after a test as before it."""
    import tilewright as tw

    count = tw.num_threads()
    yield
    tw.set_num_threads(count)


@pytest.fixture
def fresh_names():
    """Names that symbols are given count from 0."""
    import tilewright as tw

    with tw.name.NameManager():
        yield
