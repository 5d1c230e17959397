"""One-change variants of Python source: what a mutation test puts into the code.

A mutant replaces one expression or statement of a file by another text and leaves every other
character, and the number of lines, as it was. It is named by file, function, operator, original
text and ordinal, never by a line number, so that its name outlives edits elsewhere in the file.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
OPPOSITES = {"min": "max", "minimum": "maximum", "floor": "ceil", "any": "all"}
OPPOSITES |= {second: first for first, second in OPPOSITES.items()}

SYMMETRIC = {*OPPOSITES, "gcd", "isinstance", "issubclass", "cast", "zip"}
"""Swapping the arguments of these changes nothing, or is a plain TypeError."""

SILENT_ARGUMENTS = {"strict", "stacklevel", "cache", "nogil"}
"""Keywords that decide what is checked, worded or kept, not what is computed."""

WORDING = ("Error", "Warning", "Gone", "warn", "print", "_log")
"""Calls whose name ends so are about words: nothing inside them is changed."""

TYPES = {"bool", "bytes", "float", "int", "list", "str", "tuple"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one file."""

    file: str
    function: str
    """The function around it, or the name that a module or class gives a value to."""
    operator: str
    original: str
    mutated: str
    ordinal: int
    """Counts equal changes in one function."""
    place: tuple[int, int]
    """The bytes of the file that are replaced."""
    text: str
    """What they are replaced by."""
    lines: tuple[int, ...]
    """The lines whose execution is a condition for seeing the change; none for what runs at
    import.
    """
    names: tuple[str, ...]
    """For what runs at import: names through which the value is used."""
    digest: str
    """Of the function around it: a result holds while that is as it was."""

    @cached_property
    def identity(self) -> str:
        """Its name, the same as long as its function says the same."""
        change = f"{self.original} -> {self.mutated}"
        return f"{self.file} {self.function} {self.operator}: {change} #{self.ordinal}"

    def apply(self, source: bytes) -> bytes:
        """Make the change."""
        start, end = self.place
        return source[:start] + self.text.encode() + source[end:]


def find_mutants(file: str, source: bytes) -> list[Mutant]:
    """List all mutants of a file, in the order of the text."""
    finder = _Finder(file, source)
    finder.visit_body(ast.parse(source).body)
    counted: dict[str, int] = {}
    mutants = []
    for mutant in finder.found:
        ordinal = counted.get(mutant.identity, 0)
        counted[mutant.identity] = ordinal + 1
        mutants.append(replace(mutant, ordinal=ordinal))
    return mutants


class _Finder:
    """Walks a module with the function and the statement that it is in."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.found: list[Mutant] = []
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.scope: list[str] = []
        self.functions: list[Function] = []
        self.lines: tuple[int, ...] = ()
        self.names: tuple[str, ...] = ()
        self.digest = ""

    # ---- statements

    def visit_body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit_statement(statement)

    def visit_statement(self, node: ast.stmt) -> None:
        if isinstance(node, Function):
            self.visit_function(node)
        elif isinstance(node, ast.ClassDef):
            self.scope.append(node.name)
            self.visit_body(node.body)
            self.scope.pop()
        elif isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
            pass  # an assertion states what holds anyway
        elif isinstance(node, ast.If) and _is_guard(node.test):
            pass
        elif self.functions:
            self.visit_inside(node)
        else:
            self.visit_import_time(node)

    def visit_function(self, node: Function) -> None:
        if node.name == "__repr__":
            return
        self.scope.append(node.name)
        if not self.functions:
            self.digest = _digest(ast.unparse(node))
        outer = self.lines
        self.functions.append(node)
        # A default is computed at import and used wherever the function runs.
        self.lines = tuple(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
        for default in (*node.args.defaults, *node.args.kw_defaults):
            self.visit_expression(default)
        self.visit_body(node.body)
        self.functions.pop()
        self.lines = outer
        self.scope.pop()

    def visit_import_time(self, node: ast.stmt) -> None:
        """A constant of a module or a class."""
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        self.names = tuple(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        self.scope.append(self.names[0] if self.names else "<module>")
        self.digest = _digest(ast.unparse(node))
        self.visit_parts(node)
        self.scope.pop()
        self.names = ()

    def visit_inside(self, node: ast.stmt) -> None:
        outer = self.lines
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno
        self.lines = tuple(range(node.lineno, max(node.lineno, last or 0) + 1))
        self.mutate_statement(node)
        if not isinstance(node, ast.Raise):
            self.visit_parts(node)
        self.lines = outer

    def mutate_statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Raise):
            self.remove(node, _short_raise(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if not _name_of(node.value.func).endswith(WORDING) or "_log" in ast.unparse(node):
                self.remove(node, ast.unparse(node))
        elif isinstance(node, ast.Delete):
            self.remove(node, ast.unparse(node))
        elif isinstance(node, ast.Assign) and self.scope[-1] not in ("__init__", "__post_init__"):
            if all(isinstance(target, ast.Attribute) for target in node.targets):
                self.remove(node, ast.unparse(node))
        elif isinstance(node, ast.Return):
            self.mutate_return(node)
        elif isinstance(node, ast.AugAssign):
            self.mutate_update(node)

    def remove(self, node: ast.stmt, original: str) -> None:
        self.add(node, "remove", original, "pass", "pass" + "\n" * self.height(node))

    def mutate_return(self, node: ast.Return) -> None:
        value = node.value
        body = [s for s in self.functions[-1].body if not _is_text(s)]
        if value is None or isinstance(value, ast.Constant) or len(body) == 1:
            return
        text = "return None" + "\n" * self.height(node)
        self.add(node, "return", ast.unparse(node), "return None", text)

    def mutate_update(self, node: ast.AugAssign) -> None:
        other = ARITHMETIC.get(type(node.op))
        if other is None or isinstance(node.op, ast.BitOr):
            return
        changed = copy.copy(node)
        changed.op = other()
        text = ast.unparse(changed) + "\n" * self.height(node)
        self.add(node, "arithmetic", ast.unparse(node), ast.unparse(changed), text)

    # ---- expressions

    def visit_parts(self, node: ast.AST) -> None:
        """Go through what a node consists of, except for annotations."""
        for name, part in ast.iter_fields(node):
            if name in ("annotation", "decorator_list", "returns", "type_comment"):
                continue
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, ast.stmt):
                    self.visit_statement(each)
                elif isinstance(each, ast.expr):
                    self.visit_expression(each)
                elif isinstance(each, ast.keyword) and each.arg in SILENT_ARGUMENTS:
                    pass
                elif isinstance(each, ast.AST):
                    self.visit_parts(each)

    def visit_expression(self, node: ast.expr | None) -> None:
        if node is None or isinstance(node, ast.JoinedStr):
            return  # Python 3.11 does not know where the parts of an f-string are
        if isinstance(node, ast.Call) and _name_of(node.func).endswith(WORDING):
            return
        for operator, changed in _change(node):
            text = ast.unparse(changed)
            if not isinstance(node, ast.Constant | ast.Call):
                text = f"({text}{chr(10) * self.height(node)})"
            elif isinstance(node, ast.Call):
                text = f"{text[:-1]}{chr(10) * self.height(node)})"
            self.add(node, operator, ast.unparse(node), ast.unparse(changed), text)
        if not _is_negative_number(node):
            self.visit_parts(node)

    # ---- what is found

    def height(self, node: ast.stmt | ast.expr) -> int:
        return (node.end_lineno or node.lineno) - node.lineno

    def add(
        self, node: ast.stmt | ast.expr, operator: str, original: str, mutated: str, text: str
    ) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        mutant = Mutant(
            file=self.file,
            function=".".join(self.scope),
            operator=operator,
            original=original,
            mutated=mutated,
            ordinal=0,
            place=(start, end),
            text=text,
            lines=self.lines if self.functions else (),
            names=self.names,
            digest=self.digest,
        )
        self.found.append(mutant)


def _change(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The changes of one expression: operator and what it becomes."""
    changed = copy.copy(node)
    if isinstance(changed, ast.Compare):
        for place, op in enumerate(changed.ops):
            ops = [*changed.ops[:place], COMPARISONS[type(op)](), *changed.ops[place + 1 :]]
            yield "comparison", ast.Compare(changed.left, ops, changed.comparators)
    elif isinstance(changed, ast.BinOp):
        if type(changed.op) in ARITHMETIC and not _is_words(changed):
            changed.op = ARITHMETIC[type(changed.op)]()
            yield "arithmetic", changed
    elif isinstance(changed, ast.BoolOp):
        changed.op = ast.Or() if isinstance(changed.op, ast.And) else ast.And()
        yield "boolean", changed
    elif isinstance(changed, ast.UnaryOp):
        if isinstance(changed.op, ast.Not):
            yield "boolean", changed.operand
        elif _is_negative_number(changed):
            yield "constant", ast.Constant(ast.literal_eval(changed) + 1)
        elif isinstance(changed.op, ast.USub):
            yield "arithmetic", changed.operand
    elif isinstance(changed, ast.Constant):
        if isinstance(changed.value, bool):
            yield "constant", ast.Constant(not changed.value)
        elif isinstance(changed.value, int | float):
            yield "constant", ast.Constant(changed.value + 1)
    elif isinstance(changed, ast.Call):
        yield from _change_call(changed)


def _change_call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = _name_of(node.func)
    if name in OPPOSITES:
        func = copy.copy(node.func)
        if isinstance(func, ast.Name):
            func.id = OPPOSITES[name]
        elif isinstance(func, ast.Attribute):
            func.attr = OPPOSITES[name]
        yield "opposite", ast.Call(func, node.args, node.keywords)
    if name in SYMMETRIC:
        return
    for place in range(len(node.args) - 1):
        first, second = node.args[place : place + 2]
        if isinstance(first, ast.Name) and isinstance(second, ast.Name) and first.id != second.id:
            args = [*node.args[:place], second, first, *node.args[place + 2 :]]
            yield "swap", ast.Call(node.func, args, node.keywords)


def _name_of(func: ast.expr) -> str:
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _short_raise(node: ast.Raise) -> str:
    """A raise without its message, whose wording does not matter."""
    if isinstance(node.exc, ast.Call):
        return f"raise {_name_of(node.exc.func)}(...)"
    return ast.unparse(node)


def _is_guard(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "__name__ == '__main__'")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_negative_number(node: ast.expr) -> bool:
    if not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)):
        return False
    return isinstance(node.operand, ast.Constant)


def _is_words(node: ast.BinOp) -> bool:
    """Whether this joins texts or types."""
    parts = (node.left, node.right)
    if isinstance(node.op, ast.BitOr) and any(_name_of(part) in TYPES for part in parts):
        return True
    if any(isinstance(part, ast.JoinedStr) for part in parts):
        return True
    constants = [part.value for part in parts if isinstance(part, ast.Constant)]
    return any(value is None or isinstance(value, str | bytes) for value in constants)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
