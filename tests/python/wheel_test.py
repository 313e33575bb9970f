"""The wheel in an empty virtual environment, with the sources gone."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import tilewright as tw
from tilewright import te
assert Path(tw.__file__).is_relative_to(sys.prefix), tw.__file__
A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
s[B].parallel(s[B].split(B.op.axis[0], factor=16)[0])
f = tw.build(s, [A, B])
f.export_library("f.so")
b = np.zeros(64, "float32")
tw.runtime.load_module("f.so")(np.ones(64, "float32"), b)
assert (b == 2).all()
"""


def options_of_release():
    """Those that decide what is compiled, as the release build has them: the wheel's objects are then in the cache."""
    cache = (ROOT / "build" / "release" / "CMakeCache.txt").read_text()
    names = "TW_JOIN|CMAKE_COMPILE_WARNING_AS_ERROR"
    return [f"-D{name}={value}" for name, value in re.findall(rf"^({names}):\w+=(.*)$", cache, re.MULTILINE)]


def run(*arguments, **options):
    result = subprocess.run(arguments, capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{arguments}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy of the sources, which is then taken away."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = run("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    # The path of pybind11's headers from the sources is then that of the checkout: ccache compiles nothing again.
    (source / ".venv").symlink_to(sys.prefix)
    pybind11 = source / ".venv" / Path(__import__("pybind11").get_cmake_dir()).relative_to(sys.prefix)
    run(
        sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source),
        env=os.environ | {"CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("TW_JOBS", "2"), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                          "SKBUILD_CMAKE_ARGS": ";".join([f"-Dpybind11_DIR={pybind11}", *options_of_release()])})
    shutil.rmtree(source)
    (path,) = folder.glob("tilewright-*.whl")
    return path


def test_the_wheel_builds_and_tunes(wheel, tmp_path):
    environment = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install", "--no-deps", str(wheel))
    # NumPy and rich come from where they are, without the .pth files that lie there.
    site = run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    Path(site, "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")

    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TILEWRIGHT_WORKER")}
    run(str(python), "-c", SCRIPT, cwd=tmp_path, env=clean)
    command = environment / "bin" / "autotune"
    size = "gemm:m=16,n=16,k=16"
    out = run(str(command), size, "--trials=4", "--threads=1", "--workers=1", cwd=tmp_path, env=clean)
    assert "replay: " in out
    assert "same" in run(str(command), "--replay", size, "--threads=1", cwd=tmp_path, env=clean)


def test_what_is_in_the_wheel(wheel):
    import zipfile

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for name in ("tilewright-worker", "libtilewright_runtime.so", "py.typed", "__init__.py", "_core/__init__.pyi"):
        assert f"tilewright/{name}" in names
    assert not [name for name in names if "/tests/" in name or name.endswith((".cc", ".h", ".o", ".a"))]
