#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what the Python package repeats of gemel's builders, from their own declarations.

    bind.py ops.h composite.h --thunks builders.inc --functions _functions.py

Each builder `gemel_NAME_at(..., gemel_location where)` in the headers becomes a C function that calls it with
arguments of one kind (the thunks, included by native/builders.c), and a function of Python with the builder's
comment and options. A builder whose parameters are of other kinds, as those of loops, is left out. What Python
calls otherwise than C stands in the tables below; what is written by hand there is in gemel/_names.py.
"""
import argparse
import re
import textwrap

# Left to gemel/_names.py, where they have NumPy's parameters.
BY_HAND = {"reshape", "reshape_to", "full", "scalar_like", "full_like", "pad", "split", "arange", "size",
           "transpose", "permute", "squeeze", "slice", "slice_step", "index", "dropout", "random_bits",
           "random_uniform", "random_normal", "broadcast_to", "cast", "bitcast", "subtensor", "set_subtensor",
           "inc_subtensor", "transfer", "expand_dims"}
# Defaults of parameters that C must be given.
DEFAULTS = {("concatenate", "axis"): "0", ("stack", "axis"): "0", ("sort", "axis"): "-1", ("sort", "descending"): "0",
            ("top_k", "axis"): "-1", ("top_k", "smallest"): "0", ("put_along_axis", "mode"): "None",
            ("argsort", "axis"): "-1", ("eye", "dtype"): "f32", ("one_hot", "dtype"): "f32"}
# Parameters with another name.
RENAMED = {"axes": "axis"}
RENAMED_IN = {"where": {"x": "condition", "y": "x", "z": "y"}, "clip": {"y": "low", "z": "high"}}
# Words of comments that name parameters by their names in C.
SAID_IN = {"where": ("y where x differs from 0, z elsewhere", "x where condition differs from 0, y elsewhere")}
# Lists that are given one by one.
STARRED = {"einsum"}

# C type of a parameter, or of an option: the letter of its kind, the member of `argument`, the type in Python.
KINDS = {
    "gemel_value": ("v", "value", "ArrayLike"),
    "int64_t": ("i", "i", "int"),
    "int": ("i", "i", "int"),
    "double": ("f", "f", "float"),
    "gemel_dtype": ("d", "dtype", "DTypeLike"),
    "const char *": ("s", "text", "str"),
    "gemel_dim": ("m", "dim", "DimLike"),
}
LISTS = {
    "gemel_value": ("V", "values", "Sequence[ArrayLike]"),
    "int64_t": ("I", "ints", "Axes"),
    "gemel_dim": ("M", "dims", "Sequence[DimLike]"),
}
OPTIONS = {"gemel_value": ("w", "value", "ArrayLike"), "gemel_ints": ("I", "ints", "Axes"), "gemel_dims": ("M", "dims", "Sequence[DimLike]")}


class Parameter:
    def __init__(self, name, kind, member, annotation, default=None):
        self.name, self.kind, self.member, self.annotation, self.default = name, kind, member, annotation, default
        self.python = RENAMED.get(name, name)

    def signature(self):
        text = f"{self.python}: {self.annotation}"
        if self.default is None:
            return text
        optional = "" if self.default != "None" or self.annotation == "Axes" else " | None"
        return f"{text}{optional} = {self.default}"


class Builder:
    """One builder: its parameters, of which some are members of an options struct, and what it says."""

    def __init__(self, name, comment):
        self.name, self.comment = name, comment
        self.parameters = []
        self.call = []  # the arguments of the call in C
        self.options = None  # the struct, and its members as parameters
        self.next = None  # the name of a value that it gives besides

    def declared(self):
        """The parameters of the function of Python: those without a default first."""
        own = self.parameters
        for p in own:
            p.python = RENAMED_IN.get(self.name, {}).get(p.name, p.python)
        return [p for p in own if p.default is None] + [p for p in own if p.default is not None]


def comments_and_code(text):
    """The header as (comment, code) pairs, each piece of code with the comment before it."""
    for match in re.finditer(r"/\*(.*?)\*/(.*?)(?=/\*|\Z)", text, re.S):
        comment = re.sub(r"\n \*", "\n", match.group(1))
        yield re.sub(r"\s+", " ", comment).strip(), match.group(2)


def read_structs(text):
    structs = {}
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for match in re.finditer(r"typedef struct (gemel_\w+_options) \{(.*?)\}", text, re.S):
        members = []
        for line in match.group(2).split(";"):
            if line.strip():
                kind, name = re.fullmatch(r"\s*(.*?[ *])(\w+)\s*", line, re.S).groups()
                members.append((kind.strip(), name))
        structs[match.group(1)] = members
    return structs


def defaults_said(comment):
    """Of "Attributes: axes: ints = none, keepdims: int = 0." the defaults by name."""
    found = re.search(r"Attributes: (.*?)\. Null value", comment)
    return dict(re.findall(r"(\w+): \w+ = (-?[\w.]+(?:-\d+)?)", found.group(1))) if found else {}


def python_default(kind, text):
    if text is None or text == "none":
        return "0" if text is None and kind in "if" else "None"
    return f'"{text}"' if kind in "sd" else text


def read_builder(name, comment, declared, structs, struct_defaults):
    """The builder, or None if it has a parameter of a kind that isn't known."""
    builder = Builder(name, comment)
    said = defaults_said(comment)
    parts = [p.strip() for p in declared.split(",")]
    k = 0
    while k < len(parts):
        kind, parameter = re.fullmatch(r"(.*?[ *])(\w+)", parts[k]).groups()
        kind = kind.strip()
        default = DEFAULTS.get((name, parameter))
        if default is None and parameter in said:
            default = said[parameter]
        if kind == "gemel_location":
            builder.call.append("where")
        elif kind == "gemel_graph *" and parameter == "graph":
            builder.call.append("graph")
        elif kind == "gemel_value *":
            builder.next = parameter
            builder.call.append("next")
        elif kind == "size_t" and parameter.startswith("n_"):
            k += 1
            kind, parameter = re.fullmatch(r"const (\w+) \*(\w+)", parts[k]).groups()
            if kind not in LISTS:
                return None
            letter, member, annotation = LISTS[kind]
            place = len(builder.parameters)
            builder.parameters.append(Parameter(parameter, letter, member, annotation))
            builder.call += [f"a[{place}].{member}.count", f"a[{place}].{member}.values"]
        elif re.fullmatch(r"const gemel_\w+_options \*", kind):
            struct = kind[len("const "):-2]
            builder.options = (struct, [])
            builder.call.append("&options")
            for member_kind, member_name in structs[struct]:
                if member_name == "size":
                    builder.options[1].append(("size", "sizeof options"))
                    continue
                known = OPTIONS.get(member_kind) or KINDS.get(member_kind)
                if known is None:
                    return None
                letter, member, annotation = known
                text = said.get(member_name, struct_defaults.get(struct, {}).get(member_name))
                builder.options[1].append((member_name, f"a[{len(builder.parameters)}].{member}"))
                builder.parameters.append(
                    Parameter(member_name, letter, member, annotation, python_default(letter, text)))
        elif kind in KINDS:
            letter, member, annotation = KINDS[kind]
            if default is not None:
                default = python_default(letter, default) if default != "None" else "None"
            cast = "(int)" if kind == "int" else ""
            builder.call.append(f"{cast}a[{len(builder.parameters)}].{member}")
            builder.parameters.append(Parameter(parameter, letter, member, annotation, default))
        else:
            return None
        k += 1
    return builder if builder.call and builder.call[-1] == "where" else None


def read_headers(paths):
    texts = [open(path, encoding="utf-8").read() for path in paths]
    structs = {}
    for text in texts:
        structs.update(read_structs(text))
    builders, struct_defaults = {}, {}
    for text in texts:
        for comment, code in comments_and_code(text):
            for match in re.finditer(r"gemel_value gemel_(\w+)_at\(([^)]*)\)\s*[;{]", code):
                name, declared = match.group(1), re.sub(r"\s+", " ", match.group(2))
                builder = read_builder(name, comment, declared, structs, struct_defaults)
                if builder is not None:
                    builders[name] = builder
                    if builder.options is not None:
                        struct_defaults.setdefault(builder.options[0], defaults_said(comment))
    return list(builders.values())


def write_thunks(builders, file):
    file.write("/* Generated by python/bind.py from <gemel/ops.h> and <gemel/composite.h>. */\n")
    for b in builders:
        file.write(f"static gemel_value call_{b.name}(const argument *a, gemel_graph *graph, gemel_value *next,\n"
                   f"                                 gemel_location where) {{\n")
        if b.options is not None:
            file.write(f"  {b.options[0]} options = {{0}};\n")
            file.writelines(f"  options.{name} = {value};\n" for name, value in b.options[1])
        used = " ".join(re.sub(r"\.\w+", "", argument) for argument in b.call)
        for name in ("a", "graph", "next"):
            if not (re.search(rf"\b{name}\b", used) or (name == "a" and b.parameters)):
                file.write(f"  (void){name};\n")
        file.write(f"  return gemel_{b.name}_at({', '.join(b.call)});\n}}\n")
    file.write("static const bound_builder builders[] = {\n")
    for b in builders:
        kinds = "".join(p.kind for p in b.parameters)
        file.write(f'    {{"{b.name}", "{kinds}", {int(b.next is not None)}, call_{b.name}}},\n')
    file.write("};\n")


def documentation(builder):
    comment = builder.comment.replace(*SAID_IN.get(builder.name, ("", "")))
    comment = re.sub(r" ?(Inputs|Attributes): .*", "", comment)
    comment = re.sub(r" ?Errors: .*", "", comment)
    text = "\n".join(textwrap.wrap(comment.replace("gemel_", "").replace("\\", "\\\\"), 100))
    return text.replace("\n", "\n    ")


FUNCTIONS_HEAD = '''# SPDX-License-Identifier: MIT
"""gemel's operations as functions of Python; generated by python/bind.py from gemel's headers."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from ._place import call as _call
from ._types import ArrayLike, Axes, DimLike, DTypeLike

if TYPE_CHECKING:
    from ._values import Value

'''


def write_functions(builders, file):
    file.write(FUNCTIONS_HEAD)
    public = [b for b in builders if b.name not in BY_HAND]
    file.write("__all__ = [\n" + "".join(f'    "{b.name}",\n' for b in public) + "]\n")
    for k, b in enumerate(builders):
        if b.name in BY_HAND:
            continue
        parameters = b.declared()
        signature = [p.signature() for p in parameters]
        if b.name in STARRED:
            last = signature.pop()
            signature.append("*" + last.split(":")[0] + ": ArrayLike")
        result = "tuple[Value, Value]" if b.next is not None else "Value"
        file.write(f"\n\ndef {b.name}({', '.join(signature)}) -> {result}:\n")
        file.write(f'    """{documentation(b)}"""\n')
        file.write(f"    return _call({k}, {', '.join(p.python for p in b.parameters)})\n")
    file.write("\n\n_INDEX = {\n" + "".join(f'    "{b.name}": {k},\n' for k, b in enumerate(builders)) + "}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("headers", nargs="+")
    parser.add_argument("--thunks", required=True)
    parser.add_argument("--functions", required=True)
    arguments = parser.parse_args()
    builders = read_headers(arguments.headers)
    with open(arguments.thunks, "w", encoding="utf-8") as file:
        write_thunks(builders, file)
    with open(arguments.functions, "w", encoding="utf-8") as file:
        write_functions(builders, file)


if __name__ == "__main__":
    main()
