// Reads a request a line and answers each with a line. Times are taken here, around the calls of Polars alone.
const pl = require("nodejs-polars").default;
const readline = require("readline");

let df, current;

// Results are freed by finalizers that run between events, so that a plain loop would keep them all.
const settle = () => new Promise((done) => setImmediate(done));

const casts = { int32: pl.Float64, int64: pl.Float32, float64: pl.Float32 };
const types = { int32: pl.Int32, int64: pl.Int64, float64: pl.Float64 };

function expression(r) {
  const a = pl.col("a");
  switch (r.op) {
    case "sum": return [(r.type === "int32" ? a.cast(pl.Int64) : a).sum().alias("x")];
    case "mean": return [a.mean().alias("x")];
    case "min_max": return [a.min().alias("x"), a.max().alias("y")];
    case "compare": return [a.gt(pl.lit(r.half ?? 0).cast(types[r.type])).alias("x")]; // a plain number compares as a float
    case "add": return [a.add(pl.col("b")).alias("x")];
    case "multiply": return [a.mul(pl.col("b")).alias("x")];
    case "cast": return [a.cast(casts[r.type]).alias("x")];
    case "filter": return [a.filter(pl.col("mask")).alias("x")];
    case "cumulative_sum": return [a.cumSum().alias("x")];
    case "take": return [a.gather(pl.col("narrow").slice(0, Math.floor(r.rows / 2))).alias("x")];
    case "string_equal": return [pl.col("s").eq(pl.lit(r.word)).alias("x")];
    case "is_in": return [pl.col("k").isIn(r.set).alias("x")];
  }
  throw new Error("no operation " + r.op);
}

function series(r) {
  const s = df.columns.includes("a") ? df.getColumn("a") : null;
  switch (r.op) {
    case "sum": return r.type === "int32" ? null : () => s.sum(); // wraps in 32 bits
    case "mean": return () => s.mean();
    case "min_max": return () => [s.min(), s.max()];
  }
  return null;
}

function start(r) {
  const lazy = df.lazy().select(...expression(r));
  current = { op: r.op, ways: { mem: () => lazy.collectSync({ engine: "in-memory" }), stream: () => lazy.collectSync({ engine: "streaming" }) } };
  const eager = series(r);
  if (eager) current.ways.series = eager;
  return { variants: Object.keys(current.ways) };
}

async function run(r) {
  const way = current.ways[r.variant];
  let nanos = 0n;
  for (let i = 0; i < r.n; i++) {
    const from = process.hrtime.bigint();
    let result = way();
    nanos += process.hrtime.bigint() - from;
    result = null;
    if (i % 8 === 7 || r.n < 8) await settle();
  }
  if (r.n < 8) { global.gc(); await settle(); }
  return { nanos: Number(nanos) };
}

// check reads results as floats: get() of an Int64 gives its low 32 bits.
function check() {
  const names = current.op === "min_max" ? ["x", "y"] : ["x"];
  const out = current.ways.mem();
  if (["sum", "mean", "min_max"].includes(current.op)) {
    const floats = out.lazy().select(...names.map((n) => pl.col(n).cast(pl.Float64))).collectSync();
    return { numbers: names.map((n) => floats.getColumn(n).get(0)) };
  }
  const x = pl.col("x");
  const two = out.lazy().select(x.count().cast(pl.Float64).alias("n"), x.cast(pl.Float64).sum().alias("s")).collectSync();
  return { numbers: [two.getColumn("n").get(0), two.getColumn("s").get(0)] };
}

async function answer(r) {
  switch (r.do) {
    case "version": return { version: "nodejs-polars " + pl.version + " on node " + process.versions.node };
    case "load":
      df = pl.readParquet(r.path);
      if (df.columns.includes("index")) df = df.withColumn(pl.col("index").cast(pl.UInt32).alias("narrow"));
      return {};
    case "unload":
      df = current = null;
      global.gc();
      await settle();
      return {};
    case "start": return start(r);
    case "run": return run(r);
    case "check": return check();
  }
  throw new Error("no request " + r.do);
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let out;
    try {
      out = await answer(JSON.parse(line));
    } catch (e) {
      out = { error: String(e.message ?? e).split("\n")[0] };
    }
    process.stdout.write(JSON.stringify(out) + "\n");
  }
})();
