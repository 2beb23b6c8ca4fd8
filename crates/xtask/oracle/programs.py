"""Programs whose compilation exercises buffer assignment, each a function and the shapes of its arguments.

`PROGRAMS` maps a name to a `Program`. A program that wants several devices reads `mesh()`.
"""
import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

ALL = ("cpu", "gpu", "tpu")
PROGRAMS = {}
_MESH = None


@dataclasses.dataclass
class Program:
    function: object
    arguments: tuple
    targets: tuple
    devices: int
    jit: dict
    specs: object
    options: dict


def S(*shape, dtype="float32"):
    """An argument's shape."""
    return jax.ShapeDtypeStruct(shape, jnp.dtype(dtype))


def program(*arguments, targets=ALL, devices=1, specs=None, options=None, **jit):
    """Makes the function below a program; `specs` are the arguments' partitions over `mesh()`."""

    def add(function):
        PROGRAMS[function.__name__] = Program(
            function, arguments, targets, devices, jit, specs, options or {})
        return function

    return add


def mesh():
    """The devices the program is compiled for, all on one axis, `d`."""
    return _MESH


def set_mesh(value):
    global _MESH
    _MESH = value


def sharded(inputs, outputs, **more):
    """`shard_map` over the mesh of the moment."""

    def wrap(function):
        @functools.wraps(function)
        def run(*args):
            return jax.shard_map(function, mesh=mesh(), in_specs=inputs, out_specs=outputs, check_vma=False, **more)(*args)

        return run

    return wrap


I32 = "int32"

# Loops in branches, branches in loops.


@program(S(dtype=I32), S(24, 24))
def switch_of_loops(i, x):
    return lax.switch(i, [
        lambda a: lax.fori_loop(0, 3, lambda _, v: jnp.tanh(v @ a), a),
        lambda a: lax.while_loop(lambda v: v.sum() < 9, lambda v: v + 1, a),
        lambda a: lax.scan(lambda c, r: (c + r, c * 2), a[0], a)[1],
        lambda a: a,
    ], x)


@program(S(40), S(dtype=I32), donate_argnums=(0,))
def loop_of_switches(x, n):
    def body(c):
        i, v = c
        v = lax.switch(i % 4, [jnp.sort, lambda a: a[::-1], lambda a: jnp.cumsum(a), lambda a: a], v)
        return i + 1, v
    return lax.while_loop(lambda c: c[0] < n, body, (0, x))[1]


@program(S(16, 16), S(dtype="bool"), S(dtype="bool"))
def branches_three_deep(x, p, q):
    def inner(a):
        return lax.cond(q, lambda b: lax.fori_loop(0, 4, lambda i, c: lax.cond(i > 2, jnp.sin, lambda d: d @ d, c), b),
                        lambda b: b.T, a)
    return lax.cond(p, inner, lambda a: inner(a * 2) + 1, x)


@program(S(12, 12))
def loops_three_deep(x):
    f = lambda k, g: lambda a: lax.fori_loop(0, k, lambda i, v: g(v) + i, a)
    return f(2, f(3, f(4, lambda v: v @ x)))(x)


@program(S(64), S(64), S(64))
def loop_rotates_state(x, y, z):
    return lax.fori_loop(0, 9, lambda i, c: (c[1], c[2], c[0] + 1), (x, y, z))


@program(S(64), S(64), S(64), donate_argnums=(0, 2))
def loop_rotates_donated(x, y, z):
    return lax.fori_loop(0, 9, lambda i, c: (c[2], c[0] * 2, c[1]), (x, y, z))


@program(S(32, 32))
def loop_condition_heavy(x):
    return lax.while_loop(lambda c: jnp.linalg.norm(c[0] @ c[0].T) < 1e3 - jnp.sort(c[0].ravel())[3],
                          lambda c: (c[0] * 1.1 + c[1], c[0]), (x, x))


@program(S(32), S(dtype="bool"))
def branch_returns_same_twice(x, p):
    a, b = lax.cond(p, lambda v: (v, v), lambda v: (v + 1, jnp.sin(v)), x)
    return a + b, a


@program(S(8, 32), S(dtype="bool"), donate_argnums=(0,))
def branch_updates_donated(x, p):
    return lax.cond(p, lambda v: v.at[3].set(7.0), lambda v: v, x)


@program(S(8, 32), S(dtype=I32), donate_argnums=(0,))
def loop_scatter_donated(x, n):
    return lax.fori_loop(0, n, lambda i, v: v.at[jnp.array([1, 2]) + i].add(v[i] * 2), x)


@program(S(5, 7), S(5, 7))
def scan_reverse_with_none(x, y):
    c, (a, b) = lax.scan(lambda c, v: (c + v[0], (c, v[1] - c)), x[0], (x, y), reverse=True)
    return a, b


@program(S(10, 6, 6), S(6, 6))
def scan_unrolled(xs, w):
    return lax.scan(lambda c, v: (jnp.tanh(c @ v), c.sum()), w, xs, unroll=3)


@program(S(4, 5, 8), S(8, 8))
def scan_of_scan_grad(xs, w):
    def outer(c, row):
        return lax.scan(lambda d, v: (jnp.tanh(d @ w + v), d), c, row)
    return jax.grad(lambda w_: jnp.sum(lax.scan(lambda c, r: (lax.scan(lambda d, v: (jnp.tanh(d @ w_ + v), d), c, r)[0], c),
                                                jnp.zeros(8), xs)[1]))(w), outer(xs[0, 0], xs[1])


@program(S(16, 16), S(6, 16), static_argnums=())
def remat_policy_scan(w, x):
    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
    def layer(c, v):
        return jnp.sin(jnp.tanh(c @ w) @ w + v), None
    return jax.grad(lambda x_: lax.scan(layer, jnp.ones(16), x_)[0].sum())(x)


@program(S(4, 12, 12))
def vmap_while(x):
    return jax.vmap(lambda a: lax.while_loop(lambda v: v.sum() < 5, lambda v: jnp.abs(v) @ v + 1, a))(x)


@program(S(3, 12), S(3, dtype="bool"))
def vmap_cond(x, p):
    return jax.vmap(lambda q, v: lax.cond(q, jnp.sin, lambda a: a * a, v))(p, x)


@program(S(12), S(12))
def hessian(x, y):
    return jax.hessian(lambda a: jnp.sum(jnp.tanh(a * y) ** 3))(x)


@program(S(12), S(12, 12))
def jvp_of_grad_of_loop(x, w):
    f = lambda a: lax.fori_loop(0, 3, lambda i, v: jnp.tanh(w @ v), a).sum()
    return jax.jvp(jax.grad(f), (x,), (x,))


# Donation and tuples in odd places.

TREE = {"a": S(16, 16), "b": (S(16), [S(16, dtype=I32), S()]), "c": {"d": S(4, 4, dtype="bfloat16")}}


@program(TREE, S(16), donate_argnums=(0,))
def donated_tree_permuted(t, y):
    b, (i, s) = t["b"]
    return {"a": t["a"] * s, "b": (y, [i + 1, s]), "c": b * 2, "z": t["c"]["d"].T}


@program(TREE, TREE, donate_argnums=(1,))
def donated_tree_second(t, u):
    return jax.tree.map(lambda a, b: a + b, t, u), jax.tree.map(lambda a: a, t)


@program(S(64), S(64), S(64), S(64), donate_argnums=(0, 1, 2, 3))
def donated_all_read_late(a, b, c, d):
    s = jnp.sort(a + b + c + d)
    return s, jnp.sort(s * a), b - s, jnp.sort(c)[::-1] + d


@program(S(64), S(64), donate_argnums=(0,))
def donated_identity(a, b):
    return a, b * 2, a + b


@program(S(32, 32), donate_argnums=(0,))
def donated_into_loop_and_read(x):
    y = lax.fori_loop(0, 4, lambda i, v: v @ v, x)
    return y


@program(S(64, 8), S(8), S(dtype=I32), S(dtype=I32), donate_argnums=(0,))
def donated_two_updates(x, u, i, j):
    x = lax.dynamic_update_slice(x, u[None], (i, 0))
    r = x[3]
    return lax.dynamic_update_slice(x, (u * r)[None], (j, 0)), r


@program(S(100, dtype="int8"), S(100, dtype="uint8"), donate_argnums=(0, 1))
def donated_other_type(a, b):
    return lax.bitcast_convert_type(a, jnp.uint8) + b, lax.bitcast_convert_type(b, jnp.int8)


@program([S(8)] * 12, donate_argnums=(0,))
def donated_many_rotated(xs):
    return xs[1:] + xs[:1], sum(xs)


@program(S(16), S(16))
def output_many_times(x, y):
    a = x + y
    return a, (a, [a, y]), x, jnp.sin(a), x


@program(S(16))
def constant_outputs(x):
    return jnp.arange(5), np.float32(3), jnp.zeros((3, 3)), x, x * 1, jnp.ones(3) * 2


@program(S(0, 5), S(5, 0), S(0))
def zero_sized(x, y, z):
    return y @ x, jnp.sort(z), x.sum(0), jnp.concatenate([x, x]), lax.fori_loop(0, 3, lambda i, v: v + 1, z)


# Types.

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32", "complex64",
         "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]


@program({t: S(33, 5, dtype=t) for t in TYPES})
def every_type(x):
    out = {}
    for t, v in x.items():
        if t == "bool":
            out[t] = ~v
        elif t == "complex64":
            out[t] = jnp.conj(v) * v
        else:
            out[t] = (v.astype("float32") * 2 + 1).astype(v.dtype)
    return out


@program(S(33, 7, dtype="int4"), S(33, 7, dtype="uint4"), donate_argnums=(0,))
def four_bits(a, b):
    c = a + b.astype("int4")
    return jnp.concatenate([c, a]), c.T, jnp.sum(c.astype("int32"), 0)


@program(S(64, 64, dtype="int8"), S(64, 64, dtype="int8"))
def int8_matmul(a, b):
    return lax.dot(a, b, preferred_element_type=jnp.int32) // 7


@program(S(64, 64, dtype="float8_e4m3fn"), S(64, 64, dtype="float8_e4m3fn"))
def float8_matmul(a, b):
    return lax.dot(a, b, preferred_element_type=jnp.float32), (a.astype("bfloat16") + 1).astype("float8_e5m2")


@program(S(16, 16, dtype="complex64"), S(16, dtype="complex64"))
def complex_solve(a, b):
    return a @ b, jnp.abs(a), jnp.angle(b), jnp.fft.fft(a, axis=0)


# Sorting, searching, FFT, windows, convolutions.


@program(S(50), S(50, dtype=I32), S(50, dtype="bfloat16"), S(50, dtype="uint8"), S(50))
def sort_five_operands(*xs):
    return lax.sort(xs, num_keys=2)


@program(S(20, 30), S(20, 30), donate_argnums=(0, 1))
def sort_two_donated(a, b):
    return lax.sort((a, b), dimension=0)


@program(S(6, 100), S(6, 100, dtype=I32))
def top_k_and_friends(x, i):
    v, k = lax.top_k(x, 7)
    return v, k, lax.top_k(i, 3), lax.approx_max_k(x, 5), jnp.argsort(x), jnp.partition(x, 4)


@program(S(100), S(20))
def searching(x, v):
    s = jnp.sort(x)
    return jnp.searchsorted(s, v), jnp.digitize(v, s), jnp.median(x), jnp.percentile(x, 30), jnp.unique(x, size=10)


@program(S(8, 16, 16))
def fft_many(x):
    a = jnp.fft.fftn(x)
    return jnp.fft.ifft2(a), jnp.fft.rfft(x, axis=1), jnp.fft.irfft(a[..., :9]), jnp.fft.fftshift(jnp.abs(a))


@program(S(2, 20, 20, 6), S(3, 3, 3, 8), S(5, 5, 6, 4))
def conv_variants(x, w, v):
    n = ("NHWC", "HWIO", "NHWC")
    a = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=n, feature_group_count=2)
    b = lax.conv_general_dilated(x, v, (2, 2), "VALID", dimension_numbers=n, rhs_dilation=(2, 2))
    c = lax.conv_transpose(b, v.transpose(0, 1, 3, 2), (2, 2), "SAME", dimension_numbers=n)
    return a, b, c


@program(S(2, 3, 9, 9, 9), S(4, 3, 3, 3, 3), S(7, 3, 30))
def conv_3d_and_1d(x, w, y):
    return jax.grad(lambda w_: jnp.sum(lax.conv(x, w_, (1, 1, 1), "SAME") ** 2))(w), \
        lax.conv(y, w[:, :, 0, 0], (2,), "SAME")


@program(S(4, 12, 12, 3))
def pool_grad(x):
    f = lambda a: jnp.sum(lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2)
    return jax.grad(f)(x), lax.cummax(x, 1), lax.cumlogsumexp(x, 2)


@program(S(30, 4), S(12, 2, dtype=I32), S(12, 4))
def gather_scatter_variants(x, i, u):
    j = i[:, 0]
    return x.at[j].max(u), x.at[j].mul(u), x[i].sum(1),  x.at[j, 0].set(u[:, 0], unique_indices=True), \
        x.take(i, 1), x.at[2:14].apply(jnp.sin)


@program(S(30), S(30), S(8, 1, dtype=I32), S(8), S(8))
def scatter_two_operands(a, b, i, u, v):
    d = lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.scatter_add(a, i, u, d), lax.scatter_min(b, i, v, d), lax.scatter(a, i, v, d)


@program(S(40, 40))
def reductions_many(x):
    return (lax.reduce((x, x + 1), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
            jnp.argmax(x, 0), x.max(), jnp.prod(x, 1), jnp.var(x), jax.nn.logsumexp(x, 1), jnp.any(x > 0, 0))


@program(S(9, 8), S(7, 8), S(8))
def ragged_shapes(a, b, c):
    d = jnp.concatenate([a, b, c[None]], 0)
    return jnp.pad(d, ((1, 2), (3, 4)), mode="reflect"), jnp.repeat(d, 3, 1), jnp.tile(c, (3, 2)), d[::3, ::-2], jnp.roll(d, 5)


# Linear algebra and other custom calls.


@program(S(12, 12), targets=("cpu", "gpu", "tpu"))
def linear_algebra(a):
    q, r = jnp.linalg.qr(a)
    return q, r, jnp.linalg.cholesky(a @ a.T + jnp.eye(12)), jnp.linalg.solve(a, q)


@program(S(12, 12), targets=("cpu",))
def linear_algebra_lapack(a):
    import jax.scipy.linalg as sl
    return jnp.linalg.svd(a), jnp.linalg.eig(a), sl.schur(a), sl.expm(a), sl.lu(a), jnp.linalg.eigh(a)


@program(S(3, 12, 12), S(3, 12, 4))
def batched_triangular(a, b):
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=True), jnp.linalg.cholesky(a)


@program(S(20), targets=("cpu",))
def pure_callback(x):
    y = jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct((20,), "float32"), x, vmap_method="sequential")
    return y + x, lax.fori_loop(0, 3, lambda i, c: jax.pure_callback(
        lambda v: v, jax.ShapeDtypeStruct((20,), "float32"), c, vmap_method="sequential") * 2, x)


@program(S(20), targets=("cpu",))
def ordered_effects(x):
    jax.debug.print("a {}", x[0], ordered=True)
    y = lax.fori_loop(0, 3, lambda i, c: (jax.debug.print("b {}", i, ordered=True), c + 1)[1], x)
    jax.debug.callback(lambda v: None, y)
    return y


@program(S(2, dtype="uint32"))
def random_many(key):
    k = jax.random.split(key, 5)
    return (jax.random.normal(k[0], (20,)), jax.random.permutation(k[1], 30), jax.random.categorical(k[2], jnp.ones((4, 9))),
            jax.random.truncated_normal(k[3], -1, 1, (9,)), jax.random.bernoulli(k[4], 0.3, (50,)))


@program(S(4, dtype="uint32"), donate_argnums=(0,))
def random_bits_state(k):
    a, b = lax.rng_bit_generator(k, (30,), dtype=jnp.uint32)
    c, d = lax.rng_bit_generator(a, (7, 3), dtype=jnp.uint32)
    return c, b, d


@program(S(16, 16), S(16, 16))
def barriers(x, y):
    a, b = lax.optimization_barrier((x @ y, y))
    c = lax.optimization_barrier(a + b)
    return lax.fori_loop(0, 3, lambda i, v: lax.optimization_barrier(v @ b), c), lax.optimization_barrier((x, (c, a)))


@program(S(32, 32))
def custom_vjp_and_closure(x):
    @jax.custom_vjp
    def f(a):
        return jnp.sin(a) @ a
    f.defvjp(lambda a: (f(a), (a, a @ a)), lambda r, g: (g @ r[1] + r[0],))
    return jax.value_and_grad(lambda v: jnp.sum(f(f(v))))(x)


@program(S(64, 64))
def nested_jit(x):
    g = jax.jit(lambda a: jnp.tanh(a @ a), inline=False)
    h = jax.jit(lambda a: (g(a), g(a + 1)))
    return h(g(x))


@program(S(5), S(5))
def scalars_only(x, y):
    s = x[0] * y[1]
    return lax.while_loop(lambda c: c < 10, lambda c: c * 1.5 + 1, s), lax.cond(s > 2, lambda: 1, lambda: 2), s


@program(S(128, 128), S(128, 128), S(128, 128))
def gemm_chain_bias(a, b, c):
    return jax.nn.gelu(a @ b + c) @ c + a, (a.astype("bfloat16") @ b.astype("bfloat16")).astype("float32") + c


@program(S(2, 64, 4, 16), S(2, 64, 4, 16), S(2, 64, 4, 16))
def attention_blocks(q, k, v):
    def block(c, i):
        kb, vb = lax.dynamic_slice_in_dim(k, i * 16, 16, 1), lax.dynamic_slice_in_dim(v, i * 16, 16, 1)
        s = jnp.einsum("bqhd,bkhd->bhqk", q, kb)
        m = jnp.maximum(c[0], s.max(-1))
        p = jnp.exp(s - m[..., None])
        f = jnp.exp(c[0] - m)
        return (m, c[1] * f + p.sum(-1), c[2] * f[..., None] + jnp.einsum("bhqk,bkhd->bhqd", p, vb)), None
    z = jnp.zeros((2, 4, 64))
    m, l, o = lax.scan(block, (z - 1e30, z, jnp.zeros((2, 4, 64, 16))), jnp.arange(4))[0]
    return o / l[..., None]


@program({"k": S(2, 32, 16), "v": S(2, 32, 16)}, S(2, 16), S(16, 16), S(dtype=I32), donate_argnums=(0,))
def kv_cache_tree(cache, x, w, i):
    k = lax.dynamic_update_slice(cache["k"], (x @ w)[:, None], (0, i, 0))
    v = lax.dynamic_update_slice(cache["v"], x[:, None], (0, i, 0))
    a = jax.nn.softmax(jnp.einsum("bd,btd->bt", x, k))
    return {"k": k, "v": v}, jnp.einsum("bt,btd->bd", a, v)


@program([{"w": S(32, 32), "b": S(32)}] * 4, S(8, 32), donate_argnums=(0,))
def momentum_step(p, x):
    def loss(p_):
        h = x
        for l in p_:
            h = jax.checkpoint(lambda a, q: jax.nn.relu(a @ q["w"] + q["b"]))(h, l)
        return jnp.mean(h ** 2)
    l, g = jax.value_and_grad(loss)(p)
    n = jnp.sqrt(sum(jnp.sum(a ** 2) for a in jax.tree.leaves(g)))
    return jax.tree.map(lambda a, b: a - b / n, p, g), l


@program(S(200, 3))
def n_body(x):
    def step(c, _):
        p, v = c
        d = p[:, None] - p[None]
        f = (d / (1e-3 + (d ** 2).sum(-1, keepdims=True)) ** 1.5).sum(1)
        v = v - 0.01 * f
        return (p + v * 0.01, v), (v ** 2).sum()
    return lax.scan(step, (x, jnp.zeros_like(x)), None, length=5)


@program(S(30, 30, dtype="bool"))
def game_of_life(x):
    def step(_, g):
        n = sum(jnp.roll(g.astype("int8"), s, a) for s in (1, -1) for a in (0, 1))
        return (n == 3) | (g & (n == 2))
    return lax.fori_loop(0, 7, step, x)


@program(S(100), S(100))
def associative_scan(a, b):
    return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))


@program(S(50, 4), S(4))
def conjugate_gradient(a, b):
    import jax.scipy.sparse.linalg as sp
    return sp.cg(lambda v: a.T @ (a @ v) + v, b, maxiter=5)[0]


@program(S(8, 24))
def dynamic_slices_in_loop(x):
    def body(i, c):
        s = lax.dynamic_slice(c, (0, i), (8, 4))
        return lax.dynamic_update_slice(c, jnp.sort(s, 1) + c[:, :4], (0, i + 2))
    return lax.fori_loop(0, 10, body, x)


@program(*[S(10 + k, dtype=t) for k, t in enumerate(["float32", "int32", "bfloat16", "int8"] * 8)])
def many_small_outputs(*xs):
    return [x * 2 for x in xs] + [x + 1 for x in xs[::3]]


@program(S(1000, 100), S(100, dtype=I32))
def embedding_one_hot(e, i):
    return jax.nn.one_hot(i, 1000) @ e, e[i], jax.grad(lambda w: jnp.sum(w[i] ** 2))(e)


@program(S(256, 256), S(256, 256))
def copies_of_transposes(x, y):
    a = jnp.transpose(x) + y
    return a.reshape(64, 1024), jnp.transpose(a.reshape(16, 16, 256), (2, 0, 1)), (a.T @ y).T


# Several devices.

D4 = dict(devices=4)


@program(S(16, 16), S(16, 16), **D4, specs=(P("d"), P("d")))
def collectives_all(x, y):
    @sharded((P("d"), P("d")), (P("d"), P("d"), P("d"), P()))
    def f(a, b):
        g = lax.all_gather(a, "d", axis=0, tiled=True)
        s = lax.psum_scatter(g * 2, "d", scatter_dimension=0, tiled=True)
        p = lax.ppermute(b, "d", [(0, 1), (1, 2), (2, 3), (3, 0)])
        t = lax.all_to_all(b.reshape(4, 4, 4), "d", 0, 1)
        return s, p + a, t, lax.pmax(a.sum(), "d")
    return f(x, y)


@program(S(64, 64), S(64, 64), **D4, specs=(P("d"), P(None, "d")))
def auto_sharded_mlp(x, w):
    h = jax.nn.relu(x @ w)
    h = lax.with_sharding_constraint(h, NamedSharding(mesh(), P(None, "d")))
    return h @ w.T, h.sum()


@program(S(32, 32), **D4, specs=(P("d"),), donate_argnums=(0,))
def ring_in_loop(x):
    @sharded((P("d"),), P("d"))
    def f(a):
        def body(_, c):
            v, acc = c
            return lax.ppermute(v, "d", [(i, (i + 1) % 4) for i in range(4)]), acc + v @ v.T @ v
        return lax.fori_loop(0, 4, body, (a, jnp.zeros_like(a)))[1]
    return f(x)


@program(S(4, 64), S(4, 32), S(4, 16, dtype=I32), **D4, specs=(P("d"), P("d"), P("d")))
def psum_tree(a, b, c):
    @sharded((P("d"), P("d"), P("d")), P())
    def f(*t):
        return lax.psum(t, "d")
    return f(a, b, c)


@program([S(64, 64)] * 3, S(16, 64), **D4, specs=([P(None, "d")] * 3, P()), donate_argnums=(0,))
def sharded_train(ws, x):
    def loss(w):
        h = x
        for v in w:
            h = jnp.tanh(h @ v)
        return jnp.mean(h ** 2)
    l, g = jax.value_and_grad(loss)(ws)
    return jax.tree.map(lambda a, b: a - b, ws, g), l


@program(S(8, 128), S(128, 128), **D4, specs=(P("d"), P("d")))
def gathered_weights_scan(x, w):
    @sharded((P("d"), P("d")), P("d"))
    def f(a, v):
        def step(c, _):
            full = lax.all_gather(v, "d", axis=0, tiled=True)
            return jnp.tanh(c @ full), lax.psum(c.sum(), "d")
        return lax.scan(step, a, None, length=3)[0]
    return f(x, w)


@program(S(32, 8), S(4, dtype=I32), **D4, specs=(P("d"), P()), targets=("gpu", "tpu"))
def ragged_exchange(x, n):
    @sharded((P("d"), P()), P("d"))
    def f(a, s):
        out = jnp.zeros_like(a)
        return lax.ragged_all_to_all(a, out, s, s, s, s, axis_name="d") * 2
    return f(x, n)


@program(S(16, 16), S(dtype="bool"), **D4, specs=(P("d"), P()))
def collective_in_branch(x, p):
    @sharded((P("d"), P()), P("d"))
    def f(a, q):
        return lax.cond(q, lambda v: lax.psum(v, "d"), lambda v: lax.ppermute(v, "d", [(0, 1), (1, 0)]), a)
    return f(x, p)


# Host memory on TPU and GPU.


@program(S(256, 256), S(256, 256), targets=("tpu", "gpu"))
def host_offload(x, y):
    host = NamedSharding(mesh(), P(), memory_kind="pinned_host")
    h = jax.device_put(x * 2, host)
    z = jnp.sin(y) @ y
    return jax.device_put(h, NamedSharding(mesh(), P(), memory_kind="device")) + z


@program(S(256, 256), S(256, 256), targets=("tpu",))
def host_offload_twice(x, y):
    host, device = (NamedSharding(mesh(), P(), memory_kind=kind) for kind in ("pinned_host", "device"))
    a = jax.device_put(x * 2, host)
    y = jnp.sin(y) @ y
    y = jax.device_put(a, device) @ y
    b = jax.device_put(y + 1, host)
    y = jnp.cos(y) @ y
    return jax.device_put(b, device) + y


@program(S(4, 64, 64), S(64, 64), targets=("tpu", "gpu"))
def host_offload_scan(ws, x):
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device", offload_dst="pinned_host")
    from jax.ad_checkpoint import checkpoint_name

    def layer(c, w):
        return checkpoint_name(jnp.tanh(c @ w), "h"), None
    return jax.grad(lambda v: lax.scan(jax.checkpoint(layer, policy=policy), v, ws)[0].sum())(x)


@program(S(2048, 2048, dtype="bfloat16"), [S(2048, 2048, dtype="bfloat16")] * 6, targets=("tpu", "gpu"))
def large_chain(x, ws):
    hs = []
    for w in ws:
        x = jnp.tanh(x @ w)
        hs.append(x)
    for w, h in zip(ws[::-1], hs[::-1]):
        x = (x * h) @ w.T
    return x


# Shapes bounded, not fixed.


@program(S(20), S(dtype=I32), targets=("cpu", "tpu"))
def bounded_shape(x, n):
    from jax._src.lax import lax as internal
    del internal
    m = jnp.nonzero(x > 0, size=20)[0]
    return jnp.where(jnp.arange(20) < n, x, 0)[m]
