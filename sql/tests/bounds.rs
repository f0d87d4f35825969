//! No statement ends the process, takes more memory than it may, or goes on for ever.
//!
//! Every function and operator that the engine registers is called deep, wide and with large
//! values, on threads with the default stack, below a limit of memory.

mod common;
#[path = "bounds/shapes.rs"]
mod shapes;
#[path = "../../tests/common/sizes.rs"]
mod sizes;

use std::time::{Duration, Instant};

use common::filled;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use stationdb::Session;
use stationdb_sql::{Limits, Options, context_with, datafusion, query};

/// The stack that threads have unless they are given another one.
const STACK_BYTES: usize = 2 * 1024 * 1024;
const MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// What the process may hold: the memory of sorts, joins and groups, that of expressions, and the
/// engine itself.
const PEAK_BYTES: u64 = 1024 * 1024 * 1024;
/// Nothing here may take longer: the slowest statement is stopped by its time.
const PATIENCE: Duration = Duration::from_secs(60);

/// What one form in another one may take.
const FORM_PATIENCE: Duration = Duration::from_secs(60);

/// What the statements are asked with, on a thread with the default stack.
struct Asker {
    runtime: tokio::runtime::Runtime,
    context: SessionContext,
    limits: Limits,
}

impl Asker {
    fn ask(&self, statement: &str) -> Result<usize, DataFusionError> {
        // With `--nocapture` the last line names the statement that ended the process.
        println!("{statement:.120}");
        let begun = Instant::now();
        let answer = self.runtime.block_on(async {
            let mut rows = query(&self.context, statement, &self.limits).await?;
            let mut count = 0;
            while let Some(batch) = rows.next().await {
                count += batch?.num_rows();
            }
            Ok(count)
        });
        let took = begun.elapsed();
        assert!(took < PATIENCE, "{took:?}: {statement:.200}");
        if let Some(bytes) = peak_bytes() {
            assert!(bytes < PEAK_BYTES, "{bytes} bytes: {statement:.200}");
        }
        answer
    }

    fn is_refused(&self, statement: &str) {
        let error = match self.ask(statement) {
            Ok(rows) => panic!("{rows} rows: {statement:.200}"),
            Err(error) => error,
        };
        let root = error.find_root();
        assert!(
            matches!(root, DataFusionError::ResourcesExhausted(_) | DataFusionError::Plan(_)),
            "{root}: {statement:.200}"
        );
    }

    fn is_answered(&self, statement: &str) {
        if let Err(error) = self.ask(statement) {
            panic!("{error}: {statement:.200}");
        }
    }
}

fn asked(session: &Session, limits: Limits, work: impl FnOnce(&Asker) + Send) {
    let options = Options::default().memory_bytes(MEMORY_BYTES).partitions(1);
    let context = context_with(session, &options).unwrap();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            work(&Asker { runtime, context, limits });
        };
        thread.spawn_scoped(scope, run).unwrap().join().unwrap();
    });
}

fn limits() -> Limits {
    Limits::default().expression_bytes(32 * 1024 * 1024).time(Duration::from_secs(30))
}

/// Whether the statement was refused for what it is, and not for its types.
fn is_bound(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// The texts of these numbers with a text between them.
fn joined(range: std::ops::Range<usize>, between: &str, text: impl Fn(usize) -> String) -> String {
    range.map(text).collect::<Vec<_>>().join(between)
}

/// Bytes that the process has held at once.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[test]
fn statements_that_would_end_the_process_are_refused() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        let doubled = |first: &str, next: &str| {
            let step =
                |at: usize| format!("c{} as ({})", at + 1, next.replace("LAST", &format!("c{at}")));
            let steps: Vec<String> = (0..30).map(step).collect();
            format!("with c0 as ({first}), {} select count(*) from c30", steps.join(", "))
        };
        for statement in [
            vec!["select 1"; 3000].join(" union all "),
            format!("select {}", vec!["1"; 20_000].join(" + ")),
            format!("select {}", vec!["1"; 5000].join(" + ")),
            format!("select 1{}", "::int".repeat(3000)),
            format!("select 1 where {}", vec!["1 = 2"; 3000].join(" or ")),
            format!("select {}1", "- ".repeat(3000)),
            format!("select {}1{}", "(".repeat(3000), ")".repeat(3000)),
            format!("select {}true", "not ".repeat(3000)),
            format!("select 1{}", " is null".repeat(3000)),
            format!("select 'a'{}", " || 'a'".repeat(3000)),
            format!("select * from {}", vec!["products"; 1500].join(" cross join ")),
            format!("select 1 from {}", joined(0..1500, ", ", |at| format!("products p{at}"))),
            format!("select {}1{}", "[".repeat(1000), "]".repeat(1000)),
            format!("select cast(null as int{})", "[]".repeat(1000)),
            format!("select arrow_cast(null, '{}Int8{}')", "List(".repeat(5000), ")".repeat(5000)),
            format!("select '{}'", "x".repeat(70_000)),
            // A short text of a large plan.
            doubled("select 1 x", "select * from LAST union all select * from LAST"),
            doubled("select 1 x", "select a.x from LAST a cross join LAST b"),
            doubled("select 1 x", "select x + x as x from LAST where x + x > 0"),
            doubled("select 'ab' x", "select concat(x, x) as x from LAST"),
            doubled("select 'ab' x", "select x || x as x from LAST"),
            doubled("select [1] x", "select array_concat(x, x) as x from LAST"),
            format!("select {}name{} from products", "coalesce(".repeat(40), ", 'a')".repeat(40)),
            format!("select {}1{} from products", "(".repeat(30), " between 0 and 1)".repeat(30)),
            "select count(*) from (select 1 a, 2 b, 3 c, 4 d, 5 e, 6 f, 7 g, 8 h, 9 i) \
             group by cube(a, b, c, d, e, f, g, h, i)"
                .to_owned(),
            // Large values.
            "select array_repeat(1, 2000000000)".to_owned(),
            "select length(lpad('x', 200000000, 'y'))".to_owned(),
            "select length(lpad('x', 2000000000, 'y'))".to_owned(),
            "select length(rpad(name, 2000000000, 'y')) from products".to_owned(),
            "select length(repeat(name, 1000000000)) from products".to_owned(),
            "select length(replace(repeat('a', 4000), 'a', repeat('b', 4000)))".to_owned(),
            "select cardinality(range(0, 9223372036854775807))".to_owned(),
            "select cardinality(range(timestamp '2000-01-01', timestamp '2200-01-01', \
             interval '1 nanosecond'))"
                .to_owned(),
            "select arrow_cast(null, 'FixedSizeBinary(2000000000)')".to_owned(),
            r#"select array_agg(t) over (order by t) from rows."Loop 1""#.to_owned(),
            "select levenshtein(repeat('a', 2000), repeat(name, 1000000)) from products".to_owned(),
            // The parser has no bound of its own behind `explain`.
            format!("{}select 1", "explain ".repeat(8000)),
            format!(
                "select {} from generate_series(1, 3)",
                joined(0..900, ", ", |at| format!("row_number() over (order by value + {at})"))
            ),
        ] {
            asker.is_refused(&statement);
        }
    });
}

/// Columns of one batch that are each within the bounds, and not all together.
#[test]
fn what_expressions_make_is_counted_together() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        let rows = "generate_series(1, 8192)";
        let part = |at: usize| format!("reverse(substr(x, {})) c{at}", at + 1);
        let repeated = format!("(select repeat('y', 2000) x from {rows})");
        for statement in [
            format!("select {} from {repeated}", joined(0..1000, ", ", part)),
            format!(
                "select {} from (select value, '{}' x from {rows})",
                joined(0..60, ", ", |at| format!("case when value > {at} then x end c{at}")),
                "x".repeat(4000)
            ),
            format!(
                "select {} from {repeated}",
                joined(0..200, ", ", |at| {
                    format!("arrow_cast(substr(x, {}), 'LargeUtf8') c{at}", at + 1)
                })
            ),
            format!(
                "select {} from (select '{}' x from {rows})",
                joined(0..400, ", ", |at| format!("x c{at}")),
                "x".repeat(30_000)
            ),
        ] {
            asker.is_refused(&statement);
        }
        let wide = joined(0..300, ", ", |at| format!("upper(name) || 'a' as c{at}"));
        asker.is_answered(&format!("select {wide} from products"));
    });
}

/// Each element may become a list of its own, whose elements become lists again.
#[test]
fn functions_of_functions_are_refused() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        let dialect = asker.context.sql("set datafusion.sql_parser.dialect = 'DuckDB'");
        asker.runtime.block_on(dialect).unwrap();
        asker.is_refused("select array_transform(range(0, 500), x -> range(0, 500))");
        asker.is_refused("select array_filter([1, 2], x -> true)");
    });
}

/// Types that planning would walk over before there is a plan.
#[test]
fn values_in_each_other_are_counted() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        for (first, pair) in [
            ("1", "struct(x, x)"),
            ("1", "row(x, x)"),
            ("1", "(x, x)"),
            ("1", "named_struct('a', x, 'b', x)"),
            ("1", "{'a': x, 'b': x}"),
            ("1", "map([x], [x])"),
            ("[1]", "arrays_zip(x, x)"),
        ] {
            let nested = |depth: usize| {
                let step = |at: usize| format!(", c{} as (select {pair} x from c{at})", at + 1);
                let steps: String = (0..depth).map(step).collect();
                format!("with c0 as (select {first} x){steps} select 1 from c{depth}")
            };
            asker.is_answered(&nested(2));
            asker.is_refused(&nested(40));
        }
    });
}

/// The largest of each form that is taken, planned, run and dropped on such a stack.
#[test]
fn what_is_within_the_bounds_is_answered() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        for statement in [
            vec!["select 1"; 120].join(" union all "),
            vec!["select 1 as n"; 120].join(" union "),
            format!("select {}", vec!["1"; 195].join(" + ")),
            format!("select {} from products", vec!["length(name)"; 195].join(" + ")),
            format!("select 1{}", "::int".repeat(195)),
            format!("select name from products where {}", vec!["name = 'a'"; 98].join(" or ")),
            format!(
                "select name from products where {}",
                vec!["length(name) > 1"; 98].join(" and ")
            ),
            format!(
                "select name from products where length(name) in ({})",
                joined(0..7000, ",", |at| at.to_string())
            ),
            format!("select {}", joined(0..500, ", ", |at| format!("{at} as c{at}"))),
            format!("select {} from products", joined(0..300, ", ", |at| format!("name as c{at}"))),
            format!(
                "select case {} end from products",
                joined(0..90, " ", |at| format!("when name = '{at}' then {at}"))
            ),
            format!(
                "select count(*) from products p0 {}",
                joined(1..40, " ", |at| format!("join products p{at} on p{at}.id = p0.id"))
            ),
            "select repeat('-', 80), lpad(name, 40, '.'), name || ', ' || family from products"
                .to_owned(),
            "select unnest(range(0, 400))".to_owned(),
            "select array_agg(name), string_agg(name, ', ') from products".to_owned(),
            "select family, count(*) from products group by cube(family, workspace)".to_owned(),
        ] {
            asker.is_answered(&statement);
        }
    });
}

#[test]
fn a_time_ends_planning_and_running() {
    let (_directory, _store, session) = filled();
    let none = Limits::default().time(Duration::ZERO);
    asked(&session, none, |asker| {
        let error = asker.ask("select 1").unwrap_err();
        assert!(error.to_string().contains("time of the statement"), "{error}");
    });
    let short = Limits::default().time(Duration::from_millis(500));
    asked(&session, short, |asker| {
        let four = "rows.\"Loop 1\" a, rows.\"Loop 1\" b, rows.\"Loop 1\" c, rows.\"Loop 1\" d";
        let begun = Instant::now();
        let error = asker.ask(&format!("select sum(a.channel + d.channel) from {four}"));
        assert!(error.unwrap_err().to_string().contains("time of the statement"));
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        let endless = "with recursive t as (select 1 as n union all select n + 1 from t) \
                       select count(*) from t";
        assert!(asker.ask(endless).is_err());
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    });
}

#[test]
fn a_door_only_reads() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        for refused in [
            "set datafusion.runtime.memory_limit = '64G'",
            "create view v as select 1",
            "insert into products values ('x')",
            "prepare p as select 1",
            "select 1; select 2",
            "explain analyze insert into products select * from products",
        ] {
            assert!(asker.ask(refused).is_err(), "{refused}");
        }
        for allowed in ["explain select * from products", "show tables", "describe products"] {
            asker.is_answered(allowed);
        }
    });
}

/// Every two forms of an expression in each other, as deep as they are taken: planning that reads
/// the inner ones twice in each step would have no end.
#[test]
fn forms_in_each_other_are_planned_in_time() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        let forms = shapes::FORMS;
        let step = forms.len().div_ceil(sizes::count("sql_forms"));
        let mut count = 0;
        for (at, outer) in forms.iter().enumerate() {
            let (mut answered, mut taken) = (false, false);
            // The others in turn, so that each form meets each kind of partner.
            for by in (0..forms.len()).step_by(step) {
                let inner = forms[(at + by) % forms.len()];
                let mut expr = "n".to_owned();
                let mut deepest = None;
                for depth in 1..=60 {
                    let form = if depth % 2 == 0 { outer } else { inner };
                    expr = form.replace('X', &expr);
                    if depth <= 2 || [4, 8, 16, 32, 60].contains(&depth) {
                        let statement = format!("select {expr} from (select 3 as n)");
                        let begun = Instant::now();
                        let answer = asker.ask(&statement);
                        count += 1;
                        let took = begun.elapsed();
                        assert!(took < FORM_PATIENCE, "{took:?}: {statement:.200}");
                        answered |= depth <= 2 && answer.is_ok();
                        match answer {
                            Err(error) if is_bound(&error) => break,
                            _ => deepest = Some(depth),
                        }
                    }
                }
                taken |= deepest >= Some(4);
            }
            assert!(answered, "no statement with {outer} is answered");
            assert!(taken, "{outer} is refused in every other form");
        }
        println!("counted: {count} statements");
    });
}

/// Each call deep, wide and large. What matters is that each comes to an end, within its memory.
#[test]
fn every_function_and_operator_is_bounded() {
    let (_directory, _store, session) = filled();
    asked(&session, limits(), |asker| {
        let calls = shapes::calls(&asker.context);
        let mut answered = 0;
        for call in &calls {
            answered += usize::from(asker.ask(&call.plain()).is_ok());
            for statement in call.attacks() {
                let _ = asker.ask(&statement);
            }
        }
        // A shape that is not even planned attacks nothing.
        let share = answered * 100 / calls.len();
        assert!(share >= 97, "{answered} of {} plain calls are answered", calls.len());
    });
}
