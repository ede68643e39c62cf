"""Reads a table in the ways that docs/formats.md names, and prints its rows as each way gives them.

python read.py DIRECTORY TABLE
"""

import datetime
import json
import sys
from typing import Any

import duckdb
import pandas

FOLDER, TABLE = sys.argv[1:]
JSONL, CSV = (f"{FOLDER}/{TABLE}.{form}" for form in ("jsonl", "csv"))


def plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return utc.isoformat(timespec="milliseconds") + "Z"
    if value is None or value is pandas.NA or value is pandas.NaT or value != value:
        return None
    return value.item() if hasattr(value, "item") else value


def of_duckdb(query: str) -> list[dict[str, Any]]:
    found = duckdb.sql(query)
    return [dict(zip(found.columns, row)) for row in found.fetchall()]


ways = {
    "duckdb jsonl": of_duckdb(f"SELECT * FROM '{JSONL}'"),
    "duckdb csv": of_duckdb(f"SELECT * FROM read_csv('{CSV}', allow_quoted_nulls = false, all_varchar = true)"),
    "duckdb csv as it comes": of_duckdb(f"SELECT * FROM '{CSV}'"),
    "pandas jsonl": pandas.read_json(JSONL, lines=True, dtype=False).to_dict("records"),
    "pandas csv": pandas.read_csv(CSV, dtype=str, keep_default_na=False).to_dict("records"),
}
rows = {way: [{name: plain(value) for name, value in row.items()} for row in read] for way, read in ways.items()}
print(json.dumps(rows))
