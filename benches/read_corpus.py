#!/usr/bin/env python3
"""Compares how recorded runs are read with what their folder says is in them.

    python3 benches/read_corpus.py FOLDER HOIST

FOLDER has a README.md with a table, a row for each file or subfolder: its name in the first column,
and columns headed "domain", "episodes (without messages)", "success" and "agent tool calls". HOIST
is the built program. Prints the same table as `hoist show --json` reads it, and exits with 1 where
it differs, or where something could not be read.
"""
import json
import pathlib
import re
import subprocess
import sys

COLUMNS = {
    "folder or file": "path",
    "domain": "domain",
    "episodes (without messages)": "episodes",
    "success": "success",
    "agent tool calls": "calls",
}


def rows_of(readme):
    """The table's rows, by what their columns are about."""
    columns = None
    for line in readme.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if columns is None:
            if set(COLUMNS) <= set(cells):
                columns = {COLUMNS[cell]: n for n, cell in enumerate(cells) if cell in COLUMNS}
        elif not line.strip().startswith("|"):
            return
        elif not re.fullmatch(r"[-:| ]+", line.strip()):
            yield {about: cells[n] for about, n in columns.items()}


def read(hoist, path):
    """What the program reads there, as the table has it."""
    shown = subprocess.run([hoist, "show", "--json", "--strict", path], capture_output=True)
    if shown.returncode != 0 or shown.stderr:
        sys.exit(f"hoist show {path} exited with {shown.returncode}: {shown.stderr.decode()}")
    episodes = [json.loads(line) for line in shown.stdout.splitlines()]
    if len({episode["id"] for episode in episodes}) != len(episodes):
        sys.exit(f"{path}: two episodes have the same id")
    calls = [
        sum(len(event["calls"]) for event in episode["events"] if event["role"] == "assistant")
        for episode in episodes
    ]
    solved = sum(episode["reward"] > 1 - 1e-6 for episode in episodes)
    empty = sum(not episode["events"] for episode in episodes)
    return {
        "domain": ",".join(sorted({e["domain"] for e in episodes if e["domain"]})),
        "episodes": f"{len(episodes)} ({empty})",
        "success": f"{solved / max(len(episodes), 1):.2f}",
        "calls": str(sum(calls)),
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, hoist = pathlib.Path(sys.argv[1]), sys.argv[2]
    rows = list(rows_of(folder / "README.md"))
    if not rows:
        sys.exit(f"{folder}/README.md has no table with the columns {', '.join(COLUMNS)}")
    differ = 0
    for expected in rows:
        found = {"path": expected["path"], **read(hoist, folder / expected["path"])}
        print("| " + " | ".join(found[about] for about in COLUMNS.values()) + " |")
        for about in COLUMNS.values():
            if found[about] != expected[about]:
                print(f"  differs: {about} should be {expected[about]}")
                differ += 1
    sys.exit(f"{differ} differences" if differ else 0)


if __name__ == "__main__":
    main()
