//! Stores with something to show.

use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::chrono::{DateTime, Duration, Utc};
use stationdb::prelude::*;
use stationdb::tables::{Column, ColumnType, CreateTableRequest, DataType, TableId};
use stationdb::{Identity, Session, Store};

/// A store in a directory of its own.
pub struct Bench {
    pub session: Session,
    pub store: Store,
    pub directory: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("store")).unwrap();
        let session = store.session(Identity::user("ada"));
        Self { session, store, directory }
    }

    /// Writes a page, and returns where it is.
    pub fn write(&self, name: &str, page: &str) -> std::path::PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, page).unwrap();
        path
    }
}

fn unit(column: Column, unit: &str) -> Column {
    column.properties([("unit", unit)])
}

/// Rows of one batch.
const PIECE: u64 = 1 << 20;
/// Where the samples begin, 2026-01-01 in nanoseconds, and their distance.
pub const FIRST_NS: i64 = 1_767_225_600_000_000_000;
pub const STEP_NS: i64 = 50_000;

/// A table of `rows` samples each 50 µs: a wave with one spike, a quantised one, and noise.
pub fn waves(session: &Session, rows: u64, spike: (u64, f64)) -> TableId {
    let index = Column::new("t", DataType::TimestampNanos).column_type(ColumnType::Index);
    let columns = [
        index,
        unit(Column::new("volts", DataType::Float64), "V"),
        unit(Column::new("counts", DataType::Float64), "LSB"),
        unit(Column::new("noise", DataType::Float64), "Ω µ"),
    ];
    let id = session.create_table(CreateTableRequest::new(columns).name("Waves")).unwrap();
    let mut row = 0;
    while row < rows {
        let piece = row..rows.min(row + PIECE);
        let floats = |f: &dyn Fn(u64) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(piece.clone().map(f)))
        };
        let times = piece.clone().map(|row| FIRST_NS + row as i64 * STEP_NS);
        let times = Int64Array::from_iter_values(times)
            .reinterpret_cast::<stationdb::arrow::datatypes::TimestampNanosecondType>()
            .with_timezone("UTC");
        let volts = |row: u64| {
            if row == spike.0 { spike.1 } else { (row as f64 * 6e-6).sin() * 2.5 }
        };
        // A cheap mixture of bits in place of a generator.
        let noise = |row: u64| {
            let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64
                / (1_u64 << 53) as f64
        };
        let columns: [(&str, ArrayRef); 4] = [
            ("t", Arc::new(times)),
            ("volts", floats(&volts)),
            ("counts", floats(&|row| (noise(row) * 4095.0).floor())),
            ("noise", floats(&noise)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        session.append_batches(&id, &mut std::iter::once(Ok(batch)), None).unwrap();
        row = piece.end;
    }
    id
}

/// A product with some weeks of results; the last of these.
pub fn results(bench: &Bench) -> stationdb::results::TestResultId {
    let first: DateTime<Utc> = "2026-01-05T08:00:00Z".parse().unwrap();
    let mut last = None;
    for at in 0..60_i64 {
        let value = 3.3 + (at as f64 * 1.7).sin() / 30.0;
        let run = Run::begin("P-1", format!("SN-{}", at % 50), "final test")
            .started_at(first + Duration::hours(at * 17))
            .operator("ada")
            .start(&bench.session)
            .unwrap();
        let power = run.sequence("Power").unwrap();
        power.step("Supply").measure("VOUT", value, "V").limits(3.27, 3.33).finish().unwrap();
        power.step("Ripple").measure("VAC", value / 300.0, "V").at_most(0.0111).finish().unwrap();
        power.finish().unwrap();
        run.step("Label").measure_text("text", "OK").equals("OK").finish().unwrap();
        last = Some(run.id().clone());
        run.finish().unwrap();
    }
    last.unwrap()
}
