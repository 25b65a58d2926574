"""Imports the newest file that a warehouse has written into a folder. Run it every night, from cron for example.

    SLUICE_API=https://api.example.com SLUICE_TOKEN=… python3 nightly.py /exports

Exit codes: 0 all rows are applied, 1 the import failed, 2 some rows are not applied, 3 the import is held.
"""

import os
import shutil
import sys
import urllib.request
from pathlib import Path

from sluice_client import ImportFailedError, Sluice


def main(folder: Path) -> int:
    # A warehouse writes under another name and renames at the end: files with these names are complete.
    files = [*folder.glob("*.csv"), *folder.glob("*.csv.gz")]
    if not files:
        print(f"{folder} has no .csv or .csv.gz file", file=sys.stderr)
        return 1
    newest = max(files, key=lambda file: file.stat().st_mtime)
    sluice = Sluice(os.environ["SLUICE_API"], os.environ["SLUICE_TOKEN"])
    try:
        view = sluice.import_file(
            newest,
            # If cron starts this twice within a day, both wait for one import.
            idempotency_key=newest.name,
            # A broken export must not empty the profiles: somebody looks at it first.
            hold_if={"failed_percent": 5, "removed_percent": 5, "new_keys": 0},
            clear_marker="#N/A",
            profile_types={"zip": "string"},
        )
    except ImportFailedError as failed:
        print(f"{newest.name}: {failed}", file=sys.stderr)
        return 3 if failed.view["state"] == "held" else 1
    print(f"{newest.name}: {view['rows_applied']} rows applied, {view.get('rows_changed')} of them changed something")
    if view["error_file_url"] is None:
        return 0
    errors = folder / f"{newest.name}.errors"
    with urllib.request.urlopen(view["error_file_url"]) as answer, errors.open("wb") as file:
        shutil.copyfileobj(answer, file)
    print(f"{newest.name}: {view['rows_failed']} rows are not applied, see {errors}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
