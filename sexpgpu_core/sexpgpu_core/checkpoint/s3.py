"""s3://BUCKET/PREFIX as a store: multipart, retries; a commit is put only where nothing is
(`If-None-Match`, on servers that honour it) and read back.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

from ..buckets import PART, Told, code_of, connected, copy
from ..diagnostics import problem

DEAF = ("NotImplemented", "InvalidArgument", "InvalidRequest")
"""What servers answer that know no conditions."""


class S3Store:
    """Raises E-STORE-UNKNOWN without boto3, E-STORE-DENIED, E-STORE-LOST."""

    def __init__(self, url: str) -> None:
        self.bucket, _, prefix = url.partition("://")[2].partition("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self.url = url.rstrip("/") if self.bucket else url
        self._made: Any = None

    @property
    def _client(self) -> Any:
        if self._made is None:
            self._made = connected(self.url, "E-STORE-UNKNOWN")
        return self._made

    def put(self, name: str, file: str) -> None:
        from boto3.s3.transfer import TransferConfig

        config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART)
        with self._told(name):
            self._client.upload_file(file, self.bucket, self._prefix + name, Config=config)

    def put_last(self, name: str, data: bytes) -> None:
        with self._told(name):
            self._commit(name, data)
            there = self._read(name)
        if there != data:
            raise problem("E-STORE-DENIED", f"{self.url}/{name} is there already, and another")

    def get(self, name: str, file: str) -> None:
        with self._told(name), open(file, "wb") as into:
            self._copy(name, into)

    def list(self, prefix: str = "") -> list[tuple[str, int]]:
        with self._told(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self._prefix + prefix
            )
            found = [(o["Key"], int(o["Size"])) for page in pages for o in page.get("Contents", ())]
        return sorted((key.removeprefix(self._prefix), size) for key, size in found)

    def delete(self, name: str) -> None:
        with self._told(name):
            self._client.delete_object(Bucket=self.bucket, Key=self._prefix + name)

    def unfinished(self, prefix: str = "") -> Sequence[tuple[str, str]]:
        """Uploads in parts that have begun and not ended, with their ids: their parts are kept and
        paid for. None where the server, or these rights, cannot tell."""
        from botocore.exceptions import ClientError

        below, found = self._prefix + prefix, []
        with self._told(prefix), contextlib.suppress(ClientError):
            asked = self._client.get_paginator("list_multipart_uploads")
            for page in asked.paginate(Bucket=self.bucket, Prefix=below):
                found += [(u["Key"], str(u["UploadId"])) for u in page.get("Uploads", ())]
        own = [(key, upload) for key, upload in found if key.startswith(below)]  # nanio tells all
        return sorted((key.removeprefix(self._prefix), upload) for key, upload in own)

    def abandon(self, name: str, upload: str) -> None:
        """Give up such an upload, where these rights let it; one that has ended is left."""
        from botocore.exceptions import ClientError

        where = {"Bucket": self.bucket, "Key": self._prefix + name, "UploadId": upload}
        with self._told(name), contextlib.suppress(ClientError):
            self._client.abort_multipart_upload(**where)

    def _commit(self, name: str, data: bytes) -> None:
        from botocore.exceptions import ClientError

        where = {"Bucket": self.bucket, "Key": self._prefix + name, "Body": data}
        try:
            self._client.put_object(**where, IfNoneMatch="*")
        except ClientError as refused:
            code = code_of(refused)
            if code in DEAF:
                self._client.put_object(**where)
            elif code not in ("PreconditionFailed", "412"):  # there: a put whose answer was lost?
                raise

    def _read(self, name: str) -> bytes:
        into = io.BytesIO()
        self._copy(name, into)
        return into.getvalue()

    def _copy(self, name: str, into: Any) -> None:
        copy(self._client, self.bucket, self._prefix + name, into)

    def _told(self, name: str) -> Told:
        return Told(f"{self.url}/{name}")
