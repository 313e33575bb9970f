# SPDX-License-Identifier: Apache-2.0
"""Functions written from tables: with signatures of their own, and lines that tracebacks can show."""

import linecache


def functions_of(sources, module, namespace):
    """The functions that texts of definitions define, by name, as functions of a module.

    Their file lies below the package, so that errors name the line of the script and not theirs.
    """
    file = f"{__file__} ({module})"
    text = "\n".join(sources)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = dict(namespace, __name__=module)
    exec(compile(text, file, "exec"), names)
    return {name: value for name, value in names.items() if name not in namespace and not name.startswith("__")}
