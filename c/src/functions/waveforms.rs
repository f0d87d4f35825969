//! Appends of waveforms: arrays of samples at equal steps of an axis.

use stationdb::chrono::DateTime;
use stationdb::tables::{TableId, Waveform, WaveformAxis};
use stationdb::{Error, tables::Samples};

use crate::failure::Outcome;
use crate::json;
use crate::memory::In;
use crate::registry;

/// What the functions of all axes are given.
struct Given {
    caller: u64,
    table: (In<u8>, i64),
    columns: (In<u8>, i64),
    /// Whether the waveform has a number, and the number.
    numbered: (i32, i64),
    values: In<f64>,
    samples: i64,
}

fn append(given: &Given, axis: WaveformAxis) -> Outcome<()> {
    let table = given.table.0.text("table", given.table.1)?;
    let names = json::names("columns", given.columns.0.text("columns", given.columns.1)?)?;
    let number = match given.numbered {
        (0, _) => None,
        (1, number) => Some(number),
        (other, _) => {
            return Err(Error::invalid(format!(
                "numbered is {other}; it is 1 for a waveform with a number, and 0 otherwise"
            ))
            .into());
        }
    };
    let cells = i64::try_from(names.len()).ok().and_then(|all| all.checked_mul(given.samples));
    let cells = cells.ok_or_else(|| {
        Error::limit(format!("{} columns of {} samples are too many", names.len(), given.samples))
    })?;
    let values = given.values.values("values", cells)?;
    let samples = usize::try_from(given.samples)
        .map_err(|_| Error::invalid(format!("samples is {}; it is negative", given.samples)))?;
    let mut waveform = Waveform::new(axis);
    waveform.number = number;
    for (at, name) in names.iter().enumerate() {
        let column = values.get(at * samples..(at + 1) * samples).unwrap_or_default();
        waveform = waveform.y(name, Samples::Float64(column));
    }
    let caller = registry::caller(given.caller)?;
    let begun = caller.begin(None)?;
    begun.services().append_waveform(&TableId::from(table), &waveform)?;
    Ok(())
}

export! {
    fn sdb_append_waveform_time_f64(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        columns: In<u8>,
        columns_length: i64,
        numbered: i32,
        number: i64,
        t0_ns: i64,
        dt_s: f64,
        values: In<f64>,
        samples: i64,
    ) {
        let table = (table, table_length);
        let columns = (columns, columns_length);
        let numbered = (numbered, number);
        let given = Given { caller, table, columns, numbered, values, samples };
        append(&given, WaveformAxis::Time { t0: DateTime::from_timestamp_nanos(t0_ns), dt: dt_s })
    }

    fn sdb_append_waveform_seconds_f64(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        columns: In<u8>,
        columns_length: i64,
        numbered: i32,
        number: i64,
        t0_s: f64,
        dt_s: f64,
        values: In<f64>,
        samples: i64,
    ) {
        let table = (table, table_length);
        let columns = (columns, columns_length);
        let numbered = (numbered, number);
        let given = Given { caller, table, columns, numbered, values, samples };
        append(&given, WaveformAxis::Seconds { t0: t0_s, dt: dt_s })
    }

    fn sdb_append_waveform_count_f64(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        columns: In<u8>,
        columns_length: i64,
        numbered: i32,
        number: i64,
        t0: i64,
        dt: i64,
        values: In<f64>,
        samples: i64,
    ) {
        let table = (table, table_length);
        let columns = (columns, columns_length);
        let numbered = (numbered, number);
        let given = Given { caller, table, columns, numbered, values, samples };
        append(&given, WaveformAxis::Count { t0, dt })
    }
}
