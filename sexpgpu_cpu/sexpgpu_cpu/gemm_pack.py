"""Packing for the matrix product: panels of B and rows of a transposed A, contiguous for the
micro-kernel, zeros beyond the edge."""

from __future__ import annotations

from .gemm_shape import KC, SLOTS, Shape


def mask(s: Shape, vectors: int) -> list[str]:
    """%m0, %m1: lanes below %cols."""
    w = s.width
    lines = [
        f"  %cs = insertelement <{w} x i64> poison, i64 %cols, i32 0",
        f"  %cv = shufflevector <{w} x i64> %cs, <{w} x i64> poison, <{w} x i32> zeroinitializer",
    ]
    for v in range(vectors):
        lanes = ", ".join(f"i64 {v * w + i}" for i in range(w))
        lines.append(f"  %m{v} = icmp ult <{w} x i64> <{lanes}>, %cv")
    return lines


def pack_rows(s: Shape, vectors: int) -> str:
    """A panel of B whose rows are contiguous: kc rows of cols elements, padded with zeros."""
    v, t, w, o = s.vector, s.scalar, s.width, s.overload
    lines = [
        f"define internal void @rows{vectors}(ptr noalias %b, i64 %ldb, i64 %kc, i64 %cols, "
        "ptr noalias %d) alwaysinline {",
        "entry:",
        *mask(s, vectors),
        "  br label %loop",
        "loop:",
        "  %k = phi i64 [0, %entry], [%k.1, %loop]",
        "  %bo = mul i64 %k, %ldb",
        f"  %do = mul i64 %k, {vectors * w}",
    ]
    for c in range(vectors):
        load = f"@llvm.masked.load.{o}.p0(ptr %p{c}, i32 4, <{w} x i1> %m{c}, {v} zeroinitializer)"
        lines += [
            f"  %x{c} = add i64 %bo, {c * w}",
            f"  %p{c} = getelementptr {t}, ptr %b, i64 %x{c}",
            f"  %l{c} = call {v} {load}",
            f"  %y{c} = add i64 %do, {c * w}",
            f"  %q{c} = getelementptr {t}, ptr %d, i64 %y{c}",
            f"  store {v} %l{c}, ptr %q{c}, align 32",
        ]
    return "\n".join([*lines, next_k("loop", "done"), "done:", "  ret void", "}"])


def next_k(loop: str, done: str) -> str:
    return (
        "  %k.1 = add i64 %k, 1\n  %go = icmp ult i64 %k.1, %kc\n"
        f"  br i1 %go, label %{loop}, label %{done}"
    )


def pack_columns(s: Shape, vectors: int) -> str:
    """A panel of B whose columns are contiguous: squares of vectors turned round in registers,
    what is left of k one by one. Columns beyond %cols become zeros."""
    t, w, v, o = s.scalar, s.width, s.vector, s.overload
    wide = vectors * w
    lines = [
        f"define internal void @columns{vectors}(ptr noalias %b, i64 %ldb, i64 %kc, i64 %cols, "
        "ptr noalias %d) {",
        "entry:",
        f"  %whole = and i64 %kc, {-w}",
        "  br label %strip",
        "strip:",
        "  %j = phi i64 [0, %entry], [%j.1, %stripend]",
        "  %any = icmp ne i64 %whole, 0",
        "  br i1 %any, label %square, label %rest",
        "square:",
        "  %k = phi i64 [0, %strip], [%k.1, %square]",
    ]
    for c in range(w):
        lines += [
            f"  %jc{c} = add i64 %j, {c}",
            f"  %in{c} = icmp ult i64 %jc{c}, %cols",
            f"  %ms{c} = insertelement <{w} x i1> poison, i1 %in{c}, i32 0",
            f"  %mv{c} = shufflevector <{w} x i1> %ms{c}, <{w} x i1> poison, "
            f"<{w} x i32> zeroinitializer",
            f"  %bo{c} = mul i64 %jc{c}, %ldb",
            f"  %bk{c} = add i64 %bo{c}, %k",
            f"  %bp{c} = getelementptr {t}, ptr %b, i64 %bk{c}",
            f"  %r0.{c} = call {v} @llvm.masked.load.{o}.p0(ptr %bp{c}, i32 4, "
            f"<{w} x i1> %mv{c}, {v} zeroinitializer)",
        ]
    rows, turned = _turned(s)
    lines += turned
    for r in range(w):
        lines += [
            f"  %kr{r} = add i64 %k, {r}",
            f"  %do{r} = mul i64 %kr{r}, {wide}",
            f"  %dj{r} = add i64 %do{r}, %j",
            f"  %dp{r} = getelementptr {t}, ptr %d, i64 %dj{r}",
            f"  store {v} {rows[r]}, ptr %dp{r}, align 4",
        ]
    lines.append(f"""  %k.1 = add i64 %k, {w}
  %go = icmp ult i64 %k.1, %whole
  br i1 %go, label %square, label %rest
rest:
  %left = icmp ult i64 %whole, %kc
  br i1 %left, label %tail, label %stripend
tail:
  %x = phi i64 [%whole, %rest], [%x.1, %tailnext]
  br label %one
one:
  %c = phi i64 [0, %tail], [%c.1, %put]
  %jt = add i64 %j, %c
  %inside = icmp ult i64 %jt, %cols
  br i1 %inside, label %take, label %put
take:
  %to = mul i64 %jt, %ldb
  %tk = add i64 %to, %x
  %tp = getelementptr {t}, ptr %b, i64 %tk
  %tv = load {t}, ptr %tp
  br label %put
put:
  %value = phi {t} [0.0, %one], [%tv, %take]
  %xo = mul i64 %x, {wide}
  %xj = add i64 %xo, %jt
  %xp = getelementptr {t}, ptr %d, i64 %xj
  store {t} %value, ptr %xp
  %c.1 = add i64 %c, 1
  %cgo = icmp ult i64 %c.1, {w}
  br i1 %cgo, label %one, label %tailnext
tailnext:
  %x.1 = add i64 %x, 1
  %xgo = icmp ult i64 %x.1, %kc
  br i1 %xgo, label %tail, label %stripend
stripend:
  %j.1 = add i64 %j, {w}
  %jgo = icmp ult i64 %j.1, {wide}
  br i1 %jgo, label %strip, label %done
done:
  ret void
}}""")
    return "\n".join(lines)


def _turned(s: Shape) -> tuple[list[str], list[str]]:
    """A square of vectors %r0.I transposed: halves exchanged at distance w/2, w/4, ... 1."""
    w, v = s.width, s.vector
    rows, lines = [f"%r0.{i}" for i in range(w)], []
    distance = w // 2
    while distance:
        low = [p if not p & distance else w + p - distance for p in range(w)]
        high = [p + distance if not p & distance else w + p for p in range(w)]
        for i in range(w):
            if i & distance:
                continue
            a, b = rows[i], rows[i + distance]
            for place, lanes in ((i, low), (i + distance, high)):
                name = f"%x{distance}.{place}"
                mask = ", ".join(f"i32 {p}" for p in lanes)
                lines.append(f"  {name} = shufflevector {v} {a}, {v} {b}, <{w} x i32> <{mask}>")
                rows[place] = name
        distance //= 2
    return rows, lines


def pack_left(s: Shape, height: int, near: bool) -> str:
    """`height` rows of A, whose columns are contiguous (`near`) or not, laid contiguous in pairs
    (row, k): rows far apart share few sets of the first-level cache."""
    t, v = s.scalar, f"<{height} x {s.scalar}>"
    name = f"near{height}" if near else f"far{height}"
    head = (
        f"define internal void @{name}(ptr noalias %a, i64 %ai, i64 %ak, i64 %kc, ptr noalias %d)"
    )
    lines = [
        f"{head} alwaysinline {{",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %k = phi i64 [0, %entry], [%k.1, %loop]",
        "  %ao = mul i64 %k, %ak",
        f"  %p = getelementptr {t}, ptr %a, i64 %ao",
    ]
    if near:
        lines.append(f"  %x = load {v}, ptr %p, align 4")
    else:
        for r in range(height):
            lines += [
                f"  %ro{r} = mul i64 %ai, {r}",
                f"  %rp{r} = getelementptr {t}, ptr %p, i64 %ro{r}",
                f"  %rv{r} = load {t}, ptr %rp{r}",
                f"  %{'x' if r == height - 1 else f'v{r}'} = insertelement {v} "
                f"{f'%v{r - 1}' if r else 'poison'}, {t} %rv{r}, i32 {r}",
            ]
    return "\n".join(
        [
            *lines,
            f"  %do = mul i64 %k, {height}",
            f"  %q = getelementptr {t}, ptr %d, i64 %do",
            f"  store {v} %x, ptr %q, align 4",
            next_k("loop", "done"),
            "done:",
            "  ret void",
            "}",
        ]
    )


def pack_left_rows(s: Shape) -> str:
    """All rows of a cell, in the heights in which the micro-kernels take them: a strip of rows
    from %i on lies at %i kc."""
    lines = [
        "define internal void @left(ptr noalias %a, i64 %ai, i64 %ak, i64 %kc, i64 %m, "
        "ptr noalias %d) {",
        "entry:",
        "  %near = icmp eq i64 %ai, 1",
        f"  br label %h{s.heights[0]}",
    ]
    before, start = "entry", "0"
    for position, h in enumerate(s.heights):
        last = position + 1 == len(s.heights)
        after = "done" if last else f"h{s.heights[position + 1]}"
        lines.append(f"""h{h}:
  %i{h} = phi i64 [{start}, %{before}], [%n{h}, %e{h}]
  %left{h} = sub i64 %m, %i{h}
  %fits{h} = icmp uge i64 %left{h}, {h}
  br i1 %fits{h}, label %b{h}, label %{after}
b{h}:
  %r{h} = mul i64 %i{h}, %ai
  %a{h} = getelementptr {s.scalar}, ptr %a, i64 %r{h}
  %o{h} = mul i64 %i{h}, %kc
  %d{h} = getelementptr {s.scalar}, ptr %d, i64 %o{h}
  br i1 %near, label %c{h}, label %f{h}
c{h}:
  call void @near{h}(ptr %a{h}, i64 %ai, i64 %ak, i64 %kc, ptr %d{h})
  br label %e{h}
f{h}:
  call void @far{h}(ptr %a{h}, i64 %ai, i64 %ak, i64 %kc, ptr %d{h})
  br label %e{h}
e{h}:
  %n{h} = add i64 %i{h}, {h}
  br label %h{h}""")
        before, start = f"h{h}", f"%i{h}"
    return "\n".join([*lines, "done:", "  ret void", "}"])


def load_slots() -> list[str]:
    """Every word of the argument block, by its name."""
    lines = []
    for i, slot in enumerate(SLOTS):
        kind = "ptr" if slot in ("a", "b", "c", "packed") else "i64"
        lines += [
            f"  %p.{slot} = getelementptr i64, ptr %block, i64 {i}",
            f"  %{slot} = load {kind}, ptr %p.{slot}",
        ]
    return lines


def packing(label: str, vectors: int, panel: str) -> list[str]:
    """Pack a panel along the contiguous axis of B, then go to LABELm."""
    lines = [f"  br i1 %across, label %{label}c, label %{label}r"]
    for kind, function in (("c", "columns"), ("r", "rows")):
        lines += [
            f"{label}{kind}:",
            f"  call void @{function}{vectors}(ptr %bp, i64 %ldb, i64 %kc, i64 %cols, ptr {panel})",
            f"  br label %{label}m",
        ]
    return lines


def pack_entry(name: str, s: Shape) -> str:
    """Panels [begin, end) of B: first all of the first KC rows, then of the next."""
    t, wide = s.scalar, s.columns
    lines = [
        f"define void @{name}_pack(ptr %block, i64 %begin, i64 %end) {{",
        "entry:",
        *load_slots(),
        f"""  %across = icmp ne i64 %bj, 1
  %ldb = select i1 %across, i64 %bj, i64 %bk
  %nw = add i64 %n, {wide - 1}
  %step = udiv i64 %nw, {wide}
  %any = icmp ult i64 %begin, %end
  br i1 %any, label %cell, label %done
cell:
  %x = phi i64 [%begin, %entry], [%x.1, %next]
  %kn = udiv i64 %x, %step
  %jn = urem i64 %x, %step
  %kb = mul i64 %kn, {KC}
  %j = mul i64 %jn, {wide}
  %kl = sub i64 %k, %kb
  %kc = call i64 @llvm.umin.i64(i64 %kl, i64 {KC})
  %jl = sub i64 %n, %j
  %cols = call i64 @llvm.umin.i64(i64 %jl, i64 {wide})
  %ko = mul i64 %kb, %bk
  %jo = mul i64 %j, %bj
  %bo = add i64 %ko, %jo
  %bp = getelementptr {t}, ptr %b, i64 %bo
  %do = mul i64 %x, {KC * wide}
  %d = getelementptr {t}, ptr %packed, i64 %do
  %narrow = icmp ule i64 %cols, {s.width}
  br i1 %narrow, label %v1, label %v2""",
    ]
    for vectors in s.vectors:
        label = f"v{vectors}"
        lines += [f"{label}:", *packing(label, vectors, "%d"), f"{label}m:", "  br label %next"]
    lines.append("""next:
  %x.1 = add i64 %x, 1
  %go = icmp ult i64 %x.1, %end
  br i1 %go, label %cell, label %done
done:
  ret void
}""")
    return "\n".join(lines)
