"""Generic functions and methods as values: finding, adding, asking; what no method is for."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ..builtins.listing import proper
from ..definitions import builtin
from ..faults import wrong_type
from ..function_forms import is_setf_name
from ..lambda_lists import parse_lambda_list
from ..machine import current
from ..printer import brief
from ..signalling import raise_error
from ..values import NIL, Cons, MultipleValues, String, Symbol, T, Value, make_list
from .accessors import ensure_generic
from .class_forms import class_named
from .combinations import Combination
from .generic_functions import GenericFunction, no_method_fits
from .generic_options import combination_of
from .methods import Eql, Method, Shape, qualifiers_list, shape_of, shown_specializers
from .standard_generics import standard_generic


def _generic(name: str, value: Any) -> GenericFunction:
    if not isinstance(value, GenericFunction):
        raise wrong_type(name, value, "a generic function")
    return value


def _method(name: str, value: Any) -> Method:
    if not isinstance(value, Method):
        raise wrong_type(name, value, "a method")
    return value


@standard_generic("no-applicable-method", "(generic-function &rest arguments)")
def no_applicable_method(generic: Any, *arguments: Value) -> Value:
    """What is done when no method is for the arguments of a call: E-CALL-METHOD."""
    raise no_method_fits(_generic("no-applicable-method", generic), arguments)


@standard_generic("no-next-method", "(generic-function method &rest arguments)")
def no_next_method(generic: Any, method: Any, *arguments: Value) -> Value:
    """What is done when call-next-method has no next method: E-CALL-METHOD."""
    where = shown_specializers(_method("no-next-method", method).specializers)
    name = getattr(generic, "name", brief(generic))
    raise problem(
        "E-CALL-METHOD",
        f"no method of {name} comes after the one for {where}",
        hint="ask (next-method-p) first, or define a method for a superclass",
        function=name,
    )


@standard_generic("compute-applicable-methods", "(generic-function arguments)", "generic-function")
def compute_applicable_methods(generic: Any, arguments: Any) -> Value:
    """The methods for some arguments, most specific first."""
    given = tuple(proper("compute-applicable-methods", arguments))
    if len(given) < generic.shape.required:
        raise problem("E-CALL-ARGUMENTS", f"{generic.name} takes more arguments than {len(given)}")
    return make_list(generic.applicable(given))


@standard_generic("add-method", "(generic-function method)", "generic-function", "method")
def add_method(generic: Any, method: Any) -> Value:
    """Add a method that belongs to no generic function."""
    generic.add(method)
    return generic


@standard_generic("remove-method", "(generic-function method)", "generic-function", "method")
def remove_method(generic: Any, method: Any) -> Value:
    """Take a method away."""
    generic.remove(method)
    return generic


@standard_generic("method-qualifiers", "(method)", "method")
def method_qualifiers(method: Any) -> Value:
    """The qualifiers of a method."""
    return qualifiers_list(method)


@standard_generic("function-keywords", "(method)", "method")
def function_keywords(method: Any) -> Value:
    """The keywords that a method takes, and whether it takes others too."""
    shape = method.shape
    return MultipleValues((make_list(shape.keys or ()), T if shape.other_keys else NIL))


@standard_generic(
    "find-method", "(generic-function qualifiers specializers &optional errorp)", "generic-function"
)
def find_method(generic: Any, qualifiers: Any, specializers: Any, errorp: Any = T) -> Value:
    """The method of those qualifiers and specializers; else an error, or nil with errorp nil."""
    wanted = [_specializer(s) for s in proper("find-method", specializers)]
    if len(wanted) != generic.shape.required:
        count = generic.shape.required
        raise problem("E-CALL-ARGUMENTS", f"find-method: {generic.name} has {count} required"
                      f" parameters, not {len(wanted)}")  # fmt: skip
    words = tuple(proper("find-method", qualifiers))
    for method in generic.methods:
        if method.qualifiers == words and all(map(_same, method.specializers, wanted)):
            return method
    if errorp is NIL:
        return NIL
    shown = shown_specializers(tuple(wanted))
    raise problem("E-CALL-METHOD", f"{generic.name} has no such method for {shown}",
                  function=generic.name)  # fmt: skip


def _specializer(value: Any) -> Any:
    if value.__class__ is Cons and brief(value.car) == "eql" and value.cdr.__class__ is Cons:
        return Eql(value.cdr.car)
    return value if isinstance(value, Eql) else class_named(value)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Eql) or isinstance(b, Eql):
        return isinstance(a, Eql) and isinstance(b, Eql) and a.key == b.key
    return a is b


@builtin(
    "ensure-generic-function",
    "(name &key argument-precedence-order declare documentation environment"
    " generic-function-class lambda-list method-class method-combination)",
)
def ensure_generic_function(
    name: Any,
    *,
    argument_precedence_order: Any = None,
    declare: Any = None,
    documentation: Any = None,
    environment: Any = None,
    generic_function_class: Any = None,
    lambda_list: Any = None,
    method_class: Any = None,
    method_combination: Any = None,
) -> Value:
    """The generic function of a name, made if there is none."""
    if not (is_setf_name(name) or (name.__class__ is Symbol and name is not NIL)):
        raise wrong_type("ensure-generic-function", name, "a function name")
    given = NIL if lambda_list is None else lambda_list
    shape, text = shape_of(parse_lambda_list(given)), brief(given) if given is not NIL else "()"
    if name.__class__ is Symbol:
        current().analyzer.check_definable(name, "function")
    generic: GenericFunction = ensure_generic(name, shape, text)
    if lambda_list is not None:
        generic.bare = False
        _reshape(generic, shape, text)
    elif not generic.methods:
        generic.bare = True
    if isinstance(documentation, String):
        generic.doc = documentation.text()
    if method_combination is not None:
        generic.combination = _combination(method_combination)
        generic.changed()
    return generic


def _reshape(generic: GenericFunction, shape: Shape, text: str) -> None:
    generic.reshape(shape, text)
    for method in generic.methods:
        generic.add(method)


def _combination(value: Any) -> Combination:
    return combination_of(
        proper("ensure-generic-function", value) if value.__class__ is Cons else [value]
    )


@builtin("call-next-method", "(&rest arguments)")
def call_next_method(*arguments: Any) -> Value:
    """In a method: what the next method gives, of the same arguments unless others are given."""
    raise problem("E-FORM-SHAPE", "call-next-method stands only in a method")


@builtin("next-method-p", "()")
def next_method_p() -> Value:
    """In a method: whether there is a next one."""
    raise problem("E-FORM-SHAPE", "next-method-p stands only in a method")


@builtin("invalid-method-error", "(method format-control &rest arguments)")
def invalid_method_error(method: Any, control: Any, *arguments: Any) -> Value:
    """Signal that a method does not fit its method combination."""
    _method("invalid-method-error", method)
    return method_combination_error(control, *arguments)


@builtin("method-combination-error", "(format-control &rest arguments)")
def method_combination_error(control: Any, *arguments: Any) -> Value:
    """Signal that methods cannot be combined."""
    from ..conditions import make_simple

    raise raise_error(current(), make_simple("simple-error", control, make_list(arguments)))


@standard_generic("make-load-form", "(object &optional environment)")
def make_load_form(value: Any, environment: Any = NIL) -> Value:
    """A form that would make the object again: there is none unless the file says so."""
    raise problem("E-TYPE", f"make-load-form: nothing says how {brief(value)} is made again")
