"""Which sources are compiled as one (cmake/join_sources.py)."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "cmake" / "join_sources.py"


def joined(root: Path, **sources: str) -> list[set[str]]:
    """The groups that it makes of the sources ir/<name>.cc, each text in a namespace tw."""
    folder = root / "ir"
    folder.mkdir(exist_ok=True)
    files = []
    for name, text in sources.items():
        files.append(folder / f"{name}.cc")
        files[-1].write_text(f"namespace tw {{\n{text}\n}}  // namespace tw\n")
    command = [sys.executable, str(SCRIPT), str(root), str(root / "out"), "ir", *map(str, files)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    groups = []
    for line in output.splitlines():
        path = Path(line)
        names = [path.stem] if path.parent == folder else [part.split('"')[1] for part in path.read_text().splitlines()]
        groups.append({Path(name).stem for name in names})
    return groups


def private(text: str) -> str:
    return f"namespace {{\n{text}\n}}  // namespace"


def test_neighbours_are_joined_sixteen_at_a_time(tmp_path: Path) -> None:
    sources = {f"s{k}": private(f"constexpr int k{k} = {k};") for k in range(17)}
    assert [len(group) for group in joined(tmp_path, **sources)] == [16, 1]


def test_private_names_of_two_sources_keep_them_apart(tmp_path: Path) -> None:
    for text in ("constexpr int kMost = 3;", "bool holds(int x) { return x > 0; }", "struct Row {\n  int x;\n};",
                 "std::vector<int> table(const Row& r,\n                       int x) {\n  return {};\n}",
                 "class Walk : public Visitor {\n};", "using Json = std::map<int, int>;"):
        assert joined(tmp_path, a=private(text), b=private(text), c="int third();") == [{"a", "c"}, {"b"}], text
    assert joined(tmp_path, a=private('constexpr const char *kA = "a", *kB = "b",\n                     *kC = "c";'),
                  b=private("constexpr int kC{3};")) == [{"a"}, {"b"}]
    assert joined(tmp_path, a="static int count(int x) { return x; }", b=private("int count(int x) { return x; }")) == [{"a"}, {"b"}]


def test_a_private_type_and_who_speaks_of_it_are_kept_apart(tmp_path: Path) -> None:
    assert joined(tmp_path, a=private("struct Stage {\n};"), b="int f(const Stage& s) { return 1; }") == [{"a"}, {"b"}]


def test_a_private_type_called_as_one_of_a_header_stays_alone(tmp_path: Path) -> None:
    (tmp_path / "ir").mkdir()
    (tmp_path / "ir" / "node.h").write_text("namespace tw {\nclass Stage {\n};\n}  // namespace tw\n")
    assert joined(tmp_path, a=private("struct Stage {\n};"), b="int f();", c="int g();") == [{"a"}, {"b", "c"}]


def test_what_changes_lookup_stays_alone(tmp_path: Path) -> None:
    assert joined(tmp_path, a="using namespace other;", b="int f();", c="int g();") == [{"a"}, {"b", "c"}]


def test_what_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    joined(tmp_path, a="int f();", b="int g();")
    file = tmp_path / "out" / "ir_0.cc"
    before = file.stat().st_mtime_ns
    joined(tmp_path, a="int f();", b="int h();")
    assert file.stat().st_mtime_ns == before
