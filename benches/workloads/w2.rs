//! W2: appends of 100 rows, one after the other, each durable when it returns; then the same from
//! eight threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use stationdb::Session;
use stationdb::arrow::array::RecordBatch;
use stationdb::prelude::*;

use crate::common::{Res, Scale, bytes_below, quantile};
use crate::measurements::{batch, create_table, open, schema, with_peak_memory};

const ROWS: usize = 100;
const THREADS: usize = 8;

fn append(session: &Session, id: &str, batch: &RecordBatch) -> Res<()> {
    Ok(session.append_batches(&id.into(), &mut std::iter::once(Ok(batch.clone())), None)?)
}

pub fn run(scale: &Scale) -> Res<()> {
    let schema = schema(true);
    let made =
        (0..scale.appends).map(|at| batch(&schema, at * ROWS, ROWS)).collect::<Res<Vec<_>>>()?;
    let (mut rate, mut middle, mut late, mut memory, mut together) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut bytes = 0;
    for _ in 0..scale.repetitions {
        let dir = scale.scratch("w2")?;
        let session = open(&dir)?;
        let id = create_table(&session, true)?;
        let (peak, taken) = with_peak_memory(|| {
            made.iter()
                .map(|batch| {
                    let began = Instant::now();
                    append(&session, &id, batch)?;
                    Ok(began.elapsed().as_secs_f64())
                })
                .collect::<Res<Vec<f64>>>()
        })?;
        memory.extend(peak);
        rate.push(taken.len() as f64 / taken.iter().sum::<f64>());
        middle.push(quantile(&taken, 0.5) * 1e3);
        late.push(quantile(&taken, 0.99) * 1e3);
        assert_eq!(
            session.get_table_metadata(&id.as_str().into())?.row_count,
            Some((scale.appends * ROWS) as i64)
        );
        bytes = bytes_below(&dir);

        let ids = (0..THREADS).map(|_| create_table(&session, true)).collect::<Res<Vec<_>>>()?;
        let next = AtomicUsize::new(0);
        let began = Instant::now();
        std::thread::scope(|scope| -> Res<()> {
            let threads: Vec<_> = ids
                .iter()
                .map(|id| {
                    scope.spawn(|| -> Res<()> {
                        while let Some(batch) = made.get(next.fetch_add(1, Ordering::Relaxed)) {
                            append(&session, id, batch)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| "an appending thread panicked")?)
        })?;
        together.push(scale.appends as f64 / began.elapsed().as_secs_f64());
        let counts = ids
            .iter()
            .map(|id| Ok(session.get_table_metadata(&id.into())?.row_count.unwrap_or_default()));
        assert_eq!(counts.sum::<Res<i64>>()?, (scale.appends * ROWS) as i64);
    }
    let note = "100 rows x 6 columns an append, durable on return";
    scale.emit("W2", "appends_per_s", &rate, "appends/s", note);
    scale.emit("W2", "p50", &middle, "ms", note);
    scale.emit("W2", "p99", &late, "ms", note);
    scale.emit("W2", "disk", &[bytes as f64 / 1e6], "MB", note);
    scale.emit(
        "W2",
        "appends_per_s, 8 threads",
        &together,
        "appends/s",
        "a table each; they share commits",
    );
    scale.emit("W2", "peak_memory", &memory, "MiB", "above what the program held before");
    Ok(())
}
