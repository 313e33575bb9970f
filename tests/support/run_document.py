"""Runs the cells of a document of tests/documents in one namespace, as a notebook does, a line of marks in front of each."""

import ast
import pprint
import re
import sys

MARK = "--- cell"


def cells(text):
    """[(code, [(kind, output)])] of a document; kinds are "", "begins", "goes on"."""
    found = []
    for part in re.split(r"^--- ", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        if head == "code":
            found.append((body.strip("\n"), []))
        else:
            found[-1][1].append((head.partition(", ")[2], body.strip("\n")))
    return found


def run(code, names):
    """Like a notebook, shows the value of an expression at the end."""
    tree = ast.parse(code)
    shown = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    value = eval(compile(shown, "cell", "eval"), names) if shown else None
    if value is not None:
        pprint.pprint(value)


if __name__ == "__main__":
    namespace = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        document = cells(file.read())
    for source, _ in document:
        print(MARK, flush=True)
        run(source, namespace)
