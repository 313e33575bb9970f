"""The report: one static page with tables and pictures, that needs no network."""

from __future__ import annotations

from pathlib import Path

import jinja2

import goals
import pictures
import tables
from sections import SECTIONS


def facts_of(results: dict) -> list[tuple[str, str]]:
    """What was measured, and on what."""
    shown = {"cpu": "Processor", "cores": "Cores", "target": "Target", "version": "Tilewright", "llvm": "LLVM"}
    facts = next((section["facts"] for section in results["sections"].values()), {})
    found = [(title, str(facts[name])) for name, title in shown.items() if name in facts]
    found.append(("Commit", results.get("commit") or "unknown"))
    found.append(("Measured", results.get("created", "")))
    found.append(("Form", results.get("form", "")))
    return found


def render(results: dict, comparison: list[tables.Table] = ()) -> str:
    folder = Path(__file__).resolve().parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    sections = [
        {
            "name": name,
            "doc": SECTIONS[name].doc,
            "tables": tables.of_section(name, results["sections"][name], results),
            "pictures": pictures.of_section(name, results["sections"][name], results),
        }
        for name in SECTIONS
        if name in results["sections"]
    ]
    return environment.get_template("report.html.j2").render(
        facts=facts_of(results), goals=goals.goals(results), sections=sections, comparison=comparison
    )
