"""The type stubs say what is there."""

import ast
import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load():
    spec = importlib.util.spec_from_file_location("make_stubs", ROOT / "python/stubs/make_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stubs_are_current():
    make_stubs = load()
    for name, text in make_stubs.stubs().items():
        assert "tw::" not in text, "a class is named before it is registered"
        ast.parse(text)
        stored = (make_stubs.FOLDER / name).read_text()
        assert stored == text, f"{name} is out of date: ./tw python python/stubs/make_stubs.py"


def test_every_name_of_the_package_is_documented():
    import inspect

    import tilewright as tw

    missing = []
    for module in (tw, tw.te, tw.tir, tw.topi, tw.topi.nn, tw.topi.vision, tw.topi.vision.ssd, tw.nd, tw.target, tw.transform, tw.runtime, tw.autotune):
        for name, value in vars(module).items():
            ours = getattr(value, "__module__", "").startswith("tilewright")
            if not name.startswith("_") and callable(value) and ours and not inspect.isclass(value):
                if not (value.__doc__ or "").strip():
                    missing.append(f"{module.__name__}.{name}")
    assert not missing, missing
