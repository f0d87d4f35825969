//! All of 0.1 % of the rows of a table by time: by the store's own call, by SQL and by a prepared
//! statement, and where the time of SQL goes. Each call reads another part, and each answer is compared
//! with what the rows say.
//!
//! `cargo bench -p stationdb-sql --bench prepared` measures 20 million rows, and `BENCH_ROWS` of them
//! when it is set; with `-- --test` few rows are read once.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{
    ArrayRef, AsArray, Float64Array, RecordBatch, TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::TimestampMillisecondType;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::common::collect;
use datafusion::physical_plan::execute_stream;
use serde_json::json;
use stationdb::chrono::{DateTime, SecondsFormat};
use stationdb::prelude::*;
use stationdb::tables::{ColumnFilter, FilterOperation, ScanRequest, TableId};
use stationdb::{Control, Identity, Session, Store};
use stationdb_sql::{Limits, Options, Prepared, Sql, context, datafusion, query, query_with};

type Res<T> = Result<T, Box<dyn Error>>;

/// The time of row 0, in ms; each row is 10 ms later.
const BEGIN: i64 = 1_700_000_000_000;
const STEP: i64 = 10;
const BATCH: usize = 65_536;

fn main() -> Res<()> {
    let is_test = std::env::args().any(|argument| argument == "--test");
    let rows = std::env::var("BENCH_ROWS").ok().and_then(|rows| rows.parse().ok());
    let (rows, calls) = if is_test { (20_000, 3) } else { (rows.unwrap_or(20_000_000), 200) };
    let directory = tempfile::tempdir()?;
    let store = Store::open(directory.path())?;
    let session = store.session(Identity::user("bench"));
    let id = fill(&session, rows)?;
    store.maintain(&Control::default())?;
    let parts = Parts { rows: rows as i64, calls };
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    println!("{rows} rows, 0.1 % of them by time; medians of {calls} calls in microseconds");
    let own =
        told("the store's own call", 0.0, &mut parts.measure(|part| scan(&session, &id, part))?);
    runtime.block_on(ways(&session, &parts, own))?;
    runtime.block_on(stages(&session, &parts))?;
    drop(session);
    drop(runtime);
    store.close()?;
    Ok(())
}

/// Prints a line; returns the median in microseconds.
fn told(what: &str, own: f64, taken: &mut [Duration]) -> f64 {
    taken.sort();
    let median = taken[taken.len() / 2].as_secs_f64() * 1e6;
    let times = if own > 0.0 { format!("{:>8.2} times", median / own) } else { String::new() };
    println!("{what:<44} {median:>10.1} {times}");
    median
}

/// A part of the rows.
#[derive(Clone, Copy)]
struct Part {
    from: i64,
    to: i64,
}

impl Part {
    fn time(row: i64) -> i64 {
        BEGIN + STEP * row
    }

    fn text(row: i64) -> String {
        let time = DateTime::from_timestamp_millis(Self::time(row)).unwrap_or_default();
        time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    fn values(self) -> ParamValues {
        let of = |row| ScalarValue::TimestampMillisecond(Some(Self::time(row)), Some("UTC".into()));
        ParamValues::from(vec![of(self.from), of(self.to)])
    }

    fn statement(self) -> String {
        let (from, to) = (Self::text(self.from), Self::text(self.to));
        format!("select * from run where t >= timestamp '{from}' and t < timestamp '{to}'")
    }

    /// Compares the number of rows and the sum of their times with those of the part.
    fn check(self, batches: &[RecordBatch]) -> Res<()> {
        let mut found = (0, 0);
        for batch in batches {
            let times = batch.column(0).as_primitive::<TimestampMillisecondType>();
            found.0 += batch.num_rows() as i64;
            found.1 += times.values().iter().map(|time| time - BEGIN).sum::<i64>();
        }
        let count = self.to - self.from;
        let expected = (count, STEP * (self.from + self.to - 1) * count / 2);
        if found != expected {
            return Err(format!("{found:?} instead of {expected:?}").into());
        }
        black_box(batches);
        Ok(())
    }
}

struct Parts {
    rows: i64,
    calls: usize,
}

impl Parts {
    fn all(&self) -> impl Iterator<Item = Part> {
        let count = (self.rows / 1000).max(1);
        let places = self.rows / count;
        // In no order, so that no part is next to the one before.
        (0..self.calls as i64).map(move |call| {
            let from = (call * 619 + 300) % places * count;
            Part { from, to: from + count }
        })
    }

    fn measure(&self, mut read: impl FnMut(Part) -> Res<Vec<RecordBatch>>) -> Res<Vec<Duration>> {
        // The first reads open files.
        for part in self.all().take(3) {
            part.check(&read(part)?)?;
        }
        self.all()
            .map(|part| {
                let begun = Instant::now();
                let answer = read(part)?;
                let taken = begun.elapsed();
                part.check(&answer)?;
                Ok(taken)
            })
            .collect()
    }

    async fn ask(&self, read: impl AsyncFn(Part) -> Res<Vec<RecordBatch>>) -> Res<Vec<Duration>> {
        for part in self.all().take(3) {
            part.check(&read(part).await?)?;
        }
        let mut all = Vec::new();
        for part in self.all() {
            let begun = Instant::now();
            let answer = read(part).await?;
            all.push(begun.elapsed());
            part.check(&answer)?;
        }
        Ok(all)
    }
}

fn fill(session: &Session, rows: usize) -> Res<TableId> {
    let columns = json!([
        { "name": "t", "dataType": "TIMESTAMP", "columnType": "INDEX" },
        { "name": "v1", "dataType": "FLOAT64" },
        { "name": "v2", "dataType": "FLOAT64" },
        { "name": "v3", "dataType": "FLOAT64" },
    ]);
    let request = serde_json::from_value(json!({ "name": "run", "columns": columns }))?;
    let id = session.create_table(request)?;
    let batches = (0..rows).step_by(BATCH).map(|from| {
        let all = || from as i64..(from + BATCH).min(rows) as i64;
        let times = TimestampMillisecondArray::from_iter_values(all().map(Part::time));
        let of = |factor: f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(all().map(|row| (row as f64 * factor).sin())))
        };
        let times = Arc::new(times.with_timezone("UTC")) as ArrayRef;
        let columns = [("t", times), ("v1", of(0.001)), ("v2", of(0.37)), ("v3", of(1.1))];
        RecordBatch::try_from_iter(columns)
    });
    session.append_batches(&id, &mut batches.into_iter(), Some(true))?;
    Ok(id)
}

fn scan(session: &Session, id: &TableId, part: Part) -> Res<Vec<RecordBatch>> {
    let filter = |operation, row| ColumnFilter::new("t", operation).value(Part::text(row));
    let request = ScanRequest::new().filters(vec![
        filter(FilterOperation::GreaterThanEquals, part.from),
        filter(FilterOperation::LessThan, part.to),
    ]);
    Ok(session.scan(id, request, &Control::default())?.collect::<Result<_, _>>()?)
}

/// The ways to ask by SQL.
async fn ways(session: &Session, parts: &Parts, own: f64) -> Res<()> {
    let limits = Limits::default();
    let text = "select * from run where t >= $1 and t < $2";
    let one = context(session)?;
    let taken = parts.ask(async |part| Ok(one.sql(&part.statement()).await?.collect().await?));
    told("SQL in one context, without bounds", own, &mut taken.await?);
    let taken =
        parts.ask(async |part| Ok(collect(query(&one, &part.statement(), &limits).await?).await?));
    told("query in one context", own, &mut taken.await?);
    let taken = parts.ask(async |part| {
        let current = context(session)?;
        Ok(collect(query_with(&current, text, Some(part.values()), &limits).await?).await?)
    });
    told("query in a context of each call", own, &mut taken.await?);
    let prepared = Sql::new(Options::default(), limits)?.prepare(text)?;
    let call = async |prepared: &Prepared, part: Part| -> Res<Vec<RecordBatch>> {
        let control = Control::default();
        let rows = prepared.query(session, Some(part.values()), &control).await?;
        Ok(collect(rows).await?)
    };
    told("prepared", own, &mut parts.ask(async |part| call(&prepared, part).await).await?);
    if prepared.plans_made() != 1 {
        return Err(format!("{} plans were made", prepared.plans_made()).into());
    }
    Ok(())
}

/// Where the time of a statement in one context goes.
async fn stages(session: &Session, parts: &Parts) -> Res<()> {
    const STAGES: [&str; 6] =
        ["making a context", "parsing", "a plan", "optimising", "a physical plan", "running"];
    let mut all: [Vec<Duration>; 6] = Default::default();
    for part in parts.all() {
        let mut begun = Instant::now();
        let mut lap = |at: usize| {
            all[at].push(begun.elapsed());
            begun = Instant::now();
        };
        let context = context(session)?;
        let state = context.state();
        lap(0);
        let dialect = state.config_options().sql_parser.dialect;
        let statement = state.sql_to_statement(&part.statement(), &dialect)?;
        lap(1);
        let plan = state.statement_to_plan(statement).await?;
        lap(2);
        let plan = state.optimize(&plan)?;
        lap(3);
        let physical = state.query_planner().create_physical_plan(&plan, &state).await?;
        lap(4);
        let task = Arc::new(TaskContext::from(&state));
        let answer = collect(execute_stream(physical, task)?).await?;
        lap(5);
        part.check(&answer)?;
    }
    for (stage, taken) in STAGES.iter().zip(&mut all) {
        told(&format!("  of this, {stage}"), 0.0, taken);
    }
    Ok(())
}
