"""Tests of the Python client against a running API, storage and worker.

python.test.ts runs them, and names the API, an app's token and a signed
webhook request in the environment.
"""

import gzip
import io
import json
import os
import pathlib
import tempfile
import threading
import unittest

import sluice_client
from sluice_client import ApiError, ImportFailedError, Sluice, SluiceError

API, TOKEN = os.environ["SLUICE_API"], os.environ["SLUICE_TOKEN"]
WEBHOOK = json.loads(os.environ["SIGNED_WEBHOOK"])
sluice = Sluice(API, TOKEN)


def csv(text):
    return io.BytesIO(text.encode())


class Calls(unittest.TestCase):
    def test_a_file_is_imported_with_progress_and_read_back(self):
        sluice.register_users(iter(["alice", "bob"]))
        progress = []
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "people.csv.gz")
            path.write_bytes(gzip.compress(b"user_id,zip\nalice,007\nnobody,1\n"))
            view = sluice.import_file(
                path, profile_types={"zip": "string"}, on_progress=progress.append
            )
            self.assertEqual(view["state"], "completed")
            self.assertEqual(view["file_name"], "people.csv.gz")
            self.assertEqual((view["rows_applied"], view["rows_failed"]), (1, 1))
            self.assertEqual([each.phase for each in progress][:2], ["checksum", "upload"])
            self.assertEqual(progress[1].bytes, path.stat().st_size)
            self.assertEqual(progress[-1].view, view)
            self.assertEqual(sluice.wait_for_import(view["import_id"]), view)

            entry = {"key": "age", "type": "int", "value": 34}
            self.assertEqual(sluice.update_profile("bob", [entry])["user_profiles"], [entry])
            target = os.path.join(folder, "all.csv.gz")
            exported = sluice.export(target, keys=["age", "zip"], on_progress=progress.append)
            self.assertEqual(exported["rows"], 2)
            self.assertEqual(progress[-1][:3], ("download", exported["bytes"], exported["bytes"]))
            with gzip.open(target, "rt") as text:
                self.assertEqual(text.read(), "user_id,age,zip\nalice,,007\nbob,34,\n")
            self.assertEqual(sorted(os.listdir(folder)), ["all.csv.gz", "people.csv.gz"])
        sluice.request_deletion(["bob"])

    def test_a_stream_is_written_as_a_file_is(self):
        target = io.BytesIO()
        view = sluice.export(target)
        self.assertEqual(len(target.getvalue()), view["bytes"])

    def test_a_stream_that_takes_some_bytes_at_once_gets_all(self):
        class Slow(io.BytesIO):
            def write(self, data):
                return super().write(data[:3])

        whole, slow = io.BytesIO(), Slow()
        sluice.export(whole)
        sluice.export(slow)
        self.assertEqual(slow.getvalue(), whole.getvalue())

    def test_a_download_goes_on_at_any_byte(self):
        whole = io.BytesIO()
        view = sluice.export(whole)
        for start in (1, view["bytes"] - 1):
            rest = b"".join(sluice_client._chunks(view["file_url"], start))
            self.assertEqual(rest, whole.getvalue()[start:])

    def test_a_refusal_has_status_code_messages_and_the_id_of_the_request(self):
        with self.assertRaises(ApiError) as caught:
            sluice.update_profile("nobody", [{"key": "age", "type": "int", "value": 1}])
        error = caught.exception
        self.assertEqual((error.status, error.code), (400, 1002))
        self.assertRegex(error.request_id, "^[0-9a-f-]{36}$")
        self.assertFalse(error.is_transient)

    def test_a_failed_import_has_its_view_and_its_reason(self):
        with self.assertRaisesRegex(ImportFailedError, "user_id column is required") as caught:
            sluice.import_file(csv("age\n1\n"))
        self.assertEqual(caught.exception.view["state"], "failed")

    def test_a_file_is_sent_from_its_start_wherever_it_was_read_to(self):
        file = csv("user_id,n\nalice,1\n")
        file.read()
        view = sluice.import_file(file, file_name="\udcff\0" + "n" * 300, dry_run=True)
        self.assertEqual(view["rows_total"], 1)
        self.assertEqual(view["file_name"], "\ufffd\ufffd" + "n" * 253)


class Mistakes(unittest.TestCase):
    def test_a_misspelled_option_is_refused_because_the_api_would_ignore_it(self):
        with self.assertRaisesRegex(TypeError, "no such option: dryrun"):
            sluice.upload(csv("user_id\n"), dryrun=True)

    def test_one_text_is_no_list_of_user_ids(self):
        with self.assertRaises(TypeError):
            sluice.register_users("alice")

    def test_an_address_and_a_token_are_needed(self):
        with self.assertRaises(ValueError):
            Sluice("example.com", TOKEN)
        with self.assertRaises(ValueError):
            Sluice(API, "")

    def test_a_file_that_shrinks_is_no_fault_of_the_network(self):
        class Shrinking(io.BytesIO):
            def read(self, size=-1):
                return b"" if self.tell() > 10 else super().read(min(size, 11))

        with self.assertRaisesRegex(SluiceError, "became shorter"):
            sluice.upload(Shrinking(b"user_id\n" * 10))

    def test_an_error_of_the_callback_is_no_fault_of_the_network(self):
        def broken(progress):
            raise BrokenPipeError("no terminal")

        with self.assertRaisesRegex(SluiceError, "on_progress failed: no terminal"):
            sluice.upload(csv("user_id\nalice\n"), on_progress=broken)

    def test_a_failed_export_leaves_the_file_as_it_was(self):
        def stopped(progress):
            if progress.phase == "download":
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, "all.csv.gz")
            target.write_text("old")
            with self.assertRaises(KeyboardInterrupt):
                sluice.export(target, on_progress=stopped)
            self.assertEqual(os.listdir(folder), ["all.csv.gz"])
            self.assertEqual(target.read_text(), "old")


class Threads(unittest.TestCase):
    def test_one_client_serves_several_threads(self):
        failures = []

        def register(number):
            try:
                sluice.register_users([f"thread-{number}"])
            except SluiceError as error:
                failures.append(error)

        threads = [threading.Thread(target=register, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class Webhooks(unittest.TestCase):
    def verify(self, secret=WEBHOOK["secret"], body=WEBHOOK["body"], **headers):
        given = {
            **WEBHOOK["headers"],
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return sluice_client.verify_webhook(secret, given, body)

    def test_a_signed_request_is_an_event_as_text_and_as_bytes(self):
        event = json.loads(WEBHOOK["body"])
        self.assertEqual(self.verify(), event)
        self.assertEqual(self.verify(body=WEBHOOK["body"].encode()), event)
        upper = {name.title(): value for name, value in WEBHOOK["headers"].items()}
        self.assertEqual(
            sluice_client.verify_webhook(WEBHOOK["secret"], upper, WEBHOOK["body"]), event
        )

    def test_an_altered_request_is_refused(self):
        altered = [
            {"body": WEBHOOK["body"] + " "},
            {"secret": "whsec_" + "A" * 32},
            {"webhook_id": "other"},
            {"webhook_signature": ""},
            {"webhook_signature": "v1,\u00e9"},
            {"webhook_timestamp": "1000000000"},
            {"webhook_timestamp": "\u0661"},
        ]
        for each in altered:
            with self.subTest(each), self.assertRaises(SluiceError):
                self.verify(**each)


if __name__ == "__main__":
    unittest.main(verbosity=2)
