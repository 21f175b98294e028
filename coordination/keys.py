"""Whose signature counts: the keys that a team accepts, and the one that signs on this host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.numbered_log import NumberedLog, Record
from coordination.own_files import own_directory, read_own, write_own
from coordination.process import this_host
from coordination.records import JsonRecord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from coordination.team_root import Team

NAME = "team/keys"
KEY_BYTES = 32  # of Ed25519, the secret half and the public one alike


@dataclass(eq=False)
class KeyNotAccepted(TeamError):
    """The key of this host is not among those that the team accepts, so it may only look."""

    public: str
    host: str
    exit_code = 2
    says = (
        "this host may look, but not lead or decide here: the team does not accept its key yet; "
        "on {host}, where the team was made, type `leadhand trust --key {public}`, then try again here"
    )


@dataclass(eq=False)
class KeyUnusable(TeamError):
    """The file of this host's key holds none."""

    path: str
    exit_code = 2
    says = "{path} holds no signing key; restore it, or move it away and let another host accept a new one"


@dataclass(eq=False)
class NoKey(TeamError):
    """What is to be accepted is no public key."""

    text: str
    exit_code = 2
    says = "{text!r} is no public key; the host that needs one says it: 64 digits and letters from a to f"


class AcceptedKey(JsonRecord, frozen=True, kw_only=True):
    """A key of which the team takes decisions."""

    public: str  # the public half, in hexadecimal
    host: str = ""  # where the private half lies, for people
    signed_by: int = 0  # number of the key that accepted it; 0 for the first, which accepts itself
    signature: str = ""
    at: str = ""


Accepted = dict[int, AcceptedKey]  # by its number


class KeyRules:
    """The first key accepts itself, each later one is accepted by an earlier one."""

    def __init__(self, team: str, first: str | None = None) -> None:
        """`first` is the key that the first one has to be, where that is known."""
        self._team = team
        self._first = first

    def check(self, state: Accepted | None, record: Record) -> None:
        key = AcceptedKey.from_json(record.body)
        if state is None:
            if key.signed_by or (self._first is not None and key.public != self._first):
                raise InvalidRecord(why="it is not the first key of this team")
            signer = key.public
        elif key.signed_by not in state:
            raise InvalidRecord(why=f"it is signed by key {key.signed_by}, which is not accepted")
        else:
            signer = state[key.signed_by].public
        check_signature(signer, _acceptance(self._team, key), key.signature)

    def apply(self, state: Accepted | None, record: Record) -> Accepted:
        return {**(state or {}), record.number: AcceptedKey.from_json(record.body)}


class Keyring:
    """The keys of one team as one process knows them; an object belongs to one thread."""

    def __init__(self, team: Team, *, first: str | None = None) -> None:
        """`first` was handed to this process, which then signs nothing; others look it up on their host."""
        self._team = team
        self._directory = own_directory() / "keys"
        self._is_host = first is None
        self._log = self._open(first or self._remembered())

    @property
    def first(self) -> str | None:
        """The first key of the team; None while it has none."""
        state = self._log.refresh()
        return state[min(state)].public if state else None

    def check(self, document: Mapping[str, Any], number: int | None, signature: str | None) -> None:
        """Raise InvalidRecord unless the key of this number has signed the document."""
        state = self._log.state or {}
        if number not in state:
            state = self._log.refresh() or {}
        if number is None or number not in state:
            raise InvalidRecord(why=f"it is signed by key {number}, which the team does not accept")
        check_signature(state[number].public, document, signature)

    def sign(self, document: Mapping[str, Any]) -> tuple[int, str]:
        """The number of this host's key, and its signature. Raises KeyNotAccepted, OwnFileUnusable."""
        return self.establish(), _sign(self._private(), document)

    def establish(self) -> int:
        """The number of this host's key, which is the first if the team had none.

        Raises KeyNotAccepted, KeyUnusable, OwnFileUnusable, StateUnwritable.
        """
        public = self.public
        if self._log.refresh() is None:
            self._log.commit(lambda state, _: self._draft(state, public, public))
        state = self._log.state or {}
        for number, key in state.items():
            if key.public == public:
                self._remember(state[min(state)].public)
                return number
        raise KeyNotAccepted(public=public, host=state[min(state)].host)

    def accept(self, public: str) -> int:
        """Another host may decide from now on: the number of its key. Raises NoKey, KeyNotAccepted."""
        if len(public) != 2 * KEY_BYTES or set(public) - set("0123456789abcdef"):
            raise NoKey(text=public)
        self.establish()
        state = self._log.state or {}
        if public not in {key.public for key in state.values()}:
            state = self._log.commit(lambda state, _: self._draft(state, public, self.public))
        return next(number for number, key in state.items() if key.public == public)

    @property
    def public(self) -> str:
        """The public half of this host's key, which is made if there is none."""
        return _public_of(self._private())

    def _open(self, first: str | None) -> NumberedLog[Accepted]:
        rules = KeyRules(self._team.id, first)
        return NumberedLog(self._team.directory, layout.KEYS_LOG, name=NAME, rules=rules)

    def _draft(self, state: Accepted | None, public: str, signer: str) -> dict[str, Any]:
        numbers = (number for number, key in (state or {}).items() if key.public == signer)
        key = AcceptedKey(
            public=public,
            host=this_host() if public == signer else "",
            signed_by=next(numbers, 0),
            at=iso(self._team.clock.now()),
        )
        signature = _sign(self._private(), _acceptance(self._team.id, key))
        return key.to_json() | {"signature": signature}

    def _private(self) -> bytes:
        assert self._is_host, "a teammate signs nothing"
        path = self._directory / f"{this_host()}.key"
        text = read_own(path)
        if text is None:
            write_own(path, _new_private().hex().encode(), replace=False)
            text = read_own(path) or b""
        try:
            private = bytes.fromhex(text.decode("ascii").strip())
        except ValueError as error:
            raise KeyUnusable(path=str(path)) from error
        if len(private) != KEY_BYTES:
            raise KeyUnusable(path=str(path))
        return private

    def _remembered(self) -> str | None:
        data = read_own(self._root_file())
        return data.decode("ascii", "replace").strip() if data else None

    def _remember(self, first: str) -> None:
        """So that a log of keys that somebody put in its place is noticed."""
        if self._remembered() is None:
            write_own(self._root_file(), first.encode(), replace=False)

    def _root_file(self) -> Path:
        return self._directory / f"{self._team.id}.first"


def check_signature(public: str, document: Mapping[str, Any], signature: str | None) -> None:
    """Raise InvalidRecord unless the key with this public half has signed the document."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - 12 ms that few verbs need
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - likewise

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature or ""), _canonical(document))
    except (ValueError, InvalidSignature) as error:
        raise InvalidRecord(why="its signature does not fit what it says") from error


def _sign(private: bytes, document: Mapping[str, Any]) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - likewise

    return Ed25519PrivateKey.from_private_bytes(private).sign(_canonical(document)).hex()


def _public_of(private: bytes) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - likewise

    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex()


def _new_private() -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - likewise

    return Ed25519PrivateKey.generate().private_bytes_raw()


def _canonical(document: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(document, order="sorted")


def _acceptance(team: str, key: AcceptedKey) -> dict[str, Any]:
    return {"what": "key", "team": team, "public": key.public, "host": key.host, "signed_by": key.signed_by}
