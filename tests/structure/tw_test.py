"""`tw` on machines that lack something: one clear line, and no more. The machines are directories of fake programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tree

# What tw uses before it has installed anything: all of it is in every Debian system.
ESSENTIAL = "awk cat chmod cmp df dirname env flock grep head id mkdir mktemp nproc readlink rm sed sh tail tee touch tr".split()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "a checkout"
    root.mkdir()
    shutil.copy(tree.ROOT / "tw", root)
    shutil.copy(tree.ROOT / "CMakePresets.json", root)
    shutil.copytree(tree.ROOT / "packages", root / "packages")
    return root


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A bin directory of essential programs only, on which no package is installed and nothing can be reached."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ESSENTIAL:
        path = shutil.which(program)
        assert path
        (programs / program).symlink_to(path)
    fake(programs, "dpkg-query", "exit 1")
    fake(programs, "apt-get", "echo 'E: Unable to locate package cmake'; exit 100")
    fake(programs, "id", "echo 0")
    return programs


def fake(programs: Path, name: str, body: str) -> None:
    (programs / name).unlink(missing_ok=True)
    (programs / name).write_text(f"#!/bin/sh\n{body}\n")
    (programs / name).chmod(0o755)


def all_installed(programs: Path) -> None:
    fake(programs, "dpkg-query", """shift 3; for package in "$@"; do echo "ii $package"; done""")


def equip_to_build(checkout: Path, programs: Path) -> Path:
    """A .venv, cmake and ninja that only note what they are called for; returns the notes."""
    python = checkout / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    fake(python.parent, "python", f"""[ "$1" = -m ] || echo '{checkout}'""")
    (checkout / ".venv/.recipe").write_text(f"{checkout}\n")
    notes = checkout / "notes.txt"
    fake(programs, "cmake", f"""echo cmake "$@" >>'{notes}'; mkdir -p build/release; touch build/release/build.ninja""")
    fake(programs, "ninja", f"""echo ninja >>'{notes}'""")
    return notes


def tw(checkout: Path, machine: Path, *arguments: str) -> tuple[int, list[str]]:
    """Exit status and lines printed to standard error."""
    environment = {"PATH": str(machine), "HOME": str(checkout)}
    result = subprocess.run([shutil.which("dash") or "/bin/sh", str(checkout / "tw"), *arguments], env=environment,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return result.returncode, result.stderr.splitlines()


def test_alone_it_prints_usage(checkout, machine):
    result = subprocess.run([str(checkout / "tw")], capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.startswith("usage: ./tw COMMAND")
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_wrong_word_prints_the_nearest_command_and_usage(checkout, machine):
    status, lines = tw(checkout, machine, "biuld")
    assert status == 2
    assert lines[0] == "tw: unknown command: biuld (did you mean build?)"
    assert lines[1].startswith("usage:")


def test_a_wrong_preset_names_the_presets(checkout, machine):
    status, lines = tw(checkout, machine, "build", "quick")
    assert status == 2 and lines == ["tw: unknown preset 'quick': choose release, debug, gcc, asan, asan-python or tsan"]


def test_no_package_server(checkout, machine):
    status, lines = tw(checkout, machine, "build")
    assert status == 1
    assert lines[0].startswith("tw: installing Debian packages: cmake ninja-build ")
    assert lines[1].startswith("tw: cannot install the Debian packages cmake ") and "no network" in lines[1]
    assert "E: Unable to locate package cmake" in lines[1] and len(lines) == 2


def test_neither_root_nor_sudo(checkout, machine):
    fake(machine, "id", "echo 1000")
    status, lines = tw(checkout, machine, "build")
    assert status == 1 and len(lines) == 1
    assert "neither root nor sudo" in lines[0] and "apt-get install cmake " in lines[0]


def test_sudo_is_used_when_not_root(checkout, machine):
    fake(machine, "id", "echo 1000")
    fake(machine, "sudo", "echo 'sudo: a password is required'; exit 1")
    status, lines = tw(checkout, machine, "build")
    assert status == 1 and "sudo: a password is required" in lines[-1]


def test_only_missing_packages_are_installed(checkout, machine):
    fake(machine, "dpkg-query", """shift 3; for p in "$@"; do [ "$p" = cmake ] || echo "ii $p"; done; exit 1""")
    _, lines = tw(checkout, machine, "build")
    assert lines[0].strip() == "tw: installing Debian packages: cmake"


def test_packages_of_other_commands_are_left_alone(checkout, machine):
    _, lines = tw(checkout, machine, "build")
    assert "libbenchmark-dev" not in lines[0] and "clang-tidy" not in lines[0]
    _, lines = tw(checkout, machine, "bench")
    assert "libbenchmark-dev" in lines[0] and "clang-tidy" not in lines[0]


def test_not_a_debian_system(checkout, machine):
    (machine / "apt-get").unlink()
    status, lines = tw(checkout, machine, "build")
    assert status == 1 and len(lines) == 1 and "not a Debian system" in lines[0]


def test_full_disk(checkout, machine):
    fake(machine, "df", "echo Filesystem; echo disk 100 100 0 100% /")
    all_installed(machine)
    status, lines = tw(checkout, machine, "build")
    assert status == 1 and len(lines) == 1 and "the disk that holds" in lines[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_checkout_that_cannot_be_written(checkout, machine):
    checkout.chmod(0o555)
    status, lines = tw(checkout, machine, "build")
    checkout.chmod(0o755)
    assert status == 1 and len(lines) == 1 and "cannot write" in lines[0]


def test_libraries_that_arrive_later_are_looked_for_again(checkout, machine):
    notes = equip_to_build(checkout, machine)
    installs = machine.parent / "installed"
    peers = "libbenchmark-dev"
    fake(machine, "dpkg-query", f"""shift 3; for package in "$@"; do
      case $package in {peers}) [ -e '{installs}' ] || continue ;; esac; echo "ii $package"; done""")
    fake(machine, "apt-get", f"""touch '{installs}'""")

    configure = "cmake --fresh --preset release"
    assert tw(checkout, machine, "build")[0] == 0
    assert notes.read_text().splitlines() == [configure, "ninja"] and not installs.exists()
    # Nothing has changed: it is not configured again.
    assert tw(checkout, machine, "build")[0] == 0
    assert notes.read_text().splitlines() == [configure, "ninja", "ninja"]
    # The benchmark installs its library, and CMake finds it although the folder was configured without.
    tw(checkout, machine, "bench")
    assert installs.exists()
    assert notes.read_text().splitlines()[3:] == [configure, "ninja"]
    assert tw(checkout, machine, "build")[0] == 0
    assert notes.read_text().splitlines()[5:] == ["ninja"]
