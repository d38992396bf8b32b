"""Each verb on each layout: what it is given, marked ``«so»``, and what must come out, or None."""

from __future__ import annotations

from functools import partial

import pytest

from jaxpert.fixing import verbs
from tests.fixing.marked import SURROUNDINGS, Verb, applied

REPLACE = partial(verbs.replace_expression, new_source="a if b else c")
RETURN = partial(verbs.replace_expression, new_source="return False")
CALL = partial(verbs.call_expression, arguments_source='"a", *b')
BOOL = partial(verbs.wrap_call, function="bool")
ASSIGN = partial(verbs.assign_result, target="x")

CASES: list[tuple[Verb, str, str | None]] = [
    # -- replace_expression: parentheses only where they are needed
    (REPLACE, "x = «1»\n", "x = a if b else c\n"),
    (REPLACE, "x = («1»)\n", "x = (a if b else c)\n"),
    (REPLACE, "x = «1» + 2\n", "x = (a if b else c) + 2\n"),
    (REPLACE, "«f».x\n", "(a if b else c).x\n"),
    (REPLACE, "return«''»\n", "return(a if b else c)\n"),
    (REPLACE, "y = 1 if x else«''»\n", "y = 1 if x else(a if b else c)\n"),
    (REPLACE, "a; b = f(«1»); c\n", "a; b = f(a if b else c); c\n"),
    (REPLACE, "f(k=«1», **d)\n", "f(k=a if b else c, **d)\n"),
    (REPLACE, "f(*«xs»)\n", "f(*a if b else c)\n"),
    (REPLACE, "@«f»\ndef g(): pass\n", "@a if b else c\ndef g(): pass\n"),
    (REPLACE, "class A(\n    «B»,  # why\n):\n    pass\n", "class A(\n    a if b else c,  # why\n):\n    pass\n"),
    (REPLACE, "x = 1 + \\\n  «2» # c\n", "x = 1 + \\\n  (a if b else c) # c\n"),
    (REPLACE, "if x:\n\tpass\nelif «1»: pass\n", "if x:\n\tpass\nelif a if b else c: pass\n"),
    (REPLACE, "try: pass\nexcept «E» as e: pass\n", "try: pass\nexcept a if b else c as e: pass\n"),
    (REPLACE, "x = '😀漢é'; f('é', «1»); '😀'\n", "x = '😀漢é'; f('é', a if b else c); '😀'\n"),
    (REPLACE, "f(x for x in «y»)\n", "f(x for x in (a if b else c))\n"),
    (REPLACE, "x = («'a'  # one\n'b'»)\n", None),  # the comment would go
    (REPLACE, "x = f'{«y»}'\n", "x = f'{a if b else c}'\n"),
    (REPLACE, "«x» = 1\n", None),
    (REPLACE, "x = «1 +» 2\n", None),
    (REPLACE, "x =« 1»\n", None),
    (REPLACE, "x = 1 «+» 2\n", None),
    (REPLACE, "# «1»\n", None),
    (REPLACE, "f('«x»')\n", None),
    (partial(verbs.replace_expression, new_source="x"), "f(«*x»)\n", "f(x)\n"),
    (partial(verbs.replace_expression, new_source="f(\n  1,\n)"), "if x:\n    g(«2»)\n", "if x:\n    g(f(\n  1,\n))\n"),
    (partial(verbs.replace_expression, new_source="1 +"), "x = «1»\n", None),
    (partial(verbs.replace_expression, new_source="a), (b"), "f(«1»)\n", None),
    (partial(verbs.replace_expression, new_source="a  # c"), "f(«1», 2)\n", None),
    (partial(verbs.replace_expression, new_source='"near"'), "f(g('😀')(«'nar'»))\n", "f(g('😀')(\"near\"))\n"),
    (RETURN, "def f(x):\n    «return»  # c\n", "def f(x):\n    return False  # c\n"),
    (RETURN, "def f(x): a; «return»; b\n", "def f(x): a; return False; b\n"),
    (RETURN, "def f(x):\n    return «x»\n", None),
    # -- call_expression
    (CALL, "p = «f»\n", 'p = f("a", *b)\n'),
    (CALL, "p = («a.b\n  .c»)\n", 'p = (a.b\n  .c("a", *b))\n'),
    (CALL, "p = «a or b»\n", 'p = (a or b)("a", *b)\n'),
    (CALL, "p = («a or b»)\n", 'p = ((a or b)("a", *b))\n'),
    (CALL, "p = «lambda: 1»\n", 'p = (lambda: 1)("a", *b)\n'),
    (CALL, "@«f»  # c\ndef g(): pass\n", '@f("a", *b)  # c\ndef g(): pass\n'),
    (CALL, "x = -«f»**2\n", 'x = -f("a", *b)**2\n'),
    (partial(verbs.call_expression, arguments_source=""), "p = «f»\n", "p = f()\n"),
    (partial(verbs.call_expression, arguments_source=")"), "p = «f»\n", None),
    # -- uncall
    (verbs.uncall, "p = «f()»\n", "p = f\n"),
    (verbs.uncall, "p = «f.g (\n)» # c\n", "p = f.g # c\n"),
    (verbs.uncall, "p = «(a or b)()».c\n", "p = (a or b).c\n"),
    (verbs.uncall, "p = «f()»if x else y\n", "p = (f)if x else y\n"),
    (verbs.uncall, "p = «f()()»\n", "p = f()\n"),
    (verbs.uncall, "@«f()»\ndef g(): pass\n", "@f\ndef g(): pass\n"),
    (verbs.uncall, "p = «f(x)»\n", None),
    (verbs.uncall, "p = «f(**x)»\n", None),
    (verbs.uncall, "p = «f(  # (why)\n)»\n", None),
    (verbs.uncall, "p = «f»\n", None),
    # -- wrap_call
    (BOOL, "def f(): return «x or y»\n", "def f(): return bool(x or y)\n"),
    (BOOL, "def f(): return «x, y»\n", "def f(): return bool((x, y))\n"),
    (BOOL, "def f(): return («x\n  and y  # c\n)»\n", None),
    (BOOL, "def f(): return («x  # c\n  and y» # d\n)\n", "def f(): return (bool(x  # c\n  and y) # d\n)\n"),
    (BOOL, "def f(): return«'x'»if y else z\n", "def f(): return(bool('x'))if y else z\n"),
    (BOOL, "def f(): return (yield «x»)\n", "def f(): return (yield bool(x))\n"),
    (BOOL, "def f(): return («yield x»)\n", "def f(): return (bool((yield x)))\n"),
    (BOOL, "f«(x for x in y)»\n", "f(bool((x for x in y)))\n"),
    (BOOL, "while («x := 1»): pass\n", "while (bool(x := 1)): pass\n"),
    (BOOL, "f(«'''\n😀'''») ; '😀'\n", "f(bool('''\n😀''')) ; '😀'\n"),
    (BOOL, "x[«1:2»]\n", None),
    (BOOL, "x[«1, 2»]\n", "x[bool((1, 2))]\n"),
    (partial(verbs.wrap_call, function="a.b"), "f(«x»)\n", "f(a.b(x))\n"),
    # -- wrap_in_list
    (verbs.wrap_in_list, 'f(a=«"x"»)\n', 'f(a=["x"])\n'),
    (verbs.wrap_in_list, 'f(\n    «"x"\n    "y"»,  # c\n)\n', 'f(\n    ["x"\n    "y"],  # c\n)\n'),
    (verbs.wrap_in_list, "x = «a, b»\n", "x = [(a, b)]\n"),
    (verbs.wrap_in_list, "for x in«''»: pass\n", "for x in['']: pass\n"),
    # -- remove_element
    (verbs.remove_element, 'x = ["a", «"b"»]\n', 'x = ["a"]\n'),
    (verbs.remove_element, 'x = f(n={«"a"», "b"})  # c\n', 'x = f(n={"b"})  # c\n'),
    (verbs.remove_element, 'x = ("a", «"b"»)\n', 'x = ("a",)\n'),
    (verbs.remove_element, 'x = («"a"», "b",)\n', 'x = ("b",)\n'),
    (verbs.remove_element, 'x = [«"a"»]\n', "x = []\n"),
    (verbs.remove_element, 'x = {«"a"»}\n', None),
    (verbs.remove_element, 'x = [\n    "a",\n    «"b"»,  # b\n]\n', 'x = [\n    "a",\n    # b\n]\n'),
    (verbs.remove_element, 'x = [a + «"b"»]\n', None),
    # -- wrap_results
    (partial(verbs.wrap_results, function="bool"), "p = «lambda x: x or y»\n", "p = lambda x: bool(x or y)\n"),
    (
        partial(verbs.wrap_results, function="bool"),
        "«def f(x):\n    if x: return 1 # a\n    def g(): return 2\n    return\n    return (3\n    )» # b\n",
        "def f(x):\n    if x: return bool(1) # a\n    def g(): return 2\n    return\n    return (bool(3)\n    ) # b\n",
    ),
    (partial(verbs.wrap_results, function="bool"), "«def f(x): pass»\n", None),
    # -- assign_result
    (ASSIGN, "«f(x)»\n", "x = f(x)\n"),
    (ASSIGN, "a; («f(x)\n); b\n»", None),
    (ASSIGN, "a; (\n«f(x)»\n); b  # c\n", "a; x = (\nf(x)\n); b  # c\n"),
    (ASSIGN, "def f(x):\n\tif x: «g(x)»\n", "def f(x):\n\tif x: x = g(x)\n"),
    (ASSIGN, "def f():\n    x = 1\n    «g(x)»  # c\n", "def f():\n    x = 1\n    x = g(x)  # c\n"),
    (ASSIGN, "def f(x):\n    def h():\n        «g(x)»\n", None),  # would hide the outer x
    (ASSIGN, "x = 1\ndef f():\n    «g(x)»\n", None),
    (ASSIGN, "def f(x):\n    class A:\n        «g(x)»\n", "def f(x):\n    class A:\n        x = g(x)\n"),
    (ASSIGN, "def f():\n    [x for x in y]\n    «g(x)»\n", None),
    (ASSIGN, "async def f(x):\n    «await g(x)»\n", "async def f(x):\n    x = await g(x)\n"),
    (ASSIGN, "h(«g(x)»)\n", None),
    (ASSIGN, "y = «g(x)»\n", None),
    (partial(verbs.assign_result, target="self.x"), "def f(self):\n  «g(1)»\n", "def f(self):\n  self.x = g(1)\n"),
    (partial(verbs.assign_result, target="a = b"), "«g(1)»\n", None),
    (partial(verbs.assign_result, target="1"), "«g(1)»\n", None),
]

KEYWORD = partial(verbs.add_keyword, name="k", value="1")
SET = partial(verbs.set_keyword, name="k", value="a, b")
RENAME = partial(verbs.rename_keyword, old="k", new="kay")
REMOVE = partial(verbs.remove_keyword, name="k")
REMOVE_0 = partial(verbs.remove_argument, index=0)
REMOVE_1 = partial(verbs.remove_argument, index=1)
REMOVE_2 = partial(verbs.remove_argument, index=2)

CASES += [
    # -- add_keyword
    (KEYWORD, "x = «f()»\n", "x = f(k=1)\n"),
    (KEYWORD, "x = «f( )»\n", "x = f( k=1)\n"),
    (KEYWORD, "x = «f(a)»\n", "x = f(a, k=1)\n"),
    (KEYWORD, "x = «f(a,)»\n", "x = f(a, k=1,)\n"),
    (KEYWORD, "x = «f(a, **d)»\n", "x = f(a, **d, k=1)\n"),
    (KEYWORD, "x = «f((a), b=(1))»\n", "x = f((a), b=(1), k=1)\n"),
    (KEYWORD, "x = «f(\n    a,\n    b,  # c\n)»\n", "x = f(\n    a,\n    b,  # c\n    k=1,\n)\n"),
    (KEYWORD, "x = «f(\n    a,\n    b  # c\n    # d\n)»\n", "x = f(\n    a,\n    b,  # c\n    # d\n    k=1\n)\n"),
    (KEYWORD, "x = «f(\n\ta\n)»\n", "x = f(\n\ta,\n\tk=1\n)\n"),
    (KEYWORD, "x = «f(a,\n      b)»\n", "x = f(a,\n      b,\n      k=1)\n"),
    (KEYWORD, "x = «f(a,\n      b,)»\n", "x = f(a,\n      b,\n      k=1,)\n"),
    (KEYWORD, "x = «f(\n    a, b\n)»\n", "x = f(\n    a, b, k=1\n)\n"),
    (KEYWORD, "x = «f(a, [\n    b,\n])»\n", "x = f(a, [\n    b,\n], k=1)\n"),
    (KEYWORD, "x = «f(  # c\n)»\n", "x = f(  # c\nk=1)\n"),
    (KEYWORD, "x = (a  # c\n  .b\n  .«c»(1))\n", None),
    (KEYWORD, "x = («a  # c\n  .b\n  .c(1)»)\n", "x = (a  # c\n  .b\n  .c(1, k=1))\n"),
    (KEYWORD, "@«f('😀', a)»\nclass A: pass\n", "@f('😀', a, k=1)\nclass A: pass\n"),
    (KEYWORD, "x = «f(k=2)»\n", None),
    (KEYWORD, "x = «f(x for x in y)»\n", None),
    (partial(verbs.add_keyword, name="k", value="a, b"), "«f(x)»\n", "f(x, k=(a, b))\n"),
    (partial(verbs.add_keyword, name="k", value="x := 1"), "«f(x)»\n", "f(x, k=(x := 1))\n"),
    (partial(verbs.add_keyword, name="not k", value="1"), "«f(x)»\n", None),
    # -- set_keyword
    (SET, "«f(k=1, j=2)»\n", "f(k=(a, b), j=2)\n"),
    (SET, "«f(\n    k = (1),  # c\n)»\n", "f(\n    k = (a, b),  # c\n)\n"),
    (SET, "«f(k=[  # c\n    1])»\n", None),
    (SET, "«f(x)»\n", "f(x, k=(a, b))\n"),
    (partial(verbs.set_keyword, name="k", value="(0,)"), "«f(g(k=1), k=0)»\n", "f(g(k=1), k=(0,))\n"),
    # -- rename_keyword
    (RENAME, "«f(k=1)»\n", "f(kay=1)\n"),
    (RENAME, "«f(g(k=1), \n  k  =  g(k=1)  # c\n )»\n", "f(g(k=1), \n  kay  =  g(k=1)  # c\n )\n"),
    (RENAME, "«f(k=1, kay=2)»\n", None),
    (RENAME, "«f(**k)»\n", None),
    # -- remove_keyword, remove_argument
    (REMOVE, "«f(k=1)»\n", "f()\n"),
    (REMOVE, "«f(\n    k=1,\n)»\n", "f()\n"),
    (REMOVE, "«f(\n    # why\n    k=1,\n)»\n", "f(\n    # why\n)\n"),
    (REMOVE, "«f(a, k=1)»\n", "f(a)\n"),
    (REMOVE, "«f(a, k=1,)»\n", "f(a,)\n"),
    (REMOVE, "«f(k=1, a=2)»\n", "f(a=2)\n"),
    (REMOVE, "«f(a, k=1, **d)»\n", "f(a, **d)\n"),
    (REMOVE, "«f(\n    a,  # a\n    k=1,\n    b=2,\n)»\n", "f(\n    a,  # a\n    b=2,\n)\n"),
    (REMOVE, "«f(\n    a,  # a\n    k=1,  # k\n    b=2,\n)»\n", "f(\n    a,  # a\n    # k\n    b=2,\n)\n"),
    (REMOVE, "«f(\n    a,\n    k=1\n)»\n", "f(\n    a\n)\n"),
    (REMOVE, "«f(\n    a,  # a\n    k=1\n)»\n", "f(\n    a,  # a\n)\n"),
    (REMOVE, "«f(\n    a,\n    k=1  # k\n)»\n", "f(\n    a,\n    # k\n)\n"),
    (REMOVE, "«f(\n    a,\n    k=1,\n)»\n", "f(\n    a,\n)\n"),
    (REMOVE, "«f(a,\n  k=1)»\n", "f(a)\n"),
    (REMOVE, "«f(a, k=1,\n  b=2)»\n", "f(a,\n  b=2)\n"),
    (REMOVE, "«f(\n\ta, k=[\n\t1], b=2)»\n", "f(\n\ta, b=2)\n"),
    (REMOVE, "«f(k=[  # c\n    1], a=2)»\n", None),
    (REMOVE, "«f(a)»\n", None),
    (REMOVE_0, "«f((a), '😀', c)»\n", "f('😀', c)\n"),
    (REMOVE_0, "«f(a, )»\n", "f()\n"),
    (REMOVE_0, "«f(a, b)(c)»\n", "f(a, b)()\n"),
    (REMOVE_1, "«f(a, *b, *c)»\n", "f(a, *c)\n"),
    (REMOVE_1, "«f(k=1, *b, j=2)»\n", "f(k=1, j=2)\n"),
    (REMOVE_1, "«f(a, '😀'  # c\n , c)»\n", None),
    (REMOVE_2, "«f(a, b)»\n", None),
    # -- star_argument
    (verbs.star_argument, "f(«names»)\n", "f(*names)\n"),
    (verbs.star_argument, "f(a, («names»), k=1)\n", "f(a, *(names), k=1)\n"),
    (verbs.star_argument, "f(«a or b»)\n", "f(*a or b)\n"),
    (verbs.star_argument, "f(g(x)(«y»))\n", "f(g(x)(*y))\n"),
    (verbs.star_argument, "f(k=«names»)\n", None),
    (verbs.star_argument, "x = «names»\n", None),
    # -- spread_argument
    (verbs.spread_argument, 'f(«["a", "b"]»)\n', 'f("a", "b")\n'),
    (verbs.spread_argument, 'f(«( "a", )»)\n', 'f("a",)\n'),
    (verbs.spread_argument, 'f(«["a",]», x)\n', 'f("a", x)\n'),
    (verbs.spread_argument, 'f(«["a"]»,)\n', 'f("a",)\n'),
    (verbs.spread_argument, 'f(x, «{*a, "b" }», k=1)\n', 'f(x, *a, "b", k=1)\n'),
    (verbs.spread_argument, "f(«[]»)\n", "f()\n"),
    (verbs.spread_argument, "f(x, «[]», y)\n", "f(x, y)\n"),
    (
        verbs.spread_argument,
        'f(«[\n    "a",  # first\n    # then\n    "b",\n]»)\n',
        'f(\n    "a",  # first\n    # then\n    "b",\n)\n',
    ),
    (verbs.spread_argument, 'f(«[\n    "a",\n    "b"\n]», x)\n', 'f(\n    "a",\n    "b",\nx)\n'),
    (
        verbs.spread_argument,
        'f(\n    «[\n        "a",  # first\n\n        # then\n        "b"\n    ]»,\n    k=1,\n)\n',
        'f(\n    "a",  # first\n\n    # then\n    "b",\n    k=1,\n)\n',
    ),
    (
        verbs.spread_argument,
        'f(\n\t«[\n\t\t"a",\n\t\t"""\n\t\tb""",\n\t]»\n)\n',
        'f(\n\t"a",\n\t"""\n\t\tb""",\n)\n',
    ),
    (
        verbs.spread_argument,
        'f(\n    «[  # names\n        "a",\n    ]»,  # end\n)\n',
        'f(\n    # names\n        "a",\n    # end\n)\n',
    ),
    (verbs.spread_argument, 'f(\n    «["a", "b"]»\n)\n', 'f(\n    "a", "b"\n)\n'),
    (verbs.spread_argument, "x = f'😀{f(«[\"a\", \"b\"]»)!r:>{w}}'\n", "x = f'😀{f(\"a\", \"b\")!r:>{w}}'\n"),
    (verbs.spread_argument, "f'''\n😀 {x:{f(«[1]»)}}\n''' f'{f([1])}'\n", "f'''\n😀 {x:{f(1)}}\n''' f'{f([1])}'\n"),
    (verbs.spread_argument, 'f((«["a", "b"]»))\n', None),
    (verbs.spread_argument, 'f(k=«["a"]»)\n', None),
    (verbs.spread_argument, 'f(«"a"»)\n', None),
    (verbs.spread_argument, 'x = «["a"]»\n', None),
]  # fmt: skip

CASES += [
    # -- add_parameters
    (verbs.add_parameters, "«def f(): pass»\n", "def f(*_, **__): pass\n"),
    (verbs.add_parameters, "«def f( ) : pass»\n", "def f( *_, **__) : pass\n"),
    (verbs.add_parameters, "«def f(p): pass»\n", "def f(p, *_, **__): pass\n"),
    (verbs.add_parameters, "«async def f(p: T = (1),): pass»\n", "async def f(p: T = (1), *_, **__,): pass\n"),
    (verbs.add_parameters, "«def f(p, /): pass»\n", "def f(p, /, *_, **__): pass\n"),
    (verbs.add_parameters, "«def f(p, *, k): pass»\n", "def f(p, *_, k, **__): pass\n"),
    (verbs.add_parameters, "«def f(*, k=1, **d): pass»\n", "def f(*_, k=1, **d): pass\n"),
    (verbs.add_parameters, "«def f(p: A = (2)  # c\n): pass»\n", "def f(p: A = (2), *_, **__  # c\n): pass\n"),
    (verbs.add_parameters, "«def f(p, **d): pass»\n", "def f(p, *_, **d): pass\n"),
    (verbs.add_parameters, "«def f(p, *a): pass»\n", "def f(p, *a, **__): pass\n"),
    (verbs.add_parameters, "«def f(p, *a, **d): pass»\n", None),
    (verbs.add_parameters, "«def f(_): return __»\n", "def f(_, *___, **____): return __\n"),
    (
        verbs.add_parameters,
        "class A:\n\t@g(1)\n\t«def f(\n\t\tself,\n\t\tp,  # c\n\t) -> bool:  # d\n\t\t'''x'''\n\t\treturn p»\n",
        "class A:\n\t@g(1)\n\tdef f(\n\t\tself,\n\t\tp,  # c\n\t\t*_,\n\t\t**__,\n\t) -> bool:  # d\n"
        "\t\t'''x'''\n\t\treturn p\n",
    ),
    (
        verbs.add_parameters,
        "«def f(\n    p,\n    **d\n):\n    # c\n    @g\n    def h(): pass»\n",
        "def f(\n    p,\n    *_,\n    **d\n):\n    # c\n    @g\n    def h(): pass\n",
    ),
    (verbs.add_parameters, "p = «lambda: 1»\n", "p = lambda *_, **__: 1\n"),
    (verbs.add_parameters, "p = «lambda p :(1\n )»\n", "p = lambda p, *_, **__ :(1\n )\n"),
    (verbs.add_parameters, "f('😀', «lambda p, k=lambda: 1: p»)\n", "f('😀', lambda p, k=lambda: 1, *_, **__: p)\n"),
    (partial(verbs.add_parameters, double_star=""), "«def f(p): pass»\n", "def f(p, *_): pass\n"),
    (partial(verbs.add_parameters, star="", double_star="params"), "«def f(p): pass»\n", "def f(p, **params): pass\n"),
    (verbs.add_parameters, "«f(x)»\n", None),
    # -- append_return
    (verbs.append_return, "«def f(p):\n    pass»\n", "def f(p):\n    pass\n    return False\n"),
    (verbs.append_return, "«def f(p): pass»  # c\n", "def f(p): pass; return False  # c\n"),
    (verbs.append_return, "«def f(p): a; pass;» # c\n", "def f(p): a; pass; return False # c\n"),
    (verbs.append_return, "«def f(p): \\\n    pass»\n", "def f(p): \\\n    pass; return False\n"),
    (
        verbs.append_return,
        "«def f(p):\n    if p:\n        return 1»  # c\n",
        "def f(p):\n    if p:\n        return 1  # c\n    return False\n",
    ),
    (
        verbs.append_return,
        "class A:\n\t«def f(p):\n\t\tif p:\n\t\t\treturn 1»\n\n\t\t\t# inner\n\t\t# body\n\n\t# class\n\tx = 1\n",
        "class A:\n\tdef f(p):\n\t\tif p:\n\t\t\treturn 1\n\n\t\t\t# inner\n\t\t# body\n\t\treturn False\n\n"
        "\t# class\n\tx = 1\n",
    ),
    (
        verbs.append_return,
        "«def f(p):\n    if p: return 1»\n    # last\n\n# next\ndef g(): pass\n",
        "def f(p):\n    if p: return 1\n    # last\n    return False\n\n# next\ndef g(): pass\n",
    ),
    (
        verbs.append_return,
        "@d\n«async def f(p):\n  @e\n  def g():\n    '''\nx\n'''»\n",
        "@d\nasync def f(p):\n  @e\n  def g():\n    '''\nx\n'''\n  return False\n",
    ),
    (verbs.append_return, "if x:\n  «def f(p):\n\n   \f a();»\n", None),
    (verbs.append_return, "«def f(p):\n    a();»\n", "def f(p):\n    a();\n    return False\n"),
    (
        verbs.append_return,
        "if x: y = 1\n«def f(p):\n    x = f'''{p:\n>4}'''»\n",
        "if x: y = 1\ndef f(p):\n    x = f'''{p:\n>4}'''\n    return False\n",
    ),
    (verbs.append_return, "p = «lambda: 1»\n", None),
    (partial(verbs.append_return, source="return ("), "«def f(): pass»\n", None),
]  # fmt: skip


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
@pytest.mark.parametrize(("verb", "before", "after"), CASES, ids=[before for _, before, _ in CASES])
def test_verb(verb: Verb, before: str, after: str | None, surroundings: str) -> None:
    around = SURROUNDINGS[surroundings]
    assert applied(verb, around(before)) == (None if after is None else around(after))
