"""URLs of buckets: what names none is told before anybody is asked."""

from __future__ import annotations

import pytest

from sexpgpu_core.buckets import connected
from sexpgpu_core.diagnostics import Problem


@pytest.mark.parametrize("url", ["s3://", "s3:///run", "s3://a b/run", "s3://a*/run"])
def test_a_url_without_a_bucket_says_what_one_looks_like(url: str) -> None:
    with pytest.raises(Problem) as raised:
        connected(url, "E-STORE-UNKNOWN")
    found = raised.value.diagnostic
    assert (found.code, found.message) == ("E-STORE-DENIED", f"{url} names no bucket")
    assert found.hint is not None
    assert found.hint.startswith("s3://bucket/prefix")


@pytest.mark.parametrize("url", ["s3://a-b.c_3/run", "s3://arn:aws:s3:eu-west-1:1:accesspoint/x"])
def test_a_bucket_or_an_access_point_is_asked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert connected(url, "E-STORE-UNKNOWN").meta.service_model.service_name == "s3"
