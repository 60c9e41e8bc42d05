"""Loading a configuration, and the messages about errors in it."""

from pathlib import Path

import pytest

from timegate.config import BadConfig, is_public, load_config


def written(folder: Path, text: str) -> Path:
    path = folder / "timegate.toml"
    path.write_text(text)
    return path


def test_without_a_file_the_known_archives_are_used() -> None:
    config = load_config(None)

    assert config.registry.by_id("internet-archive") is not None
    assert config.contact is None
    assert config.private == frozenset()


def test_own_archives_join_the_known_ones_and_may_be_private(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '[[archive]]\nid = "mine"\nkind = "memento"\ntimegate = "http://127.0.0.1:8080/all/"\n',
    )

    config = load_config(path)

    assert config.registry.by_id("mine") is not None
    assert config.private == frozenset({"mine"})


def test_own_archives_may_live_at_one_host(tmp_path: Path) -> None:
    text = "".join(
        f'[[archive]]\nid = "a{n}"\nkind = "memento"\ntimegate = "http://127.0.0.1:800{n}/"\n'
        for n in range(3)
    )

    config = load_config(written(tmp_path, text))

    assert {"a0", "a1", "a2"} <= {entry.id for entry in config.registry.used}


def test_an_archive_at_a_private_address_has_no_rate_limit(tmp_path: Path) -> None:
    text = """
        [[archive]]
        id = "home"
        kind = "memento"
        timegate = "http://192.168.0.2/"
        [[archive]]
        id = "guest"
        kind = "memento"
        timegate = "https://archive.example/"
    """

    registry = load_config(written(tmp_path, text)).registry

    home, guest = registry.by_id("home"), registry.by_id("guest")
    assert home is not None
    assert guest is not None
    assert home.limits.memento.requests > 1000
    assert guest.limits.memento.requests == 1


def test_an_own_archive_takes_the_place_of_a_known_one(tmp_path: Path) -> None:
    text = '[[archive]]\nid = "banq"\nkind = "memento"\ntimegate = "https://banq.example/"\n'

    config = load_config(written(tmp_path, text))

    entry = config.registry.by_id("banq")
    assert entry is not None
    assert entry.timegate == "https://banq.example/"


def test_the_whole_configuration_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIMEGATE_LISTEN_PORT", "8080")
    text = """
        base_url = "https://timegate.example.org/"
        [listen]
        host = "127.0.0.2"
        port = 1
        workers = 2
        [deadline]
        soft = "500ms"
        hard = "3s"
        [cache]
        url = "sqlite:cache.db"
        megabytes = 3
    """

    config = load_config(written(tmp_path, text))

    assert config.base_url == "https://timegate.example.org"
    assert (config.listen.host, config.listen.port, config.listen.workers) == (
        "127.0.0.2",
        8080,
        2,
    )
    assert (config.soft, config.hard) == (0.5, 3.0)
    assert (config.cache, config.cache_limit) == ("sqlite:cache.db", 3 << 20)


def test_the_environment_names_the_contact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIMEGATE_CONTACT", "mailto:env@example.org")

    config = load_config(written(tmp_path, 'contact = "mailto:file@example.org"\n'))

    assert config.contact == "mailto:env@example.org"


def test_every_kind_of_value_can_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIMEGATE_ARCHIVES_USE", "arquivo-pt, vefsafn")
    monkeypatch.setenv("TIMEGATE_CACHE_MEGABYTES", "5")
    monkeypatch.setenv("TIMEGATE_CHECKS_HISTORY", "2026")
    monkeypatch.setenv("TIMEGATE_LOG_ACCESS", "true")
    monkeypatch.setenv("TIMEGATE_DENY_STATUS", "404")

    config = load_config(None)

    assert {e.id for e in config.registry.entries if e.use} == {"arquivo-pt", "vefsafn"}
    assert config.cache_limit == 5 << 20
    assert config.checks.history == str(Path("2026").absolute())
    assert config.log.access
    assert config.deny.status == 404


def test_an_error_names_the_environment_variable_if_that_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIMEGATE_LISTEN_PORT", "abc")

    with pytest.raises(BadConfig, match=r"^TIMEGATE_LISTEN_PORT in the environment: Expected"):
        load_config(written(tmp_path, "[listen]\nport = 1\n"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("contact = 3", "contact: Expected str | null, got int"),
        ('contact = "a\\nb"', "contact: must be"),
        ("contacts = 3", "contacts: unknown; allowed are contact, base_url, listen"),
        ("[listen]\nports = 3", "listen.ports: unknown; allowed are host, port, workers"),
        ("[listen]\nport = 70000", "listen.port: Expected int <= 65535"),
        ('[listen]\nport = "x"', "listen.port: Expected int, got str"),
        ("[listen]\nworkers = 0", "listen.workers: Expected int >= 1"),
        ('[deadline]\nsoft = "0s"', "deadline.soft: '0s' must be like 2s"),
        ('[deadline]\nhard = "soon"', "deadline.hard: 'soon' must be like 2s"),
        ('[deadline]\nsoft = "9s"', "deadline.soft: must not be later than deadline.hard"),
        ("[cache]\nmegabytes = 0", "cache.megabytes: Expected int >= 1"),
        (
            '[cache]\nurl = "redis://x"\nmegabytes = 1',
            "cache.megabytes: for memory: and sqlite:; Redis has its maxmemory",
        ),
        ('base_url = "ftp://x"', "base_url: must be an http(s) URL"),
        ("archives = 3", "archives: Expected object, got int"),
        ("[archives]\nuse = 3", "archives.use: Expected array | null, got int"),
        ('[archives]\nuse = ["nope"]', "archives.use: 'nope' is no archive"),
        ("archive = 3", "archive: Expected array, got int"),
        ('[archive]\nid = "x"', "archive: Expected array, got object; write [[archive]]"),
        ('[log]\nlevel = "x"', "log.level: Invalid enum value 'x'; allowed: debug, info"),
        ("[deny]\nstatus = 400", "deny.status: Invalid enum value 400; allowed: 451, 404"),
        ('[[archive]]\nid = "x"\nkind = "memento"', "archive[1]: timegate"),
        ("not toml", "not TOML"),
    ],
)
def test_an_error_names_the_file_and_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(BadConfig) as caught:
        load_config(path)

    assert str(caught.value).startswith(str(path))
    assert complaint in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"nowhere\.toml: cannot be read"):
        load_config(tmp_path / "nowhere.toml")
    with pytest.raises(BadConfig, match=r"nowhere\.json: cannot be read"):
        load_config(None, tmp_path / "nowhere.json")


def test_a_memgator_list_replaces_the_known_archives(tmp_path: Path) -> None:
    listed = tmp_path / "archives.json"
    listed.write_text(
        '[{"id": "web.archive.org", "name": "IA", "probability": 0.5, "ignore": false,'
        ' "timegate": "http://127.0.0.1:9/web/", "timemap": "http://127.0.0.1:9/timemap/"},'
        ' {"id": "a1", "name": "A", "timegate": "http://127.0.0.1:9/a1/",'
        ' "timemap": "http://127.0.0.1:9/a1/timemap/"}]'
    )

    config = load_config(None, listed)

    assert [entry.id for entry in config.registry.used] == ["web.archive.org", "a1"]
    named = [config.registry.by_pwid(name) for name in ("archive.org", "a1")]
    assert [entry.id if entry else None for entry in named] == ["web.archive.org", "a1"]
    assert config.private == {"web.archive.org", "a1"}


def test_a_list_of_archives_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    listed = tmp_path / "archivelist.xml"
    listed.write_bytes(b'<links><link id="a" longname="Archiv\xe9"/></links>')

    with pytest.raises(BadConfig, match=r"archivelist\.xml: is not UTF-8, from byte 36 on"):
        load_config(None, listed)


def test_an_own_archive_takes_over_the_name_of_a_known_one(tmp_path: Path) -> None:
    text = """
        [[archive]]
        id = "mine"
        kind = "memento"
        timegate = "http://127.0.0.1/"
        pwid = ["archive.org"]
    """

    registry = load_config(written(tmp_path, text)).registry

    entry = registry.by_pwid("archive.org")
    assert entry is not None
    assert entry.id == "mine"


@pytest.mark.parametrize(
    ("timegate", "public"),
    [
        ("http://127.0.0.1:9/", False),
        ("http://[fd00::1]/", False),
        ("http://wayback.local/all/", False),
        ("http://wayback/all/", False),
        ("https://web.archive.org/web/", True),
    ],
)
def test_whether_an_archive_is_public_depends_on_its_host(
    tmp_path: Path, timegate: str, *, public: bool
) -> None:
    text = f'[[archive]]\nid = "x"\nkind = "memento"\ntimegate = "{timegate}"\n'

    entry = load_config(written(tmp_path, text)).registry.by_id("x")

    assert entry is not None
    assert is_public(entry) is public


@pytest.mark.parametrize("wanted", [True, False])
def test_the_redirects_of_time_travel_can_be_enabled(tmp_path: Path, *, wanted: bool) -> None:
    file = tmp_path / "timegate.toml"
    file.write_text(f"[compatibility]\nredirect_if_none = {str(wanted).lower()}\n")

    config = load_config(file)

    assert config.old_redirects == wanted
