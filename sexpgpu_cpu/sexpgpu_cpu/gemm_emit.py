"""A matrix product as LLVM text: a register-blocked micro-kernel with packed panels of B.

Two forms: cells that pack the panels they need, and cells over panels that a record packed before.

Every element of C is one chain of fma over k in ascending order, cut in blocks of KC whose sums
are added in order. So its bits depend on k alone: not on the grid, the rows taken or the threads.
"""

from __future__ import annotations

from .gemm_asm import assembled, micro_loop
from .gemm_pack import (
    load_slots,
    mask,
    pack_columns,
    pack_entry,
    pack_left,
    pack_left_rows,
    pack_rows,
    packing,
)
from .gemm_shape import KC, LEFT_ROWS, Shape


def gemm_text(name: str, shape: Shape) -> str:
    """A module of three functions (ptr block, i64 begin, i64 end): NAME over cells of C = A B,
    NAME_pack over panels of B, NAME_packed over cells of C with those panels."""
    parts = [_declarations(shape)]
    parts += [pack_left(shape, h, near) for h in shape.heights for near in (True, False)]
    parts.append(pack_left_rows(shape))
    for vectors in shape.vectors:
        parts += [pack_rows(shape, vectors), pack_columns(shape, vectors)]
        parts += [_micro(shape, h, vectors, left) for h in shape.heights for left in (False, True)]
    for packed in (False, True):
        parts += [_tile(shape, packed), _entry(name, shape, packed)]
    parts.append(pack_entry(name, shape))
    return "\n".join(parts)


def _declarations(s: Shape) -> str:
    v, o = s.vector, s.overload
    mask = f"<{s.width} x i1>"
    return f"""declare {v} @llvm.fma.{o}({v}, {v}, {v})
declare {v} @llvm.masked.load.{o}.p0(ptr, i32, {mask}, {v})
declare void @llvm.masked.store.{o}.p0({v}, ptr, i32, {mask})
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"""


def _micro(s: Shape, height: int, vectors: int, packed: bool) -> str:
    """C[height, cols] (+)= A[height, kc] packed-B[kc, vectors]. `packed`: A's strip lies by
    columns, as pack_left puts it; else by rows, %ai apart."""
    name = f"{'left' if packed else 'rows'}{height}x{vectors}"
    grid = [(r, c) for r in range(height) for c in range(vectors)]
    loop = micro_loop(s, packed) if assembled(s, height, vectors) else _loop(s, grid, packed)
    lines = [
        f"define internal void @{name}(ptr noalias %a, i64 %ai, ptr noalias %bp, i64 %kc, "
        "ptr noalias %c, i64 %ldc, i1 %acc, i64 %cols) alwaysinline {",
        "entry:",
        *_fetch(s, height, vectors),
        *loop,
        f"  %full = icmp eq i64 %cols, {vectors * s.width}",
        "  br i1 %full, label %whole, label %part",
        "whole:",
        "  br i1 %acc, label %wholeadd, label %wholeset",
        "part:",
        *mask(s, vectors),
        "  br i1 %acc, label %partadd, label %partset",
    ]
    for kind in ("whole", "part"):
        for how in ("add", "set"):
            lines += _write(s, kind, how, grid)
    return "\n".join([*lines, "}"])


def _loop(s: Shape, grid: list[tuple[int, int]], packed: bool) -> list[str]:
    """%nR.C: the sum over kc of row R of A times vector C of the panel."""
    v, t, w = s.vector, s.scalar, s.width
    height, vectors = (1 + max(x) for x in zip(*grid))
    row, step = (1, height) if packed else ("%ai", 1)
    lines = []
    for r in range(height):
        lines.append(f"  %ro{r} = mul i64 {row}, {r}")
        lines.append(f"  %ar{r} = getelementptr {t}, ptr %a, i64 %ro{r}")
    lines += ["  br label %loop", "loop:", "  %k = phi i64 [0, %entry], [%k.1, %loop]"]
    lines += [
        f"  %s{r}.{c} = phi {v} [zeroinitializer, %entry], [%n{r}.{c}, %loop]" for r, c in grid
    ]
    lines += [f"  %ao = mul i64 %k, {step}", f"  %bo = mul i64 %k, {vectors * w}"]
    for c in range(vectors):
        lines += [
            f"  %bi{c} = add i64 %bo, {c * w}",
            f"  %bq{c} = getelementptr {t}, ptr %bp, i64 %bi{c}",
            f"  %b{c} = load {v}, ptr %bq{c}, align 32",
        ]
    for r in range(height):
        lines += [
            f"  %aq{r} = getelementptr {t}, ptr %ar{r}, i64 %ao",
            f"  %as{r} = load {t}, ptr %aq{r}",
            f"  %ae{r} = insertelement {v} poison, {t} %as{r}, i32 0",
            f"  %av{r} = shufflevector {v} %ae{r}, {v} poison, <{w} x i32> zeroinitializer",
        ]
        for c in range(vectors):
            call = f"call {v} @llvm.fma.{s.overload}({v} %av{r}, {v} %b{c}, {v} %s{r}.{c})"
            lines.append(f"  %n{r}.{c} = {call}")
    return [
        *lines,
        "  %k.1 = add i64 %k, 1",
        "  %go = icmp ult i64 %k.1, %kc",
        "  br i1 %go, label %loop, label %done",
        "done:",
    ]


def _fetch(s: Shape, height: int, vectors: int) -> list[str]:
    """Ask for the lines of C before they are written: a tenth of a product whose C is not near."""
    lines = []
    for r in range(height):
        lines.append(f"  %pf{r} = mul i64 %ldc, {r}")
        for c in range(vectors):
            lines += [
                f"  %pf{r}.{c} = add i64 %pf{r}, {c * s.width}",
                f"  %pp{r}.{c} = getelementptr {s.scalar}, ptr %c, i64 %pf{r}.{c}",
                f"  call void @llvm.prefetch.p0(ptr %pp{r}.{c}, i32 1, i32 3, i32 1)",
            ]
    return lines


def _write(s: Shape, kind: str, how: str, grid: list[tuple[int, int]]) -> list[str]:
    """Store the accumulators: all lanes or masked, over C or added to it."""
    v, t, o = s.vector, s.scalar, s.overload
    mask = f"<{s.width} x i1>"
    lines = [f"{kind}{how}:"]
    for r, c in grid:
        x = f"{kind}{how}{r}.{c}"
        lines += [
            f"  %co{x} = mul i64 %ldc, {r}",
            f"  %cx{x} = add i64 %co{x}, {c * s.width}",
            f"  %cp{x} = getelementptr {t}, ptr %c, i64 %cx{x}",
        ]
        value = f"%n{r}.{c}"
        if how == "add":
            load = f"load {v}, ptr %cp{x}, align 4"
            if kind == "part":
                zero = f"{v} zeroinitializer"
                load = f"call {v} @llvm.masked.load.{o}.p0(ptr %cp{x}, i32 4, {mask} %m{c}, {zero})"
            lines += [f"  %cl{x} = {load}", f"  %ct{x} = fadd {v} %cl{x}, {value}"]
            value = f"%ct{x}"
        if kind == "whole":
            lines.append(f"  store {v} {value}, ptr %cp{x}, align 4")
        else:
            store = f"@llvm.masked.store.{o}.p0({v} {value}, ptr %cp{x}, i32 4, {mask} %m{c})"
            lines.append(f"  call void {store}")
    return [*lines, "  ret void"]


def _tile(s: Shape, packed: bool) -> str:
    """C[m, n] = A[m, k] B[k, n] with strides; k = 0 gives zeros. `packed`: %panel is that of the
    first column at k = 0, and one of the next KC rows of B lies %step panels further."""
    t, w, wide = s.scalar, s.width, s.columns
    name, more = ("tilep", ", i64 %step") if packed else ("tile", "")
    lines = [
        f"""define internal void @{name}(ptr %a, i64 %ai, i64 %ak, ptr %b, i64 %bk, i64 %bj, \
ptr %c, i64 %ldc, i64 %m, i64 %n, i64 %k, ptr %panel, ptr %left{more}) {{
entry:
  %across = icmp ne i64 %bj, 1
  %turn = icmp ne i64 %ak, 1
  %ldb = select i1 %across, i64 %bj, i64 %bk
  br label %block
block:
  %kb = phi i64 [0, %entry], [%kb.1, %blockend]
  %kl = sub i64 %k, %kb
  %kc = call i64 @llvm.umin.i64(i64 %kl, i64 {KC})
  %acc = icmp ne i64 %kb, 0
  %ka = mul i64 %kb, %ak
  %ap = getelementptr {t}, ptr %a, i64 %ka
  %kbo = mul i64 %kb, %bk
  %bb = getelementptr {t}, ptr %b, i64 %kbo
  br i1 %turn, label %stand, label %ready
stand:
  call void @left(ptr %ap, i64 %ai, i64 %ak, i64 %kc, i64 %m, ptr %left)
  br label %ready
ready:
  br label %panels
panels:
  %j = phi i64 [0, %ready], [%j.1, %panelend]
  %jl = sub i64 %n, %j
  %cols = call i64 @llvm.umin.i64(i64 %jl, i64 {wide})
  %jbo = mul i64 %j, %bj
  %bp = getelementptr {t}, ptr %bb, i64 %jbo
  %cj = getelementptr {t}, ptr %c, i64 %j
  %narrow = icmp ule i64 %cols, {w}"""
    ]
    if packed:
        lines.append(f"""  %pk = udiv i64 %kb, {KC}
  %ps = mul i64 %pk, %step
  %pj = udiv i64 %j, {wide}
  %pn = add i64 %ps, %pj
  %po = mul i64 %pn, {KC * wide}
  %made = getelementptr {t}, ptr %panel, i64 %po""")
    lines.append("  br i1 %narrow, label %v1, label %v2")
    for vectors in s.vectors:
        lines += _panel(s, vectors, packed)
    lines.append(f"""panelend:
  %j.1 = add i64 %j, %cols
  %jgo = icmp ult i64 %j.1, %n
  br i1 %jgo, label %panels, label %blockend
blockend:
  %kb.1 = add i64 %kb, {KC}
  %kgo = icmp ult i64 %kb.1, %k
  br i1 %kgo, label %block, label %done
done:
  ret void
}}""")
    return "\n".join(lines)


def _panel(s: Shape, vectors: int, packed: bool) -> list[str]:
    """Pack one panel, then take rows by the tallest micro-kernel that fits, then the next."""
    t, x = s.scalar, f"v{vectors}"
    panel = "%made" if packed else "%panel"
    lines = [f"{x}:"]
    lines += [f"  br label %{x}m"] if packed else packing(x, vectors, "%panel")
    lines += [f"{x}m:", f"  br label %{x}h{s.heights[0]}"]
    before, start = f"{x}m", "0"
    for position, height in enumerate(s.heights):
        h = f"{x}h{height}"
        last = position + 1 == len(s.heights)
        rest = f"i64 %ai, ptr {panel}, i64 %kc, ptr %pc{h}, i64 %ldc, i1 %acc, i64 %cols"
        after = "panelend" if last else f"{x}h{s.heights[position + 1]}"
        lines.append(f"""{h}:
  %i{h} = phi i64 [{start}, %{before}], [%i1{h}, %{h}e]
  %left{h} = sub i64 %m, %i{h}
  %fits{h} = icmp uge i64 %left{h}, {height}
  br i1 %fits{h}, label %{h}b, label %{after}
{h}b:
  %co{h} = mul i64 %i{h}, %ldc
  %pc{h} = getelementptr {t}, ptr %cj, i64 %co{h}
  br i1 %turn, label %{h}l, label %{h}r
{h}l:
  %lo{h} = mul i64 %i{h}, %kc
  %pl{h} = getelementptr {t}, ptr %left, i64 %lo{h}
  call void @left{height}x{vectors}(ptr %pl{h}, {rest})
  br label %{h}e
{h}r:
  %ao{h} = mul i64 %i{h}, %ai
  %pa{h} = getelementptr {t}, ptr %ap, i64 %ao{h}
  call void @rows{height}x{vectors}(ptr %pa{h}, {rest})
  br label %{h}e
{h}e:
  %i1{h} = add i64 %i{h}, {height}
  br label %{h}""")
        before, start = h, f"%i{h}"
    return lines


def _entry(name: str, s: Shape, packed: bool) -> str:
    """Cells [begin, end), in order of batch, row block, column block."""
    t = s.scalar
    suffix = "_packed" if packed else ""
    lines = [f"define void @{name}{suffix}(ptr %block, i64 %begin, i64 %end) {{", "entry:"]
    if not packed:
        lines.append(f"  %panel = alloca [{KC * s.columns} x {t}], align 64")
    lines.append(f"  %left = alloca [{KC * LEFT_ROWS} x {t}], align 64")
    lines += load_slots()
    lines.append("""  %mr = add i64 %m, %rows
  %mr1 = sub i64 %mr, 1
  %rblocks = udiv i64 %mr1, %rows
  %nc = add i64 %n, %columns
  %nc1 = sub i64 %nc, 1
  %cblocks = udiv i64 %nc1, %columns
  %per = mul i64 %rblocks, %cblocks
  %any = icmp ult i64 %begin, %end
  br i1 %any, label %cell, label %done
cell:
  %x = phi i64 [%begin, %entry], [%x.1, %cell]
  %batch = udiv i64 %x, %per
  %inside = urem i64 %x, %per
  %rb = udiv i64 %inside, %cblocks
  %cb = urem i64 %inside, %cblocks
  %i2 = urem i64 %batch, %n2
  %t1 = udiv i64 %batch, %n2
  %i1 = urem i64 %t1, %n1
  %i0 = udiv i64 %t1, %n1
  %row = mul i64 %rb, %rows
  %col = mul i64 %cb, %columns
  %rleft = sub i64 %m, %row
  %cleft = sub i64 %n, %col
  %tm = call i64 @llvm.umin.i64(i64 %rleft, i64 %rows)
  %tn = call i64 @llvm.umin.i64(i64 %cleft, i64 %columns)""")
    for which, inner in (("a", ("row", "ai")), ("b", ("col", "bj")), ("c", ("row", "ldc"))):
        index, stride = inner
        lines += [f"  %{which}s{x} = mul i64 %i{x}, %{which}{x}" for x in range(3)]
        lines += [
            f"  %{which}t1 = add i64 %{which}s0, %{which}s1",
            f"  %{which}t2 = add i64 %{which}t1, %{which}s2",
            f"  %{which}t3 = mul i64 %{index}, %{stride}",
            f"  %{which}t4 = add i64 %{which}t2, %{which}t3",
        ]
    tile, more = "tile", ""
    if packed:
        tile, more = "tilep", ", i64 %step"
        lines.append(f"""  %nw = add i64 %n, {s.columns - 1}
  %step = udiv i64 %nw, {s.columns}
  %cw = udiv i64 %col, {s.columns}
  %co = mul i64 %cw, {KC * s.columns}
  %panel = getelementptr {t}, ptr %packed, i64 %co""")
    lines.append(f"""  %ct5 = add i64 %ct4, %col
  %pa = getelementptr {t}, ptr %a, i64 %at4
  %pb = getelementptr {t}, ptr %b, i64 %bt4
  %pc = getelementptr {t}, ptr %c, i64 %ct5
  call void @{tile}(ptr %pa, i64 %ai, i64 %ak, ptr %pb, i64 %bk, i64 %bj, ptr %pc, i64 %ldc, \
i64 %tm, i64 %tn, i64 %k, ptr %panel, ptr %left{more})
  %x.1 = add i64 %x, 1
  %go = icmp ult i64 %x.1, %end
  br i1 %go, label %cell, label %done
done:
  ret void
}}""")
    return "\n".join(lines)
