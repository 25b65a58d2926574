"""The driver of the Python client.

Reads a call as JSON from stdin, and prints the outcome as JSON. It uses the
installed client, or the client of this repository.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "packages" / "python-client"))
import sluice_client as client  # noqa: E402

given = json.load(sys.stdin)
limits = {"patience": given["patience"], "outage_patience": given["outage_patience"]}
sluice = client.Sluice(given["api"], given["token"], **limits)

CALLS = {
    "import_file": lambda: sluice.import_file(given["file"], **given["options"]),
    "upload": lambda: sluice.upload(given["file"], **given["options"]),
    "wait_for_import": lambda: sluice.wait_for_import(given["import_id"]),
    "export": lambda: sluice.export(given["target"], keys=given.get("keys")),
    "update_profile": lambda: sluice.update_profile(given["user_id"], given["entries"]),
    "register_users": lambda: sluice.register_users(given["user_ids"]),
    "request_deletion": lambda: sluice.request_deletion(given["user_ids"]),
    "verify_webhook": lambda: client.verify_webhook(
        given["secret"], given["headers"], given["body"]
    ),
}

KINDS = {
    client.ApiError: "api",
    client.NetworkError: "network",
    client.UploadError: "upload",
    client.ImportFailedError: "import_failed",
    client.ExportFailedError: "export_failed",
    client.SluiceError: "other",
}


def error_of(error):
    return {
        "kind": KINDS[type(error)],
        "messages": getattr(error, "messages", [str(error)]),
        "retry_after": error.retry_after,
        "status": getattr(error, "status", None),
        "code": getattr(error, "code", None),
        "state": getattr(error, "view", {}).get("state"),
    }


try:
    outcome = {"result": CALLS[given["call"]]()}
except client.SluiceError as error:
    outcome = {"error": error_of(error)}
print(json.dumps(outcome))
