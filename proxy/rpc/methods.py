"""Remote methods: the marks on a Protocol's methods, and the types of arguments and results read from annotations.

@request(within_s=5.0)   a coroutine: the worker waits for the result, and no longer than `within_s`
@notify()                a plain method: sent and forgotten; kept for a while when the backend is away
@broadcast()             a plain method: every other worker's implementation is called
"""

import hashlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_type_hints

from msgspec import Raw
from msgspec.msgpack import Decoder

F = TypeVar("F", bound=Callable[..., Any])

RAISE = object()
"""As `otherwise` of a request: the caller wants to know that the backend did not answer."""
_MARK = "__rpc__"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKind:
    """How a method is called; `otherwise` is returned when the backend does not answer, unless it is RAISE."""

    name: Literal["request", "notify", "broadcast"]
    within_s: float = 0.0
    otherwise: object = RAISE
    may_wait: bool = False


def request(*, within_s: float, otherwise: object = RAISE) -> Callable[[F], F]:
    """Mark a coroutine. If the method has a `within_s` argument of its own, the limit is the sum of both."""
    return _marking(CallKind(name="request", within_s=within_s, otherwise=otherwise))


def notify(*, may_wait: bool = False) -> Callable[[F], F]:
    """Mark a method; those that `may_wait` are frequent and sent together, a moment later."""
    return _marking(CallKind(name="notify", may_wait=may_wait))


def broadcast(*, may_wait: bool = False) -> Callable[[F], F]:
    """Mark a method, as `notify` does."""
    return _marking(CallKind(name="broadcast", may_wait=may_wait))


def _marking(kind: CallKind) -> Callable[[F], F]:
    def mark(method: F) -> F:
        setattr(method, _MARK, kind)
        return method

    return mark


class RemoteMethod:
    """One method of a service: how its arguments and its result are read."""

    def __init__(self, service: type, name: str, kind: CallKind) -> None:
        function = getattr(service, name)
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())[1:]
        hints = get_type_hints(function)
        self.name = f"{service.__name__}.{name}"
        self.attribute = name
        self.kind = kind
        self.signature = signature.replace(parameters=parameters)
        self._keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
        self._positional = len(parameters) if not self._keywords else -1
        """How many arguments are a whole call; -1 where some have to be named."""
        self._own_limit = (
            [each.name for each in parameters].index("within_s") if "within_s" in hints else None
        )
        types = tuple(hints[each.name] for each in parameters)
        self._arguments: Decoder[tuple[Any, ...]] = Decoder(tuple[types] if types else tuple[()])  # type: ignore[valid-type]
        self._result: Decoder[Any] = Decoder(hints["return"])

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call in the order of the declaration, with defaults filled in."""
        if not kwargs and len(args) == self._positional:
            return args  # nearly always, and binding takes as long as sending
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def within_s(self, arguments: tuple[Any, ...]) -> float:
        """How long a request with these arguments may take."""
        own_s = 0.0 if self._own_limit is None else float(arguments[self._own_limit])
        return own_s + self.kind.within_s

    def call(self, implementation: object, arguments: Raw) -> Any:
        """Call the method of an implementation with arguments as they arrived. Raises MsgspecError."""
        values = self._arguments.decode(arguments)
        positional = len(values) - len(self._keywords)
        keywords = dict(zip(self._keywords, values[positional:], strict=True))
        return getattr(implementation, self.attribute)(*values[:positional], **keywords)

    def read_result(self, value: Raw) -> Any:
        """Raises MsgspecError."""
        return self._result.decode(value)


def methods_of(service: type) -> tuple[RemoteMethod, ...]:
    """The marked methods of a service, in the order of their declaration."""
    kinds = ((name, getattr(member, _MARK, None)) for name, member in vars(service).items())
    return tuple(RemoteMethod(service, name, kind) for name, kind in kinds if isinstance(kind, CallKind))


def version_of(services: Iterable[type]) -> str:
    """Differs whenever a method, an argument or a result of the services does."""
    signatures = [f"{each.name}{each.signature}" for service in services for each in methods_of(service)]
    return hashlib.sha256("\n".join(signatures).encode()).hexdigest()[:16]
