"""Where the queue is, if it is not in a file of the checkout: a PostgreSQL server.

Owns what `queue: url` may be, that nobody is shown its password, which jobs of a queue that several
hosts share this user's workers run, and the remote by which work travels. Opens no connection.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sow.config.source import Source, read_source
from sow.schema.config import USUAL_REMOTE, UserConfigFile

SECTION, URL = "queue", "url"
SCHEMES = frozenset({"postgresql", "postgres"})
SECRETS = frozenset(
    {"password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret"}
)
"""The parameters of such an address that nobody is shown."""
LABEL = re.compile("[a-z0-9][a-z0-9._-]{0,63}")
"""A label of the user's own. Those with a colon sow gives by itself."""
HIDDEN = "***"
NOT_IN_ADDRESS = r"%(?![0-9A-Fa-f]{2})|#|\s"
"""What stands in no address but as `%25`, `%23` and the like."""
FIELDS = {
    "queue_url": (SECTION, URL),
    "served_owners": (SECTION, "owners"),
    "served_executors": (SECTION, "executors"),
    "host_labels": (SECTION, "labels"),
    "queue_remote": (SECTION, "remote"),
}
"""The fields of the configuration that this section sets, with their keys."""


def settings_of(source: Source[UserConfigFile], known: Collection[str]) -> Mapping[str, Any]:
    """Return the fields that a file sets; `known` are the executors that it may name.

    Raises InvalidConfiguration.
    """
    section = source.content.queue
    fields: dict[str, Any] = {}
    if url := url_of(source):
        fields["queue_url"] = url
    if section is not None and isinstance(section.remote, str):
        fields["queue_remote"] = section.remote
    for field in ("served_owners", "served_executors", "host_labels"):
        key = FIELDS[field][-1]
        if isinstance(names := getattr(section, key, None), list):
            fields[field] = tuple(names)
    for name in fields.get("served_executors", ()):
        if name not in known:
            raise source.fault(
                *FIELDS["served_executors"],
                reason=f"there is no executor {name!r}",
                remedy=f"Name some of these: {', '.join(sorted(known))}.",
            )
    for label in fields.get("host_labels", ()):
        if not LABEL.fullmatch(label):
            raise source.fault(
                *FIELDS["host_labels"],
                reason=f"{label!r} is no label of your own",
                remedy="Use lower-case letters, digits, dots, dashes and underscores: gpu, cuda12.",
            )
    return fields


def url_of(source: Source[UserConfigFile]) -> str:
    """Return the address that a file gives; empty for none. Raises InvalidConfiguration."""
    section = source.content.queue
    url = section.url if section is not None else None
    if not isinstance(url, str):
        return ""
    if not is_address(url):
        raise source.fault(
            SECTION,  # the line of the address itself would be quoted, with its password
            reason="`url` is no address of a PostgreSQL database",
            remedy="Write postgresql://USER@HOST/DATABASE, and in a password %40 for @, %2F for /,"
            " %3F for ?, %23 for #, %25 for %. Or remove the key: the queue is then a file of each"
            " repository.",
        )
    return url


def is_address(url: str) -> bool:
    """Whether a text is the address of a database.

    A password may hold none of `@`, `/`, `?` and `#`: libpq and we would part such an address in
    different places, and a piece of the password would be shown as a host or a setting. Nor may it
    hold a blank, or a `%` that stands for itself.
    """
    import re  # few name a server
    from urllib.parse import urlsplit  # it imports more than a short command

    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it raises for what is no number
    except ValueError:
        return False
    is_parted_alike = url.count("@") == parts.netloc.count("@") < 2
    if re.search(NOT_IN_ADDRESS, url) or not is_parted_alike:
        return False
    return parts.scheme in SCHEMES and url.startswith(f"{parts.scheme}://")


def read_queue_url(path: Path) -> str:
    """Return the address that the user's file at `path` gives. Raises InvalidConfiguration."""
    return url_of(read_source(path, UserConfigFile))


def has_password(url: str) -> bool:
    """Whether an address holds what nobody is shown."""
    return HIDDEN in shown(url)


def read_queue_remote(path: Path) -> str:
    """Return the git remote that the user's file at `path` names for work that travels."""
    section = read_source(path, UserConfigFile).content.queue
    named = section.remote if section is not None else None
    return named if isinstance(named, str) else USUAL_REMOTE


def shown(url: str) -> str:
    """Return an address without what it has of passwords."""
    from urllib.parse import parse_qsl, urlencode, urlsplit  # as above

    parts = urlsplit(url)
    place = parts.netloc
    if parts.password is not None:
        who, _, host = place.rpartition("@")
        place = f"{who.partition(':')[0]}:{HIDDEN}@{host}"
    query = [
        (name, HIDDEN if name in SECRETS else value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    more = f"?{urlencode(query, safe='*/')}" if query else ""
    return f"{parts.scheme}://{place}{parts.path}{more}"
