"""RIS and the fields of RefWorks."""

from timegate.references.ris import is_of_refworks, read_ris


def test_the_fields_of_refworks_are_read() -> None:
    text = (
        "RT Web Page\nSR Electronic\nT1 Hours\nYR 2009\nRD May 8, 2010\nLK http://a.example/\n"
    )

    (place,) = read_ris(text + "RT Journal\nSR Print\nT1 Other\nRD May 9, 2010\n")

    assert (place.item.references, place.item.dates) == (
        ("http://a.example/",),
        ("May 8, 2010",),
    )
    assert is_of_refworks(text)
    assert not is_of_refworks("RT @museum: http://a.example/\nLK me\n")
