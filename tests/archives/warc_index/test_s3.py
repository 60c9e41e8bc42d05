"""URLs and credentials of S3 buckets, and the error without obstore."""

import subprocess
import sys

import pytest

from archives.warc_index.s3 import S3Bucket

WITHOUT = """
import sys
sys.modules["obstore"] = None
from archives.warc_index.s3 import S3Bucket, S3NotInstalled
try:
    S3Bucket("s3://warcs/")
except S3NotInstalled as error:
    print(error)
"""


@pytest.mark.parametrize(
    "url",
    ["s3:///prefix/", "s3://", "s3://key:secret@warcs/", "https://x/", "http://bucket/"],
)
def test_an_invalid_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="write s3://bucket/prefix/") as error:
        S3Bucket(url)

    assert "secret" not in str(error.value)


def test_without_obstore_the_error_says_what_to_install() -> None:
    process = subprocess.run(  # noqa: S603 -- a constant
        [sys.executable, "-c", WITHOUT], capture_output=True, check=True, text=True
    )

    assert "pip install 'timegate-proxy[s3]'" in process.stdout


def test_without_credentials_none_are_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.delenv("AWS_SKIP_SIGNATURE", raising=False)

    with pytest.raises(ValueError, match="set AWS_ACCESS_KEY_ID"):
        S3Bucket("s3://bucket/prefix/")
