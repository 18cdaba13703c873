"""Buckets of S3's protocol: a client of boto3 with its own chain of credentials, and retries.

What boto3 raises becomes a Problem that names the object: E-STORE-DENIED where it is a matter of
who asks, E-STORE-LOST where of the way there. `AWS_ENDPOINT_URL` is where another server than
Amazon's is.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from .diagnostics import Problem, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTEMPTS = 8
"""Of one request, unless AWS_MAX_ATTEMPTS says another number. Where one request in five is lost,
one in 400,000 is given up, after about half a minute."""

PART = 8 << 20
"""Bytes of a part: what is larger goes up in several."""

ABSENT = ("NoSuchKey", "404", "NotFound")
REFUSED = {
    "SignatureDoesNotMatch": "the secret is wrong",
    "InvalidAccessKeyId": "the key is not known",
    "AccessDenied": "these credentials may not",
    "NoSuchBucket": "there is no such bucket",
    "ExpiredToken": "the credentials have expired",
}


class Told:
    """Within it, what boto3 raises becomes a Problem that names the object."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        if raised is None or isinstance(raised, Problem):
            return
        found = _problem(self._what, raised)
        if found is not None:
            raise found from raised


def connected(url: str, absent: str) -> Any:
    """A client. Raises the code `absent` without boto3, E-STORE-DENIED where no bucket is named."""
    if not re.fullmatch(r"[\w.:-]+", url.partition("://")[2].partition("/")[0]):
        hint = "s3://bucket/prefix: 3 to 63 small letters, digits, dots and hyphens"
        raise problem("E-STORE-DENIED", f"{url} names no bucket", hint=hint)
    try:
        import boto3
        from botocore.config import Config
    except ImportError as missing:
        hint = "pip install 'sexpgpu[s3]'"
        raise problem(absent, f"{url} needs boto3: {missing}", hint=hint) from missing
    asked = "AWS_MAX_ATTEMPTS" in os.environ
    config = Config(
        signature_version="s3v4",
        connect_timeout=10,
        read_timeout=60,
        retries={"mode": "standard"} if asked else {"mode": "standard", "max_attempts": ATTEMPTS},
        # other servers than Amazon's know no trailing checksums; the manifest has hashes
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    with Told(url):
        return boto3.session.Session().client("s3", config=config)


def copy(client: Any, bucket: str, key: str, into: Any) -> None:
    """An object's bytes; from the beginning again where they stop coming."""
    from botocore import exceptions as e

    broken = (e.IncompleteReadError, e.ReadTimeoutError, e.ResponseStreamingError)
    for left in reversed(range(ATTEMPTS)):
        found = client.get_object(Bucket=bucket, Key=key)
        into.seek(0)
        into.truncate()
        try:
            for piece in found["Body"].iter_chunks(PART):
                into.write(piece)
            return
        except broken:
            if not left:
                raise


def _problem(what: str, raised: BaseException) -> Problem | None:
    """E-STORE-DENIED where it is a matter of who asks, E-STORE-LOST where of the way there."""
    from boto3.exceptions import Boto3Error
    from botocore import exceptions as e

    for cause in _causes(raised):
        if isinstance(cause, (e.NoCredentialsError, e.PartialCredentialsError)):
            hint = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws, say who."
            return problem("E-STORE-DENIED", f"{what}: there are no credentials", hint=hint)
        if isinstance(cause, (e.ProfileNotFound, e.ParamValidationError)):
            return problem("E-STORE-DENIED", f"{what}: {cause}")
        if isinstance(cause, e.ClientError):
            return _answered(what, cause)
    if isinstance(raised, (e.BotoCoreError, Boto3Error)):
        return problem("E-STORE-LOST", f"{what}: {raised}")
    return None


def _answered(what: str, refused: Any) -> Problem:
    code = code_of(refused)
    status = refused.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    why = REFUSED.get(code)
    if why is None and status == 403:
        why = "these credentials may not"
    if why is not None:
        hint = "sexpgpu doctor --store URL puts an object and says what is refused."
        return problem("E-STORE-DENIED", f"{what}: {why} ({code})", hint=hint, answer=code)
    told = "it is not there" if code in ABSENT else str(refused)
    return problem("E-STORE-LOST", f"{what}: {told}", answer=code)


def code_of(refused: Any) -> str:
    return str(refused.response.get("Error", {}).get("Code", ""))


def _causes(raised: BaseException | None) -> Iterator[BaseException]:
    while raised is not None:
        yield raised
        raised = raised.__cause__ or raised.__context__
