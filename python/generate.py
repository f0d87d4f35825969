#!/usr/bin/env python3
"""Writes `records.py`, `services.py` and `_fields.py` of the package from the declarations of the
library.

The sources of the library declare every record and request once, in `record!`, in
`#[derive(Resource)]` and in `wire_enum!`, and every operation in `service!`. This program reads
these declarations, whose form the library's own tests keep uniform.

    python3 generate.py          # writes the files
    python3 generate.py --check  # fails if they are not what would be written
"""

from __future__ import annotations

import functools
import keyword
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(__file__).resolve().parent / "python" / "stationdb"
RECORDS, SERVICES = PACKAGE / "records.py", PACKAGE / "services.py"
FIELDS = PACKAGE / "_fields.py"

ANSWERS = {"answer", "page", "batch", "created", "created batch"}
#: Arguments that are no JSON: operations with one of them have methods of their own in the package.
STREAMS = ("dyn ", "&Path", "ContentWriter", "Waveform<", "Range<", "FnMut")
#: Answers that are no JSON.
OPAQUE = (
    "ContentReader",
    "ContentWriter",
    "RowStream",
    "RecordStream",
    "SchemaRef",
    "WaveformData",
    "Vec<u8>",
)
#: The methods of the package that take the place of an operation.
OWN = {"append_results"}


@dataclass
class Member:
    name: str
    type: str
    doc: str
    wire: str


@dataclass
class Record:
    name: str
    doc: str
    form: str
    members: list[Member] = field(default_factory=list)
    required: set[str] = field(default_factory=set)


@dataclass
class Operation:
    service: str
    name: str
    doc: str
    arguments: list[tuple[str, str]]
    answer: str


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:].lower() for part in rest)


def block(text: str, at: int, pair: str = "{}") -> int:
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        char = text[at]
        if text.startswith("//", at):
            at = text.index("\n", at)
            continue
        if char == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif char == "'" and re.match(r"'(\\.|[^'\\])'", text[at : at + 4]):
            at += 3 if text[at + 1] == "\\" else 2
        elif char == pair[0]:
            depth += 1
        elif char == pair[1]:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise ValueError("a bracket is not closed")


def words(lines: list[str]) -> str:
    """The text of a doc comment, in the words of Python."""
    text = "\n".join(lines)
    text = re.split(r"\n\s*# (Errors|Panics)|```", text)[0]
    text = re.sub(r"\[`([^`\]]*)`\](\([^)]*\))?", r"`\1`", text)
    text = re.sub(r"\[([^\]`]*)\]\([^)]*\)", r"\1", text)
    return text.replace("\\", "\\\\").strip()


def errors(lines: list[str]) -> str:
    text = "\n".join(lines)
    found = re.search(r"# Errors\n(.*?)(?:\n\n|\n```|\Z)", text, re.S)
    if not found or found[1].strip().startswith("None specific"):
        return ""
    text = re.sub(r"\[`([^`\]]*)`\](\([^)]*\))?", r"`\1`", found[1]).strip()
    text = re.sub(r"`(?:\w+Service)::(\w+)`", r"`\1`", text)
    return re.sub(r"`(InvalidArgument|NotFound|Conflict|LimitExceeded|Unsupported|Corrupt|Io|NoSpace"
                  r"|PermissionDenied|PartialFailure|DeadlineExceeded|Cancelled|Locked|Latched"
                  r"|OutcomeUnknown)`", r"`\1Error`", text)


def leading(text: str, at: int) -> tuple[list[str], list[str], int]:
    """Doc lines and attributes from `at` on, and the place behind them."""
    docs: list[str] = []
    attributes: list[str] = []
    while True:
        space = re.compile(r"\s*").match(text, at)
        at = space.end() if space else at
        if text.startswith("///", at):
            end = text.index("\n", at)
            docs.append(text[at + 3 : end].strip())
            at = end
        elif text.startswith("//", at):
            at = text.index("\n", at)
        elif text.startswith("#[", at):
            end = block(text, at + 1, "[]")
            attributes.append(text[at + 2 : end - 1])
            at = end
        else:
            return docs, attributes, at


def members(text: str) -> list[Member]:
    out: list[Member] = []
    at = 0
    while True:
        docs, attributes, at = leading(text, at)
        found = re.compile(r'(?:since\("[^"]*"\)\s*)?pub (?:r#)?(\w+):\s*').match(text, at)
        if not found:
            return out
        start = at = found.end()
        depth = 0
        while at < len(text) and not (text[at] == "," and depth == 0):
            depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(text[at], 0)
            at += 1
        kind = re.sub(r"\s+", " ", text[start:at]).strip()
        at += 1
        serde = " ".join(one for one in attributes if one.startswith("serde"))
        renamed = re.search(r'rename(?:\(serialize)? = "([^"]+)"', serde)
        if "skip_deserializing" in serde or re.search(r"\bskip\b", serde):
            continue
        wire = renamed[1] if renamed else camel(found[1])
        out.append(Member(found[1], kind, words(docs), wire))


HEADER = re.compile(
    r"(?:(wire|patch|answer|page|created batch|created|batch) )?pub struct (\w+)\s*"
    r"(?:new\(([^)]*(?:\([^)]*\)[^)]*)*)\)\s*)?(?:queries\(\w+\)\s*)?(?:requires\(([^)]*)\)\s*)?"
    r"(?:also\((?:[^)]*)\)\s*)?\{"
)


def split(text: str) -> list[str]:
    """The parts between commas outside of brackets and texts."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        char = text[at]
        if char == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif char in "([<":
            depth += 1
        elif char in ")]>":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def literal(text: str) -> str:
    found = re.search(r'"((?:[^"\\]|\\.)*)"', text, re.S)
    return re.sub(r"\\\n\s*", "", found[1]) if found else ""


def derived(record: Record, attributes: list[str], into: dict[str, Record]) -> None:
    """The requests that the attributes of a record declare from its members."""
    by_name = {one.name: one for one in record.members}
    for attribute in attributes:
        found = re.match(r"(request|patch)\(\s*(\w+)\s*", attribute)
        if not found or attribute.startswith("request_"):
            continue
        form, name = ("wire" if found[1] == "request" else "patch"), found[2]
        request = into.setdefault(name, Record(name, "", form))
        rest = attribute[found.end() : attribute.rindex(")")].strip()
        if rest.startswith("="):
            request.doc = words([literal(rest)])
            continue
        if not rest.startswith("("):
            continue
        for part in split(rest[1 : block(rest, 0, "()") - 1]):
            one = re.match(r"(?:r#)?(\w+)\s*(.*)", part, re.S)
            if not one:
                continue
            own = by_name.get(one[1])
            kind, doc = (own.type, own.doc) if own else ("Option<String>", "")
            wire = own.wire if own else camel(one[1])
            more = one[2].strip()
            if more.startswith("="):
                doc = literal(more)
            elif more.startswith("("):
                for piece in split(more[1 : block(more, 0, "()") - 1]):
                    if piece.startswith('"'):
                        doc = literal(piece)
                    elif not piece.startswith("#") and piece not in ("own", "required"):
                        renamed = re.match(r'(?:also|rename)\("?', piece)
                        if not renamed:
                            kind = re.sub(r"\s+", " ", piece)
            if form == "patch" and not kind.startswith("Patch<") and kind.startswith("Option<"):
                if one[1] != "id":
                    kind = f"Patch<{kind[7:-1]}>"
            request.members.append(Member(one[1], kind, words([doc]), wire))
            if not kind.startswith(("Option<", "Patch<", "Vec<", "BTreeMap<", "bool")):
                request.required.add(one[1])


def templates(text: str) -> dict[str, tuple[list[Member], set[str]]]:
    """The members that macros of a file give to the requests that they declare."""
    out: dict[str, tuple[list[Member], set[str]]] = {}
    for found in re.finditer(r"^macro_rules! (\w+) \{", text, re.M):
        body = text[found.end() : block(text, found.end() - 1)]
        declared = re.search(r"=> \{.*?(\w+)! \{.*?pub struct \$name([^{]*)\{", body, re.S)
        if not declared:
            continue
        stop = block(body, declared.end() - 1)
        inner = body[declared.end() : stop - 1].replace("$($own)*", "")
        shared, needed = out.get(declared[1], ([], set()))
        required = re.search(r"requires\(([^)]*)\)", declared[2])
        names = {one.strip() for one in required[1].split(",")} if required else set()
        out[found[1]] = ([*members(inner), *shared], {*needed, *names})
    return out


def read_records() -> tuple[dict[str, Record], dict[str, list[tuple[str, str]]], set[str]]:
    records: dict[str, Record] = {}
    enums: dict[str, list[tuple[str, str]]] = {}
    ids: set[str] = set()
    files = sorted((ROOT / "src").rglob("*.rs"))
    files = [one for one in files if not one.name.endswith("_tests.rs") and one.name != "tests.rs"]
    for path in files:
        text = path.read_text(encoding="utf-8")
        ids.update(re.findall(r"id_type!\(\s*(?:///[^\n]*\s*)*(\w+)", text))
        for found in re.finditer(r"^wire_enum! \{", text, re.M):
            end = block(text, found.end() - 1)
            inner = text[found.end() : end - 1]
            for one in re.finditer(r"pub enum (\w+) \{", inner):
                stop = block(inner, one.end() - 1)
                values = []
                at = one.end()
                while True:
                    docs, _, at = leading(inner, at)
                    value = re.compile(r'(\w+) = "([^"]+)",?').match(inner, at)
                    if not value or at >= stop:
                        break
                    values.append((value[2], words(docs)))
                    at = value.end()
                enums[one[1]] = values
        macros = templates(text)
        forms = "|".join(["record", *macros])
        for found in re.finditer(rf"^({forms})! \{{", text, re.M):
            end = block(text, found.end() - 1)
            at = found.end()
            shared, needed = macros.get(found[1], ([], set()))
            while True:
                docs, attributes, at = leading(text, at)
                header = HEADER.match(text, at)
                if not header or at >= end:
                    break
                stop = block(text, header.end() - 1)
                record = Record(header[2], words(docs), header[1] or "plain")
                record.members = members(text[header.end() : stop - 1])
                record.members += shared
                record.required = set(needed)
                if shared:
                    record.form = "wire"
                if header[4]:
                    record.required |= {one.strip() for one in header[4].split(",")}
                if header[3] and record.form in ("wire", "patch"):
                    record.required |= {one.partition(":")[0].strip() for one in split(header[3])}
                records[record.name] = record
                derived(record, attributes, records)
                at = stop
        for found in re.finditer(r"^pub struct (\w+) \{", text, re.M):
            head = text[: found.start()]
            begin = max(head.rfind("\n\n"), 0)
            docs, attributes, _ = leading(text, begin)
            if not any(re.search(r"derive\([^)]*\b(Resource|Serialize)\b", one, re.S) for one in attributes):
                continue
            stop = block(text, found.end() - 1)
            is_read = any("Deserialize" in one or "Resource" in one for one in attributes)
            # What a store tells of itself is read by the store alone.
            is_answer = path.is_relative_to(ROOT / "src" / "store") or not is_read
            record = Record(found[1], words(docs), "answer" if is_answer else "plain")
            record.members = members(text[found.end() : stop - 1])
            records.setdefault(record.name, record)
            derived(record, attributes, records)
    return records, enums, ids


def read_operations() -> list[Operation]:
    out: list[Operation] = []
    for path in sorted((ROOT / "src" / "services").rglob("*.rs")):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"^service! \{", text, re.M):
            end = block(text, found.end() - 1)
            trait = re.compile(r"pub trait (\w+) \{").search(text, found.end(), end)
            if not trait:
                continue
            at = trait.end()
            while True:
                docs, _, at = leading(text, at)
                head = re.compile(r"fn (\w+)\(").match(text, at)
                if not head or at >= end:
                    break
                close = block(text, head.end() - 1, "()")
                arguments = []
                for part in split(text[head.end() : close - 1])[1:]:
                    name, _, kind = part.partition(":")
                    arguments.append((name.strip(), re.sub(r"\s+", " ", kind.strip())))
                body = text.index("{", close)
                answer = re.sub(r"\s+", " ", text[close:body]).strip().removeprefix("->").strip()
                answer = re.sub(r"^Result<(.*)>$", r"\1", answer)
                lines = docs
                op = Operation(trait[1], head[1], words(lines), arguments, answer)
                op.doc = op.doc + ("\n\nErrors: " + errors(lines) if errors(lines) else "")
                out.append(op)
                at = block(text, body)
    return out


def exported() -> set[str]:
    text = (ROOT / "src" / "lib.rs").read_text(encoding="utf-8")
    found: set[str] = set()
    for one in re.finditer(r"pub use [\w:]+::\{([^}]*)\};", text):
        found.update(re.findall(r"\w+", one[1]))
    found.update(re.findall(r"pub use [\w:]+::(\w+);", text))
    return found


class Types:
    def __init__(self, records: dict[str, Record], enums: dict[str, list[tuple[str, str]]], ids: set[str]):
        self.records, self.enums, self.ids = records, enums, ids

    def python(self, rust: str) -> str:
        rust = rust.strip().lstrip("&").replace("mut ", "").replace("crate::model::", "")
        rust = rust.rpartition("::")[2] if "<" not in rust else rust
        if rust.startswith("["):
            return f"list[{self.python(rust[1:-1])}]"
        for wrapper in ("Option<", "Patch<"):
            if rust.startswith(wrapper):
                inner = self.python(rust[len(wrapper) : -1])
                return inner if inner == "Any" else f"{inner} | None"
        if rust.startswith(("Vec<", "BTreeSet<")):
            return f"list[{self.python(rust[rust.index('<') + 1 : -1])}]"
        if rust.startswith("BTreeMap<"):
            key, value = split(rust[9:-1])
            return f"dict[{self.python(key)}, {self.python(value)}]"
        if rust.startswith("Box<") or rust.startswith("Arc<"):
            return self.python(rust[4:-1])
        if rust in ("String", "str", "State", "PlannedTime") or rust in self.ids:
            return "str"
        if rust in ("DateTime<Utc>",):
            return "datetime"
        if rust in ("i64", "u64", "i32", "u32", "usize", "u8"):
            return "int"
        if rust in ("f64", "f32"):
            return "float"
        if rust == "Number":
            return "int | float"
        if rust == "bool":
            return "bool"
        if rust in self.enums:
            return rust
        if rust in self.records:
            return rust
        if re.search(r"(OrderBy|Projection|Field|EnumValue)$", rust):
            return "str"
        return "Any"


def attribute(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def doc(text: str, indent: str) -> str:
    paragraphs = []
    for part in text.split("\n\n"):
        width = 98 - len(indent)
        paragraphs.append(
            textwrap.fill(" ".join(part.split()), width, break_long_words=False, break_on_hyphens=False)
        )
    body = "\n\n".join(paragraphs)
    if "\n" not in body and len(body) + len(indent) + 6 <= 98:
        return f'{indent}"""{body}"""'
    body = textwrap.indent(body, indent)
    return f'{indent}"""{body.strip()}\n{indent}"""'


def comment(text: str, indent: str) -> str:
    text = " ".join(text.replace("\\\\", "\\").split())
    lines = textwrap.wrap(text, 96 - len(indent), break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"{indent}#: {line}" for line in lines)


def reader(python: str, records: dict[str, Record]) -> str | None:
    """What turns the wire form of a member into its value; None if they are the same."""
    python = python.removesuffix(" | None")
    if python == "datetime":
        return '"time"'
    if python in records:
        return f'"{python}"'
    found = re.fullmatch(r"list\[(\w+)\]", python)
    if found and (found[1] in records or found[1] == "datetime"):
        inner = "time" if found[1] == "datetime" else found[1]
        return f'["{inner}"]'
    found = re.fullmatch(r"dict\[str, (\w+)\]", python)
    if found and found[1] in records:
        return f'{{"": "{found[1]}"}}'
    return None


PREFACE = '"""{doc}\n\nGenerated by `generate.py` from the declarations of the library: do not edit.\n"""\n'


def is_bare(name: str, records: dict[str, Record]) -> bool:
    """Whether an answer of this name is made without a member."""
    return name in records and records[name].form in ANSWERS


def write_records(records: dict[str, Record], enums: dict[str, list[tuple[str, str]]], types: Types) -> str:
    public = exported()
    names = sorted(name for name in records if name in public)
    out = [PREFACE.format(doc="Records and requests of the library as dataclasses, in the wire spelling.")]
    out.append("from __future__ import annotations\n")
    out.append("from dataclasses import dataclass")
    out.append("from dataclasses import field as _field")
    out.append("from datetime import datetime")
    out.append("from typing import Any, ClassVar, Literal\n")
    out.append("from ._record import UNSET, Record, Unset\n")
    used = sorted(
        name
        for name in enums
        if any(re.search(rf"\b{name}\b", types.python(one.type)) for r in names for one in records[r].members)
    )
    out.append("__all__ = [")
    out += [f'    "{name}",' for name in sorted([*names, *used])]
    out.append("]\n")
    for name in used:
        texts = ", ".join(f'"{value}"' for value, _ in enums[name])
        line = f"{name} = Literal[{texts}]"
        if len(line) > 100:
            inner = ",\n    ".join(f'"{value}"' for value, _ in enums[name])
            line = f"{name} = Literal[\n    {inner},\n]"
        out.append(line)
    out.append("")
    for name in names:
        record = records[name]
        out.append("\n@dataclass(slots=True, kw_only=True)")
        out.append(f"class {name}(Record):")
        out.append(doc(record.doc or name, "    ") + "\n")
        fields: list[str] = []
        table: list[str] = []
        for one in record.members:
            python = types.python(one.type)
            is_patch = one.type.startswith("Patch<")
            is_optional = one.type.startswith("Option<")
            default: str | None = "None"
            if is_patch:
                python, default = f"{python} | Unset", "UNSET"
                python = "Any" if python.startswith("Any") else python
            elif is_optional and one.name in record.required and record.form != "patch":
                pass
            elif not is_optional:
                if one.name in record.required and record.form not in ANSWERS:
                    default = None
                elif python.startswith("list["):
                    default = "_field(default_factory=list)"
                elif python.startswith("dict["):
                    default = "_field(default_factory=dict)"
                elif record.form in ANSWERS and is_bare(python, records):
                    default = f"_field(default_factory=lambda: {python}())"
                elif record.form in ANSWERS and python in ("int", "float", "str", "bool"):
                    default = {"int": "0", "float": "0.0", "str": '""', "bool": "False"}[python]
                elif python == "bool":
                    default = "False"
                elif python != "Any":
                    python = f"{python} | None"
            if one.doc:
                fields.append(comment(one.doc, "    "))
            end = "" if default is None else f" = {default}"
            fields.append(f"    {attribute(one.name)}: {python}{end}")
            base = re.sub(r" \| (None|Unset)", "", python)
            read = reader(base, records)
            table.append(f'        ("{attribute(one.name)}", "{one.wire}", {read}),')
        out += fields
        out.append("\n    _MEMBERS: ClassVar[tuple[tuple[str, str, Any], ...]] = (")
        out += table
        out.append("    )\n")
    return "\n".join(out).rstrip() + "\n"


SERVICES_OF = {
    "ProductService": [("Products", "product", "products")],
    "SpecificationService": [("Specs", "spec", "specs")],
    "AssetService": [("Assets", "asset", "assets")],
    "WorkItemService": [
        ("WorkItems", "work_item", "work_items"),
        ("Templates", "work_item_template", "work_item_templates"),
    ],
    "TestPlanService": [
        ("TestPlans", "test_plan", "test_plans"),
        ("TestPlanTemplates", "test_plan_template", "test_plan_templates"),
    ],
    "ResultService": [("Results", "result", "results"), ("Steps", "step", "steps")],
    "FeedService": [("Feeds", "feed", "feeds")],
    "WorkspaceService": [("Workspaces", "workspace", "workspaces")],
    "FileService": [("Files", "file", "files")],
    "TableService": [("TableRecords", "table", "tables")],
}
"""Classes of services, with the singular and the plural in the names of their operations."""


def is_json(op: Operation) -> bool:
    return not any(part in kind for _, kind in op.arguments for part in STREAMS) and not any(
        part in op.answer for part in OPAQUE
    )


def vec_of(record: Record | None) -> tuple[str, str] | None:
    """The member of a request or answer that has the list of records, and what it lists."""
    for one in record.members if record else []:
        found = re.fullmatch(r"(?:Option<)?Vec<(\w+)>>?", one.type)
        if found:
            return one.wire, found[1]
    return None


def plan(kind: str, one: str, many: str, ops: dict[str, Operation], records: dict[str, Record]) -> list[str]:
    """The operations of a collection, and where their lists are, as keyword arguments."""
    out: list[str] = []
    query = ops.get(f"query_{many}_linq") or ops.get(f"query_{many}") or ops.get(f"list_{many}")
    if query:
        argument, request = query.arguments[0]
        listed = vec_of(records.get(query.answer))
        out.append(f'query=("{query.name}", "{argument}", "{listed[0] if listed else many}")')
        out.append(f"request={request}")
        names = {member.wire for member in records[request].members} if request in records else set()
        has = {
            "order": "orderBy" in names,
            "desc": next((n for n in ("descending", "orderByDescending") if n in names), None),
            "fields": "projection" in names,
            "count": "returnCount" in names,
            "substitutions": "substitutions" in names,
            "filter": next((n for n in ("filter",) if n in names), None),
            "token": "continuationToken" in names,
            "skip": "skip" in names,
        }
        out.append(f"asks={has!r}".replace("'", '"'))
    explain = ops.get(f"explain_{query.name}") if query else None
    if explain:
        out.append(f'explain=("{explain.name}", "{explain.arguments[0][0]}")')
    get = ops.get(f"get_{one}") or ops.get(f"get_{one}_metadata")
    if get and len(get.arguments) == 1:
        out.append(f'get="{get.name}"')
    for verb in ("create", "update"):
        op = ops.get(f"{verb}_{many}") or ops.get(f"{verb}_{one}")
        if not op:
            continue
        arguments = dict(op.arguments)
        many_of = next((name for name, kind in op.arguments if kind.startswith("Vec<")), None)
        path: list[str]
        if many_of:
            path, item = [many_of], arguments[many_of][4:-1]
        else:
            name = op.arguments[-1][0]
            request = arguments[name]
            inner = vec_of(records.get(request)) if request.endswith("sRequest") else None
            path, item = ([name, inner[0]], inner[1]) if inner else ([name], request)
        answer = re.sub(r"^Option<(.*)>$", r"\1", op.answer)
        made = vec_of(records.get(answer)) if answer in records and answer != kind else None
        more = [(name, k) for name, k in op.arguments if name != path[0]]
        is_many = bool(many_of) or len(path) > 1
        flags = [name for name, k in more if k == "bool"]
        ids = [name for name, k in more if k.startswith("&")]
        replace = "replace" in flags or (
            len(path) > 1 and any(m.name == "replace" for m in records[arguments[path[0]]].members)
        )
        out.append(
            f'{verb}=Write("{op.name}", {tuple(path)!r}, {item}, {(made[0] if made else None)!r}, '
            f"many={is_many}, flags={tuple(flags)!r}, id={(ids[0] if ids else None)!r}, "
            f"replace={replace})"
        )
    op = ops.get(f"delete_{many}") or ops.get(f"delete_{one}")
    if op and not re.search(r"Vec<\w*Pair>", op.arguments[0][1]):
        name, kind_ = op.arguments[0]
        flags = [name for name, k in op.arguments if k == "bool"]
        out.append(
            f'delete=Delete("{op.name}", "{name}", many={kind_.startswith("Vec")}, '
            f"flags={tuple(flags)!r})"
        )
    return out


RECORD_OF = {
    "product": "Product", "spec": "Specification", "asset": "Asset", "work_item": "WorkItem",
    "test_plan": "TestPlan", "result": "TestResult", "feed": "Feed", "workspace": "Workspace",
    "file": "FileLinqMetadata", "table": "TableMetadata", "work_item_template": "WorkItemTemplate",
    "test_plan_template": "TestPlanTemplate", "step": "Step",
}


@functools.cache
def set_when_absent() -> set[str]:
    """The flags that a request sets by leaving them out."""
    text = (ROOT / "src" / "model" / "bodies.rs").read_text(encoding="utf-8")
    return set(re.findall(r"true when absent\.\n\s*pub (\w+): Option<bool>", text))


#: Members of a query that `Collection.query` has under other names, or asks for itself.
ASKED = {
    "filter", "substitutions", "take", "skip", "order_by", "descending", "order_by_descending",
    "projection", "continuation_token", "return_count", "response_format",
}


def given(python: str, records: dict[str, Record]) -> str:
    """The type of a member where its value is given: also in the wire form."""
    python = python.removesuffix(" | None")
    found = re.fullmatch(r"list\[(.*)\]", python)
    if found:
        return f"Iterable[{given(found[1], records)}]"
    found = re.fullmatch(r"dict\[str, (.*)\]", python)
    if found:
        return f"Mapping[str, {given(found[1], records)}]"
    if python == "Status":
        return "Status | StatusType | Mapping[str, Any]"
    if python in records:
        return f"{python} | Mapping[str, Any]"
    return {"datetime": "datetime | str", "float": "float"}.get(python, python)


def fields_of(name: str, request: Record, types: Types, records: dict[str, Record], without: set[str]) -> str | None:
    """The members of a request as a `TypedDict`; None if there are none."""
    lines = [f"class {name}(TypedDict, total=False):", f'    """The members of `{request.name}` by their names."""', ""]
    count = len(lines)
    for one in request.members:
        if one.name in without:
            continue
        python = given(types.python(one.type), records)
        if python != "Any":
            # Records may have no id, for checkers of types.
            if one.name.endswith("ids"):
                python = python.replace("[str]", "[str | None]")
            python += " | None"
            python += " | Unset" if one.type.startswith("Patch<") else ""
        lines.append(f"    {attribute(one.name)}: {python}")
    return "\n".join(lines) if len(lines) > count else None


def typed(
    name: str, kind: str, parts: list[str], types: Types, records: dict[str, Record], fields: dict[str, str]
) -> list[str]:
    """The methods of a collection with the members of their requests, for checkers of types."""
    out: list[str] = []
    text = "\n".join(parts)

    def add(method: str, request: str, before: list[str], without: set[str], as_name: str) -> None:
        if request not in records:
            return
        made = fields_of(as_name, records[request], types, records, without)
        members = [f"**{'members' if method == 'query' else 'fields'}: Unpack[_fields.{as_name}]"] if made else []
        if made:
            fields[as_name] = made
        answer = f"Query[{kind}]" if method == "query" else kind
        out.append(f"        def {method}(  # type: ignore[override]")
        out.append("            " + ", ".join(["self", *before, *members]))
        out.append(f"        ) -> {answer}: ...\n")

    create = re.search(r"create=Write\(\"\w+\", .*?\), (\w+),", text)
    if create:
        item = create[1]
        record = f"record: {item} | Mapping[str, Any] | HasModelDump | None = None"
        add("create", item, [record, "/"], set(), f"{item}Fields")
    query = re.search(r"^request=(\w+)", text, re.M)
    if query:
        asks = [
            "filter: str | None = None", "/", "*substitutions: Any", "order: str | None = None",
            "desc: bool = False", "take: int | None = None", "fields: Iterable[str] | None = None",
        ]
        add("query", query[1], asks, ASKED, f"{name}QueryFields")
    update = re.search(r"update=Write\(\"\w+\", .*?\), (\w+),", text)
    # A step is known by its result too: the package has that method by hand.
    if update and name != "Steps":
        of = ["id: str", "/", "*", "replace: bool = False"]
        add("update", update[1], of, {"id", "replace"}, f"{update[1]}Changes")
    return ["    if TYPE_CHECKING:\n", *out] if out else []


def method(
    op: Operation, types: Types, records: dict[str, Record], fields: dict[str, str]
) -> list[str]:
    """A method for an operation: the members of its request are keyword arguments."""
    plain: list[str] = []
    passed: list[str] = []
    keywords: list[str] = []
    requested = None
    for name, rust in op.arguments:
        if rust == "&Control":
            continue
        bare = rust.removeprefix("&")
        if bare in records and bare.endswith("Request") or bare == "ResultRetention":
            requested = (name, bare)
            continue
        python = types.python(rust)
        item = re.fullmatch(r"list\[(\w+)\]", python)
        if item and item[1] in records:
            python = f"Iterable[{item[1]} | dict[str, Any]]"
            passed.append(f'"{name}": wires({attribute(name)})')
        elif python.removesuffix(" | None") in records:
            python = python.replace(python.split(" ")[0], f"{python.split(' ')[0]} | dict[str, Any]")
            passed.append(f'"{name}": wire({attribute(name)})')
        elif python.startswith("datetime"):
            passed.append(f'"{name}": wire({attribute(name)})')
        else:
            passed.append(f'"{name}": {attribute(name)}')
        is_set = name in set_when_absent()
        default = {"bool": f" = {is_set}"}.get(python, " = None" if python.endswith("| None") else "")
        target = keywords if default else plain
        target.append(f"{attribute(name)}: {python}{default}")
    if requested:
        name, bare = requested
        plain.append(f"request: {bare} | dict[str, Any] | None = None")
        plain.append("/")
        passed.append(f'"{name}": merged({bare}, request, fields)')
        made = fields_of(f"{bare}Fields", records[bare], types, records, set())
        if made:
            fields[f"{bare}Fields"] = made
            keywords.append(f"**fields: Unpack[_fields.{bare}Fields]")
    parameters = ["self", *plain]
    if any(not one.startswith("**") for one in keywords):
        parameters.append("*")
    parameters += keywords
    answer = types.python(op.answer) if op.answer != "()" else "None"
    line = f"    def {op.name}({', '.join(parameters)}) -> {answer}:"
    if len(line) > 100:
        line = f"    def {op.name}(\n        " + ", ".join(parameters) + f"\n    ) -> {answer}:"
    text = op.doc
    if requested:
        text += f"\n\nThe request is a `{requested[1]}`, or its members by their names."
    out = [line, doc(text, "        ")]
    call = f'self._call("{op.name}", {{{", ".join(passed)}}})'
    base = answer.removesuffix(" | None")
    item = re.fullmatch(r"list\[(\w+)\]", base)
    if answer == "None":
        out.append(f"        {call}")
    elif base in records:
        maybe = "maybe" if answer != base else "record"
        out.append(f"        return {maybe}({base}, {call})")
    elif item and item[1] in records:
        out.append(f"        return [record({item[1]}, one) for one in {call}]")
    elif answer == "Any":
        out.append(f"        return {call}")
    else:
        out.append(f"        return cast({answer!r}, {call})".replace("'", '"'))
    return [*out, ""]


def write_services(
    ops: list[Operation], records: dict[str, Record], types: Types, fields: dict[str, str]
) -> str:
    """The services. The members of their requests are added to `fields`."""
    public = exported()
    shown = {name: one for name, one in records.items() if name in public}
    out = [PREFACE.format(doc="The services of the library: a collection for each kind of record.")]
    out.append("from __future__ import annotations\n")
    out.append("from collections.abc import Iterable, Mapping")
    out.append("from datetime import datetime")
    out.append("from typing import TYPE_CHECKING, Any, Unpack, cast\n")
    out.append("from ._collection import (")
    out.append("    Collection,\n    Delete,\n    Operations,\n    Query,\n    Write,\n    maybe,\n    merged,\n    record,\n    wire,\n    wires,\n)")
    body: list[str] = []
    used: set[str] = set()
    for service, groups in SERVICES_OF.items():
        mine = [op for op in ops if op.service == service]
        by_name = {op.name: op for op in mine}
        for name, one, many in groups:
            kind = RECORD_OF[one]
            body.append(f"\n\nclass {name}(Collection[{kind}]):")
            body.append(f'    """The {many.replace("_", " ")} of a store."""\n')
            body.append("    __slots__ = ()\n")
            body.append(f"    _plan = Operations(")
            body.append(f"        record={kind},")
            parts = plan(kind, one, many, by_name, records)
            body += [f"        {part}," for part in parts]
            body.append("    )\n")
            body += typed(name, kind, parts, types, shown, fields)
            # The operations of a service are methods of its first collection.
            for op in mine if groups[0][0] == name else ():
                if is_json(op) and op.name not in OWN:
                    body += method(op, types, shown, fields)
    text = "\n".join(body)
    for name in sorted([*shown, *types.enums]):
        if re.search(rf"\b{name}\b", text):
            used.add(name)
    out.append("from .records import (")
    out += [f"    {name}," for name in sorted(used)]
    out.append(")")
    out.append("\nif TYPE_CHECKING:\n    from . import _fields\n    from ._record import HasModelDump")
    out.append("\n__all__ = [")
    out += [f'    "{name}",' for name in sorted(n for g in SERVICES_OF.values() for n, _, _ in g)]
    out.append("]")
    return "\n".join(out) + text.rstrip() + "\n"


def write_fields(fields: dict[str, str], records: dict[str, Record], types: Types) -> str:
    """The members of requests as keywords."""
    out = [PREFACE.format(doc="The members of requests as keywords, for checkers of types alone.")]
    out.append("from __future__ import annotations\n")
    out.append("from collections.abc import Iterable, Mapping")
    out.append("from datetime import datetime")
    out.append("from typing import Any, TypedDict\n")
    out.append("from ._record import Unset")
    body = "\n\n\n".join(fields[name] for name in sorted(fields))
    out.append("from .records import (")
    public = exported()
    for name in sorted([*(one for one in records if one in public), *types.enums]):
        if re.search(rf"(?<![`\w]){name}\b(?!\()", body):
            out.append(f"    {name},")
    out.append(")\n\n")
    return "\n".join(out) + body + "\n"


def main() -> int:
    records, enums, ids = read_records()
    types = Types({name: one for name, one in records.items() if name in exported()}, enums, ids)
    ops = read_operations()
    fields: dict[str, str] = {}
    files = {
        RECORDS: write_records(records, enums, types),
        SERVICES: write_services(ops, records, types, fields),
        FIELDS: write_fields(fields, records, types),
    }
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, text in files.items() if path.read_text(encoding="utf-8") != text]
        if stale:
            print(f"run python/generate.py and commit {', '.join(stale)}", file=sys.stderr)
        return bool(stale)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    print(f"{len(records)} records, {len(enums)} enumerations, {len(ops)} operations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
