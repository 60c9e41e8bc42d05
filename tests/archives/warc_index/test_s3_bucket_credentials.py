"""Where the credentials of a bucket come from: the environment, and nowhere else."""

import pytest

from archives.warc_index.s3 import S3Bucket


def test_without_credentials_nobody_is_asked_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.delenv("AWS_SKIP_SIGNATURE", raising=False)

    with pytest.raises(ValueError, match="set AWS_ACCESS_KEY_ID"):
        S3Bucket("s3://bucket/prefix/")


@pytest.mark.parametrize("url", ["s3://", "s3://name:secret@bucket/", "http://bucket/"])
def test_an_address_that_is_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="s3://bucket/prefix/"):
        S3Bucket(url)
