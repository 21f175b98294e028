"""Does a tool's input fit its schema, and which field does not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsonschema import ValidationError


@dataclass(frozen=True)
class Fault:
    """The first thing that is wrong with an input."""

    reason: str  # missing_field, unknown_field, wrong_type, wrong_value, bad_schema
    text: str


class InputSchema:
    """One tool's schema; compiled at the first call."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema

    def fault(self, value: Any) -> Fault | None:  # noqa: ANN401 - raw JSON
        """The first fault in the order of the document, or None when the input fits."""
        import referencing.exceptions  # noqa: PLC0415 - as below

        try:
            error = min(self._errors_of(value), key=_order, default=None)
        except referencing.exceptions.Unresolvable as unresolvable:
            return Fault("bad_schema", f"the schema points at what is not there: {unresolvable}")
        return None if error is None else _fault(error)

    def schema_fault(self) -> str:
        """What is wrong with the schema itself, for one that somebody else wrote; empty if nothing is."""
        import jsonschema  # noqa: PLC0415 - as below

        try:
            jsonschema.Draft202012Validator.check_schema(self._schema)
        except jsonschema.SchemaError as error:
            return error.message[:300]
        is_object = isinstance(self._schema, dict) and self._schema.get("type") == "object"
        return "" if is_object else "it is not of type object"

    @cached_property
    def _errors_of(self) -> Callable[[Any], Iterable[ValidationError]]:
        import jsonschema  # noqa: PLC0415 - 120 ms that a start without tool calls need not pay
        import referencing  # noqa: PLC0415 - likewise

        draft = jsonschema.Draft202012Validator
        extend: Callable[..., type[jsonschema.protocols.Validator]] = jsonschema.validators.extend
        strict = extend(draft, type_checker=draft.TYPE_CHECKER.redefine("integer", _is_integer))
        nowhere: referencing.Registry[Any] = referencing.Registry()  # so that no $ref is ever fetched
        return strict(self._schema, registry=nowhere).iter_errors


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)  # 3.0 would fail as a line number


def _order(error: ValidationError) -> tuple[bool, list[str]]:
    return error.validator != "required", [str(part) for part in error.absolute_path]


def _fault(error: ValidationError) -> Fault:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    field = where.lstrip(".") or "the input"
    match error.validator:
        case "required":
            return _missing(error, field)
        case "additionalProperties" if isinstance(error.instance, dict):
            return _unknown(error, field)
        case "type":
            return Fault(
                "wrong_type", f"{field}: expected {_words(error.validator_value)}, got {_short(error)}"
            )
        case _:
            return Fault("wrong_value", f"{field}: {error.message[:300]}")


def _missing(error: ValidationError, field: str) -> Fault:
    required = _list(error.validator_value)
    missing = [name for name in required if name not in _list(error.instance)]
    inside = "" if field == "the input" else f" in {field}"
    return Fault("missing_field", f"{', '.join(missing)}: missing{inside}; required: {', '.join(required)}")


def _unknown(error: ValidationError, field: str) -> Fault:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    known = _list(schema.get("properties"))
    extra = sorted(set(_list(error.instance)) - set(known))
    near = difflib.get_close_matches(extra[0], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known) or 'none'}"
    inside = "" if field == "the input" else f" in {field}"
    return Fault("unknown_field", f"{', '.join(extra)}: no such field{inside}; {hint}")


def _list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, Iterable) else []


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(error: ValidationError) -> str:
    return repr(error.instance)[:80]
