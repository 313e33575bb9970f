# SPDX-License-Identifier: Apache-2.0
"""One owner of the thread count: our pool beside OpenMP and BLAS libraries in one process."""

import ctypes
import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import te


def loaded(part):
    """The first loaded library with that part in its file name."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if part in os.path.basename(path):
            return ctypes.CDLL(path)
    return None


def worker_ticks():
    """CPU time of each thread of the pool, clock ticks."""
    ticks = {}
    for task in Path("/proc/self/task").iterdir():
        name, _, fields = (task / "stat").read_text().rpartition(")")
        if "(tilewright-" in name:
            user, system = fields.split()[11:13]
            ticks[task.name] = int(user) + int(system)
    return ticks


def workers_come_to_rest():
    """Soon, on a busy machine; one that spins never does."""
    for _ in range(20):
        before = worker_ticks()
        time.sleep(0.3)
        if worker_ticks() == before:
            return True
    return False


pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture(scope="module")
def kernel():
    A = te.placeholder((64, 256), name="A")
    B = te.compute((64, 256), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    f = tw.build(s, [A, B])
    x, y = np.zeros((64, 256), "float32"), np.zeros((64, 256), "float32")
    return lambda: f(x, y)


def test_numpys_blas_follows():
    blas = loaded("openblas")
    if blas is None:
        pytest.skip("NumPy uses another BLAS here")
    names = [prefix + "openblas_get_num_threads" + suffix for prefix in ("scipy_", "") for suffix in ("64_", "")]
    count = next(getattr(blas, name) for name in names if hasattr(blas, name))
    for n in (2, 1):
        told = tw.set_num_threads(n)
        assert any("openblas" in name for name in told)
        assert count() == tw.num_threads() == n


def test_openmp_follows():
    try:
        openmp = ctypes.CDLL("libgomp.so.1")
    except OSError:
        pytest.skip("no libgomp here")
    for n in (3, 1):
        tw.set_num_threads(n)
        assert openmp.omp_get_max_threads() == n


# Its OpenMP, the MKL inside it, and threads that start later; in a process that may load it.
TORCH_FOLLOWS = """
import threading, torch, tilewright as tw

def numbers():
    mkl = [line.split()[-1] for line in torch.__config__.parallel_info().splitlines() if "mkl_get_max_threads" in line]
    return torch.get_num_threads(), [int(number) for number in mkl]

def check(n):
    found, mkl = numbers()
    assert found == n and set(mkl) <= {n}, (n, found, mkl)

def check_in_another_thread(n):
    found = []
    thread = threading.Thread(target=lambda: found.append((torch.zeros(1), torch.get_num_threads())[1]))
    thread.start()
    thread.join()
    assert found == [n], (n, found)

for n in (2, 1, 3):
    torch.set_num_threads(4)  # what PyTorch was told itself counts no longer
    told = tw.set_num_threads(n)
    assert any("torch" in name for name in told), told
    check(n)
    check_in_another_thread(n)
"""


def test_torch_follows():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    result = subprocess.run([sys.executable, "-c", TORCH_FOLLOWS], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_number_that_makes_no_sense_changes_nothing():
    tw.set_num_threads(2)
    with pytest.raises(tw.UserError):
        tw.set_num_threads(0)
    assert tw.num_threads() == 2


def test_workers_sleep_after_their_spin(kernel):
    tw.set_num_threads(3)
    tw.runtime.configure_threads(spin_microseconds=2000)
    try:
        for _ in range(3):
            kernel()
            np.ones((64, 64), "float32") @ np.ones((64, 64), "float32")
        assert len(worker_ticks()) == 2
        assert workers_come_to_rest()
        tw.runtime.configure_threads(spin_microseconds=1e8)
        kernel()
        tw.runtime.park_threads()  # which a spin of a hundred seconds does not keep
        assert workers_come_to_rest()
    finally:
        tw.runtime.configure_threads(spin_microseconds=50)


def test_workers_are_pinned_and_let_go(kernel):
    tw.set_num_threads(3)
    kernel()
    try:
        for pin, cpus in ((True, 1), (False, len(os.sched_getaffinity(0)))):
            tw.runtime.configure_threads(pin=pin)
            assert [len(os.sched_getaffinity(int(thread))) for thread in worker_ticks()] == [cpus] * 2
    finally:
        tw.runtime.configure_threads(pin=False)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "2,1"}, 2),
        ({"OMP_NUM_THREADS": "3", "TILEWRIGHT_NUM_THREADS": "2"}, 2),
    ],
)
def test_one_variable_sets_all(variables, expected):
    code = "import tilewright as tw; print(tw.num_threads())"
    clean = {k: v for k, v in os.environ.items() if not re.search("NUM_THREADS", k)}
    run = subprocess.run([sys.executable, "-c", code], env=clean | variables, capture_output=True, text=True, check=True)
    assert run.stdout == f"{expected}\n"
