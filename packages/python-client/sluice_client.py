"""A client of the Sluice API: bulk import of user profiles, updates, exports.

It needs Python 3.9 or later, and no other package:

    sluice = Sluice("https://api.example.com", token)
    view = sluice.import_file("people.csv", profile_types={"zip": "string"})

Calls repeat what may pass, and raise a subclass of SluiceError. A client may
be used by several threads.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import math
import os
import random
import re
import time
import uuid
from contextlib import contextmanager
from email.message import Message
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Literal
from typing import Mapping, NamedTuple, Optional, Sequence, Tuple, TypedDict, Union, cast
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

if TYPE_CHECKING:
    from typing_extensions import Unpack

# contract: node scripts/python-types.ts --write
_USER_IDS_PER_REQUEST = 10000
_FILE_NAME_LENGTH = 255
ImportState = Literal[
    "awaiting_upload", "queued", "processing", "held", "completed", "failed", "expired",
    "cancelled"
]
ImportSource = Literal["v3", "v2", "dashboard", "bucket", "undo"]
ExportState = Literal["queued", "processing", "completed", "failed"]
NewKeys = Literal["register", "refuse"]


class ImportChangesRows(TypedDict):
    created: int
    changed: int


class ImportChangesValues(TypedDict):
    added: int
    changed: int
    removed: int


class ImportChanges(TypedDict):
    rows: ImportChangesRows
    values: ImportChangesValues
    keys: Dict[str, ImportChangesValues]


class ImportViewHeld(TypedDict):
    reasons: List[str]
    until: Optional[str]


class ImportViewWarnings(TypedDict):
    key: str
    type: Literal["string", "int", "decimal", "datetime"]
    message: str
    examples: List[str]


class _ImportView(TypedDict):
    import_id: str
    # The last four are final.
    state: ImportState
    # How the file was sent.
    source: ImportSource
    file_name: Optional[str]
    # Rows that were read so far.
    rows_total: int
    # Rows that were applied; 0 of a dry run.
    rows_applied: int
    # Rows with errors.
    rows_failed: int
    # Rows that changed a profile as the preceding rows had left it; of a dry run, rows that would
    # change one.
    rows_changed: int
    # Why the import failed; null if it did not.
    error: Optional[str]
    # Link to the rows with errors; null until the end, and without such rows.
    error_file_url: Optional[str]
    # Whether the import keeps what each row changes.
    keep_changes: bool
    # What the committed rows changed. Null without `keep_changes`, except for a dry run, which
    # applies nothing.
    changes: Optional[ImportChanges]
    # Link to what each row changed; null without such a file.
    changes_file_url: Optional[str]
    # Why the import is held until somebody approves or cancels it, and when it fails otherwise. Of
    # a dry run: why the import would be held, with `until` null.
    held: Optional[ImportViewHeld]
    # The type of each column, by key.
    types: Dict[str, Literal["string", "int", "decimal", "datetime"]]
    # Inferred types that may be wrong: values lose their spelling in an int or decimal, or few
    # values among the first rows made the key a string. Declare the type to choose it. Also
    # columns that are ignored because their keys are disabled.
    warnings: List[ImportViewWarnings]
    requested_at: str
    started_at: Optional[str]
    finished_at: Optional[str]


class ImportView(_ImportView, total=False):
    # Present only for a dry run, which applies no row.
    dry_run: Literal[True]
    # Present only for a retry, or an import of a dry run’s file: the import whose file it imports
    # again.
    retry_of: str
    # Present only for an undo: the import that it takes back.
    undo_of: str
    # Present only while the import waits because an operator has paused its app, or all apps.
    paused: Literal[True]
    # Present only with `paused`, if all apps are paused.
    all_apps_paused: Literal[True]
    # Present only if the error file leaves rows out: invalid rows from this data row on are
    # counted, but not kept. Row 1 follows the header. 1 if there is no error file.
    error_file_ends_before_row: int
    # Present only if the changes file leaves rows out: the first row with changes that it lacks. 1
    # if there is no file.
    changes_file_ends_before_row: int


class ExportView(TypedDict):
    export_id: str
    state: ExportState
    # Users in the file; 0 until the export is completed.
    rows: int
    # Size of the file; while the export runs, the bytes so far.
    bytes: int
    # Link to the file, which is valid for 7 days; null without a file.
    file_url: Optional[str]
    error: Optional[str]
    requested_at: str
    finished_at: Optional[str]


class ProfileEntry(TypedDict):
    key: str
    type: Literal["string", "int", "decimal", "datetime"]
    value: Union[str, float]


class StringEntry(TypedDict):
    key: str
    type: Literal["string"]
    value: str


class IntEntry(TypedDict):
    key: str
    type: Literal["int"]
    # Digits without a point or an exponent.
    value: int


class DecimalEntry(TypedDict):
    key: str
    type: Literal["decimal"]
    # Without a point and an exponent, it must be an int within ±9007199254740991.
    value: float


class DatetimeEntry(TypedDict):
    key: str
    type: Literal["datetime"]
    # In UTC.
    value: str


class ProfileUpdateAnswer(TypedDict):
    user_id: str
    user_profiles: List[Union[StringEntry, IntEntry, DecimalEntry, DatetimeEntry]]


class ImportMembersHoldIf(TypedDict, total=False):
    failed_percent: float
    changed_percent: float
    removed_percent: float
    new_keys: int


class ImportMembers(TypedDict, total=False):
    # Default: text/csv.
    content_type: Literal["text/csv", "application/gzip"]
    # Check the whole file and report, apply nothing. Default: false.
    dry_run: bool
    # The types of columns, by key, instead of inferred types. A registered key keeps its type, so
    # another type is refused.
    profile_types: Dict[str, Literal["string", "int", "decimal", "datetime"]]
    # With `refuse`, a file with columns that are neither registered nor declared fails. Default:
    # the setting of the app.
    new_keys: NewKeys
    # Keep what each row changes, for `changes` and the changes file. Default: the setting of the
    # app.
    keep_changes: bool
    # Check the whole file first, and hold the import for approval if more than this would fail,
    # change, be removed or be registered. Default: the setting of the app.
    hold_if: Union[Literal["always", "never"], ImportMembersHoldIf]
    # A cell that equals this text removes the key from the user's profile. An empty cell still
    # changes nothing.
    clear_marker: str
    # The name of the file, which lists and mails show.
    file_name: str


class WebhookEvent(TypedDict):
    type: Literal[
        "import.held", "import.completed", "import.failed", "import.cancelled", "import.expired",
        "export.completed", "deletion.completed", "webhook.test"
    ]
    timestamp: str
    data: Dict[str, Any]


# end of contract

#: A file is a path, or a binary file that can be read from its start again.
File = Union[str, "os.PathLike[str]", BinaryIO]

_IMPORTS = "/v3/user_profiles/bulk_import"
_CHUNK = 65_536

# All times are in seconds.
_TIMEOUT = 60.0  # of a connection on which nothing moves
_FIRST_PAUSE, _LONGEST_PAUSE = 0.4, 10.0
_FIRST_POLL, _LONGEST_POLL = 0.2, 2.0
_MAX_FAILURES = 25  # of one call
_MAX_REDIRECTS = 5


class Progress(NamedTuple):
    """What an import or an export is doing.

    An import has the phases "checksum", "upload" and "processing", an export
    "processing" and "download". The bytes of an upload count from 0 again if
    a broken upload is repeated. Only "processing" has a view.
    """

    phase: Literal["checksum", "upload", "processing", "download"]
    bytes: int = 0
    total_bytes: int = 0
    view: Optional[Union[ImportView, ExportView]] = None


OnProgress = Callable[[Progress], None]


class ImportOptions(ImportMembers, total=False):
    """Options of an import: members of the request, and two of the client.

    The default of `file_name` is the name of the file. The default of
    `content_type` is found by the extension or the first bytes.
    """

    # Within 24 hours, all calls with the same key and file begin only one
    # import. Default: a new key.
    idempotency_key: Optional[str]
    on_progress: Optional[OnProgress]


class SluiceError(Exception):
    """A failure of a call, or an answer that is not from Sluice."""

    #: Whether the same call may succeed later. The client has repeated such a
    #: call until its patience ran out.
    is_transient = False
    #: How long the service asks to wait, s; None if it does not say.
    retry_after: Optional[float] = None


class NetworkError(SluiceError):
    """The service did not answer, or the connection broke."""

    is_transient = True


class UploadError(SluiceError):
    """Storage refused the upload of a file."""

    def __init__(self, status: int, xml: str, retry_after: Optional[float]):
        def element(name: str) -> Optional[str]:
            found = re.search(f"<{name}>(.*?)</{name}>", xml, re.DOTALL)
            return found and found[1]

        text = element("Message") or xml
        super().__init__(f"storage refused the upload ({status}): {text}")
        self.status = status
        #: The error code of storage, such as BadDigest, or None.
        self.code = element("Code")
        self.retry_after = retry_after
        broken = self.code in ("RequestTimeout", "IncompleteBody")
        self.is_transient = status >= 500 or status == 429 or broken


class ApiError(SluiceError):
    """An error answer of the API."""

    def __init__(self, status: int, body: Any, headers: Message):
        error = body.get("error") if isinstance(body, dict) else None
        said = error if isinstance(error, dict) else {}
        #: What is wrong. The messages name the members of the request.
        self.messages: List[str] = [str(each) for each in said.get("messages") or []]
        text = ", ".join(self.messages) or "the API answered"
        super().__init__(f"{text} ({status})")
        self.status = status
        #: The error code of the endpoint, such as 1002, or None.
        self.code: Optional[int] = said.get("code")
        #: Quote this ID when you report a problem.
        self.request_id: Optional[str] = headers.get("X-Request-Id")
        self.retry_after = _retry_after(headers)
        # Of all conflicts, only a request in flight says when to repeat it.
        in_flight = status == 409 and self.retry_after is not None
        self.is_transient = status >= 500 or status in (408, 429) or in_flight


class ImportFailedError(SluiceError):
    """An import failed, expired, was cancelled, or is held for approval."""

    def __init__(self, view: ImportView):
        held = view["held"]
        why = view["error"] or ("; ".join(held["reasons"]) if held else "")
        super().__init__(f"the import is {view['state']}{why and ': '}{why}")
        self.view = view


class ExportFailedError(SluiceError):
    """An export ended without a file."""

    def __init__(self, view: ExportView):
        why = view.get("error") or "its file is gone"
        super().__init__(f"the export is {view['state']}: {why}")
        self.view = view


class Sluice:
    """A client of one app.

    `patience` limits how long a request is repeated after failures that may
    pass, s; `outage_patience` limits an outage during an upload, a download
    or a wait. A pause that would exceed the limit is not begun.
    """

    def __init__(
        self, api: str, token: str, *, patience: float = 30, outage_patience: float = 180
    ):
        address = urlsplit(api)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("api must be an address, https://host")
        if not token:
            raise ValueError("token is missing: it is the app's API token")
        self._api = api.rstrip("/")
        self._token = token
        self._patience = patience
        self._outage_patience = outage_patience

    def import_file(self, file: File, **options: Unpack[ImportOptions]) -> ImportView:
        """Imports a CSV file, plain or gzip, and waits for the end.

        Returns the completed import, which may have invalid rows: see
        `rows_failed` and `error_file_url`. Raises ImportFailedError if it
        ends in any other state, or is held.
        """
        import_id = self.upload(file, **options)
        view = self._wait(import_id, options.get("on_progress"), uploaded=True)
        if view["state"] != "completed":
            raise ImportFailedError(view)
        return view

    def upload(self, file: File, **options: Unpack[ImportOptions]) -> str:
        """Returns the ID of an import as soon as storage has the file."""
        unknown = options.keys() - ImportOptions.__annotations__.keys()
        if unknown:  # the API would ignore a misspelled dry_run
            raise TypeError(f"no such option: {', '.join(sorted(unknown))}")
        if isinstance(file, (str, os.PathLike)):
            with open(file, "rb") as opened:
                return _Upload(self, opened, options).run()
        return _Upload(self, file, options).run()

    def wait_for_import(
        self, import_id: str, on_progress: Optional[OnProgress] = None
    ) -> ImportView:
        """Returns an import when it has ended or is held, in any state.

        Another process can wait for an import whose ID it knows.
        """
        return self._wait(import_id, on_progress)

    def export(
        self,
        target: Union[str, os.PathLike[str], BinaryIO],
        *,
        keys: Optional[Sequence[str]] = None,
        idempotency_key: Optional[str] = None,
        on_progress: Optional[OnProgress] = None,
    ) -> ExportView:
        """Writes all users with their values to a path or a binary stream.

        The file is CSV in gzip. `keys` chooses the columns. A path is written
        only when the file is complete. Returns the export.
        """
        body = {} if keys is None else {"keys": list(keys)}
        queued, _ = self._send("/v1/exports", body, _key(idempotency_key))
        view = cast(ExportView, self._poll(f"/v1/exports/{queued['export_id']}", on_progress))
        if view["file_url"] is None:
            raise ExportFailedError(view)
        if not isinstance(target, (str, os.PathLike)):
            self._download(view, target, on_progress)
            return view
        part = f"{os.fspath(target)}.{uuid.uuid4().hex}.part"
        try:
            with open(part, "xb") as stream:
                self._download(view, stream, on_progress)
            os.replace(part, target)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise
        return view

    def update_profile(self, user_id: str, entries: Sequence[ProfileEntry]) -> ProfileUpdateAnswer:
        """Updates values of one user, all or none. Returns what is stored.

        The request has no idempotency key: if its answer is lost, the same
        values are written twice.
        """
        body = {"user_id": user_id, "user_profiles": list(entries)}
        return cast(ProfileUpdateAnswer, self._send("/v2/user_profiles", body)[0])

    def register_users(self, user_ids: Iterable[str]) -> None:
        """Registers any number of users, in requests of 10,000.

        If the call fails, preceding requests are done. Registering users
        again is harmless.
        """
        for batch in _batches(user_ids):
            self._send("/v1/users", {"user_ids": batch}, _key())

    def request_deletion(self, user_ids: Iterable[str]) -> None:
        """Requests the deletion of any number of users' data.

        A deletion cannot be cancelled.
        """
        for batch in _batches(user_ids):
            body = {"identity_type": "user_id", "identity_value": batch}
            self._send("/v3/user_data_deletions", body, _key())

    def _send(
        self,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        key: Optional[str] = None,
        patience: Optional[float] = None,
        method: Optional[str] = None,
    ) -> Tuple[Any, Message]:
        """Sends a request, POST if it has a body. Returns JSON and headers."""
        method = method or ("GET" if body is None else "POST")
        headers = {"X-Service-Token": self._token}
        headers.update({} if body is None else {"Content-Type": "application/json"})
        headers.update({} if key is None else {"Idempotency-Key": key})
        sent = None if body is None else json.dumps(body, allow_nan=False).encode()
        retries = _Retries(self._patience if patience is None else patience)
        while True:
            started = time.monotonic()
            try:
                return self._try(method, path, headers, sent)
            except SluiceError as error:
                retries.pause(error, time.monotonic() - started)

    def _try(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes]
    ) -> Tuple[Any, Message]:
        with _exchange(method, self._api + path, headers, body) as answer:
            if 300 <= answer.status < 400:
                # A redirect would send the token to any address.
                to = answer.headers.get("Location", "another address")
                raise SluiceError(f"{self._api} redirects to {to}")
            text = answer.read()
            if answer.status >= 400:
                error = ApiError(answer.status, _parsed(text), answer.headers)
                if error.messages or answer.status not in (404, 405):
                    raise error
                raise SluiceError(f"{self._api} is not an API of Sluice: {answer.status}")
        if not isinstance(parsed := _parsed(text), dict):
            raise SluiceError(f"{self._api} is not an API of Sluice")
        return parsed, answer.headers

    def _wait(
        self, import_id: str, on_progress: Optional[OnProgress], uploaded: bool = False
    ) -> ImportView:
        path = f"{_IMPORTS}/{quote(import_id, safe='')}"
        return cast(ImportView, self._poll(path, on_progress, waits=True, uploaded=uploaded))

    def _poll(
        self,
        path: str,
        on_progress: Optional[OnProgress],
        waits: bool = False,
        uploaded: bool = False,
    ) -> Any:
        """Returns the last view of an import or an export.

        With `waits`, the API answers at the next change of state. With
        `uploaded`, storage has the file: an import that expired during a slow
        upload is queued when the service notices the file.
        """
        began = time.monotonic()
        known = None
        pause = _FIRST_POLL
        while True:
            asked = time.monotonic()
            query = f"?wait={math.ceil(pause)}&state={known}" if waits and known else ""
            view, _ = self._send(path + query, patience=self._outage_patience)
            expired = uploaded and view["state"] == "expired"
            if not expired or asked - began >= self._outage_patience:
                _report(on_progress, Progress("processing", view=view))
                if view["finished_at"] is not None or view["state"] == "held":
                    return view
            if not waits:
                time.sleep(pause)
            elif view["state"] == known:
                # The API may answer early, or not know `wait`.
                time.sleep(max(0, asked + pause - time.monotonic()))
            known = view["state"]
            pause = min(pause * 1.5, _LONGEST_POLL)

    def _download(
        self, view: ExportView, stream: BinaryIO, on_progress: Optional[OnProgress]
    ) -> None:
        """Writes the file of an export. A broken download goes on."""
        url, total = view["file_url"] or "", view["bytes"]
        retries = _Retries(self._outage_patience)
        done = 0
        while True:
            moved = time.monotonic()
            try:
                for chunk in _chunks(url, done):
                    _write(stream, chunk)
                    done += len(chunk)
                    moved = time.monotonic()
                    _report(on_progress, Progress("download", done, total))
                if done >= total:
                    return
                raise NetworkError("the download broke off")
            except SluiceError as error:
                retries.pause(error, time.monotonic() - moved)


def _write(stream: BinaryIO, chunk: bytes) -> None:
    """Writes all bytes. A stream without a buffer may take only some at once."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[stream.write(rest) :]


def verify_webhook(
    secret: str, headers: Mapping[str, str], body: Union[bytes, str], *, tolerance: float = 300
) -> WebhookEvent:
    """Returns the event of a webhook request that Sluice has signed.

    `body` is what arrived, not parsed. Raises SluiceError if no signature
    fits, or if the request is older than `tolerance`, s. An event may arrive
    twice: the header `webhook-id` tells repetitions apart.
    """
    given = {name.lower(): value for name, value in headers.items()}
    sent_at = given.get("webhook-timestamp", "")
    is_time = re.fullmatch("[0-9]{1,12}", sent_at)
    if not is_time or abs(time.time() - int(sent_at)) > tolerance:
        raise SluiceError("the webhook is too old, or has no time")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{given.get('webhook-id', '')}.{sent_at}.".encode() + raw
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    signatures = given.get("webhook-signature", "").encode().split(b" ")
    if not any(hmac.compare_digest(expected, each) for each in signatures):
        raise SluiceError("the signature of the webhook is invalid")
    return cast(WebhookEvent, json.loads(raw))


class _Retries:
    """The repetitions of one call."""

    def __init__(self, patience: float):
        self._left = patience
        self._failures = 0

    def pause(self, error: SluiceError, tried: float) -> None:
        """Pauses before the next try.

        `tried` is the time without progress, s. Raises the error if it is
        permanent, or if the pause would exceed the patience.
        """
        self._failures += 1
        backoff = _FIRST_PAUSE * 2 ** (self._failures - 1)
        spread = min(backoff, _LONGEST_PAUSE) * random.uniform(0.5, 1)
        pause = max(spread, error.retry_after or 0)
        self._left -= tried + pause
        is_over = self._left < 0 or self._failures >= _MAX_FAILURES
        if is_over or not error.is_transient:
            raise error
        time.sleep(pause)


class _Requested(NamedTuple):
    """An import that awaits its file."""

    import_id: str
    url: str
    headers: Dict[str, str]


class _Upload:
    """Both requests of an import."""

    def __init__(self, client: Sluice, file: BinaryIO, options: ImportOptions):
        self._client = client
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self._options = options
        self._key = _key(options.get("idempotency_key"))
        self._import_id: Optional[str] = None
        self._moved = 0.0

    def run(self) -> str:
        """Returns the ID of the import when storage has the file.

        If the file cannot be sent, cancels the import, for which later ones
        would wait. With a key of the caller's own it stays: the same call may
        send the file later.
        """
        try:
            return self._send_file()
        except BaseException:
            if self._options.get("idempotency_key") is None:
                self._withdraw()
            raise

    def _withdraw(self) -> None:
        """Cancels the import if it still awaits its file."""
        if self._import_id is None:
            return
        path = f"{_IMPORTS}/{self._import_id}"
        try:
            if self._client._send(path, patience=0)[0]["state"] == "awaiting_upload":
                self._client._send(path, patience=0, method="DELETE")
        except SluiceError:
            pass  # it expires

    def _send_file(self) -> str:
        """Sends the file to storage, and returns the import's ID.

        Repeats an upload that breaks off. If the address has expired, a
        repetition of the first request returns a new one.
        """
        body = self._declaration()
        requested = self._announce(body)
        is_renewed = False
        retries = _Retries(self._client._outage_patience)
        while True:
            try:
                self._put(requested)
                return requested.import_id
            except SluiceError as error:
                # Storage answers 403 when the address has expired. If it
                # refuses the new one, too, expiry is not the reason.
                is_refused = getattr(error, "status", None) == 403
                if not is_refused:
                    retries.pause(error, min(time.monotonic() - self._moved, _TIMEOUT))
                    is_renewed = False
                elif is_renewed:
                    raise
                else:
                    renewed = self._renew(requested, body, error)
                    if renewed is None:
                        return requested.import_id
                    # An earlier call with the same key may have begun the
                    # replacement of an expired import.
                    is_renewed = renewed.import_id == requested.import_id
                    requested = renewed

    def _declaration(self) -> Dict[str, Any]:
        """Returns the body of the first request."""
        if self._size == 0:
            raise SluiceError("the file is empty")
        members = ImportMembers.__annotations__.keys() & self._options.keys()
        given = cast(Dict[str, Any], self._options)
        body = {name: given[name] for name in sorted(members) if given[name] is not None}
        own = getattr(self._file, "name", None)  # a number for some temporary files
        name = body.get("file_name", os.path.basename(own) if isinstance(own, str) else None)
        if name is not None:
            plain = re.sub("[\0\ud800-\udfff]", "\ufffd", name)
            body["file_name"] = plain[:_FILE_NAME_LENGTH]
        body.setdefault("content_type", self._content_type(body.get("file_name", "")))
        digest = hashlib.md5(usedforsecurity=False)
        for chunk in self._read("checksum"):
            digest.update(chunk)
        body["checksum"] = base64.b64encode(digest.digest()).decode()
        body["byte_size"] = str(self._size)
        return body

    def _content_type(self, name: str) -> str:
        extension = os.path.splitext(name)[1].lower()
        self._file.seek(0)
        is_gzip = self._file.read(2) == b"\x1f\x8b"
        if extension in (".gz", ".gzip") or (is_gzip and extension != ".csv"):
            return "application/gzip"
        return "text/csv"

    def _read(self, phase: Literal["checksum", "upload"]) -> Iterator[bytes]:
        """Iterates over the file, and reports the progress."""
        done = 0
        while done < self._size:
            try:
                self._file.seek(done)
                chunk = self._file.read(min(_CHUNK, self._size - done))
            except OSError as error:  # must not look like one of the network
                raise SluiceError(f"the file cannot be read: {error}") from error
            if not chunk:
                raise SluiceError("the file became shorter")
            yield chunk
            done += len(chunk)
            self._moved = time.monotonic()
            _report(self._options.get("on_progress"), Progress(phase, done, self._size))

    def _announce(self, body: Dict[str, Any], patience: Optional[float] = None) -> _Requested:
        answer, headers = self._client._send(_IMPORTS, body, self._key, patience)
        import_id = headers.get("X-Import-Id")
        if import_id is None or "direct_upload" not in answer:
            raise SluiceError("the answer is not from an API of Sluice")
        self._import_id = import_id
        upload = answer["direct_upload"]
        return _Requested(import_id, upload["url"], upload["headers"])

    def _put(self, requested: _Requested) -> None:
        headers = {**requested.headers, "Content-Length": str(self._size)}
        self._moved = time.monotonic()
        body = self._read("upload")
        with _exchange("PUT", requested.url, headers, body) as answer:
            text = answer.read().decode(errors="replace")
            if not 200 <= answer.status < 300:
                raise UploadError(answer.status, text, _retry_after(answer.headers))

    def _renew(
        self, old: _Requested, body: Dict[str, Any], refusal: SluiceError
    ) -> Optional[_Requested]:
        """Returns a new address after storage has refused the old one.

        If the import has expired, another import replaces it. Returns None
        if a preceding upload arrived although its answer was lost. Raises
        the refusal if the old address is still the current one.
        """
        patience = self._client._outage_patience
        path = f"{_IMPORTS}/{old.import_id}"
        state = self._client._send(path, patience=patience)[0]["state"]
        if state not in ("awaiting_upload", "expired"):
            return None
        if state == "expired":  # all calls with the same key find one replacement
            self._key = old.import_id
        renewed = self._announce(body, patience)
        if renewed.url == old.url:
            raise refusal
        return renewed


@contextmanager
def _exchange(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: Union[None, bytes, Iterator[bytes]] = None,
) -> Iterator[http.client.HTTPResponse]:
    """Sends a request. Raises NetworkError if an answer does not arrive."""
    to = urlsplit(url)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    connection = kinds[to.scheme](to.hostname or "", to.port, timeout=_TIMEOUT)
    path = urlunsplit(("", "", to.path or "/", to.query, ""))
    try:
        try:
            connection.request(method, path, body, dict(headers))
        except (BrokenPipeError, ConnectionResetError):
            # A service may answer before it has read the whole body.
            if connection.sock is None:
                raise
        yield connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        why = str(error) or type(error).__name__
        raise NetworkError(f"{to.scheme}://{to.netloc} does not answer: {why}") from error
    finally:
        connection.close()


def _chunks(url: str, start: int) -> Iterator[bytes]:
    """Iterates over the file of a link, from a byte on."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    for _ in range(_MAX_REDIRECTS):
        with _exchange("GET", url, headers) as answer:
            if 300 <= answer.status < 400:
                url = urljoin(url, answer.headers.get("Location", ""))
                continue
            if answer.status >= 400:
                raise ApiError(answer.status, _parsed(answer.read()), answer.headers)
            skip = 0 if answer.status == 206 else start
            while chunk := answer.read(_CHUNK):
                if len(chunk) > skip:
                    yield chunk[skip:]
                skip = max(0, skip - len(chunk))
            return
    raise SluiceError(f"{url} is redirected too often")


def _report(on_progress: Optional[OnProgress], progress: Progress) -> None:
    if on_progress is None:
        return
    try:
        on_progress(progress)
    except OSError as error:  # must not look like one of the network
        raise SluiceError(f"on_progress failed: {error}") from error


def _retry_after(headers: Message) -> Optional[float]:
    text = headers.get("Retry-After", "")
    if re.fullmatch("[0-9]+", text):
        return float(text)
    try:
        at = parsedate_to_datetime(text)
        return max(0.0, at.timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _parsed(text: bytes) -> Any:
    """Returns the value of a JSON text, or None if it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _key(given: Optional[str] = None) -> str:
    """Returns an idempotency key: a new one if none is given."""
    return str(uuid.uuid4()) if given is None else given


def _batches(values: Iterable[str]) -> Iterator[List[str]]:
    if isinstance(values, str):
        raise TypeError("several user IDs are expected, not one text")
    rest = iter(values)
    while batch := list(islice(rest, _USER_IDS_PER_REQUEST)):
        yield batch
