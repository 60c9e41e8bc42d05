"""What an address in S3 may be, and what is said where nothing can read it."""

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
    "url", ["s3:///prefix/", "s3://", "s3://key:secret@warcs/", "https://x/"]
)
def test_what_is_no_bucket_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="write s3://bucket/prefix/") as refused:
        S3Bucket(url)

    assert "secret" not in str(refused.value)


def test_without_the_extra_it_says_what_to_install() -> None:
    told = subprocess.run(  # noqa: S603 -- ourselves
        [sys.executable, "-c", WITHOUT], capture_output=True, check=True, text=True
    )

    assert "pip install 'timegate-proxy[s3]'" in told.stdout
