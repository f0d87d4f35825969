//! CALLS: what one call of a program costs, as a measure for bindings to other languages. The store
//! is kept, so that `benches/peers/calls.py` makes the same calls of it from Python.

use std::sync::Arc;

use stationdb::arrow::array::{Float64Array, Int64Array, RecordBatch};
use stationdb::arrow::datatypes::{DataType as ArrowType, Field, Schema};
use stationdb::prelude::*;
use stationdb::products::{CreateProductRequest, QueryProductsRequest};
use stationdb::scans::{RecordKind, ScanRecordsRequest};
use stationdb::tables::{
    Column, ColumnFilter, ColumnType, CreateTableRequest, DataType, DecimationMethod,
    DecimationOptions, FilterOperation, QueryDecimatedDataRequest, ScanRequest,
};
use stationdb::{Control, Identity, Session, Store};

use crate::common::{Res, Scale, hash, median, timed};
use crate::measurements::v1;

const PRODUCTS: usize = 1_000;
const GETS: usize = 2_000;

/// Prints the median of calls in microseconds.
fn calls(
    scale: &Scale,
    metric: &str,
    times: usize,
    mut call: impl FnMut(u64) -> Res<()>,
) -> Res<()> {
    call(0)?;
    let mut taken = Vec::with_capacity(times);
    for at in 0..times as u64 {
        taken.push(timed(|| call(at))?.0 * 1e6);
    }
    scale.emit("CALLS", metric, &[median(&taken)], "us", &format!("median of {times} calls"));
    Ok(())
}

fn rows(count: usize) -> Res<RecordBatch> {
    let all = 0..count as u64;
    let fields = vec![
        Field::new("t", ArrowType::Int64, false),
        Field::new("volts", ArrowType::Float64, false),
    ];
    let times = Int64Array::from_iter_values(all.clone().map(u64::cast_signed));
    let volts = Float64Array::from_iter_values(all.map(v1));
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(times), Arc::new(volts)])?)
}

fn create(session: &Session, name: &str) -> Res<String> {
    let index = Column::new("t".to_owned(), DataType::Int64).column_type(ColumnType::Index);
    let columns = vec![index, Column::new("volts".to_owned(), DataType::Float64)];
    let request = CreateTableRequest::new(columns).maybe_name(Some(name.to_owned()));
    Ok(session.create_table(request)?.into())
}

pub fn run(scale: &Scale) -> Res<()> {
    let million = scale.call_rows;
    let directory = scale.data().join("calls");
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    let store = Store::open(&directory)?;
    let session = store.session(Identity::user("bench"));
    let products = (0..PRODUCTS).map(|at| {
        CreateProductRequest::new(format!("PN-{at:04}"))
            .name(format!("Product {at}"))
            .family(format!("Family {}", at % 7))
    });
    let made = session.create_products(products.collect())?.products;
    let ids: Vec<_> = made.into_iter().filter_map(|product| product.id).collect();
    assert_eq!(ids.len(), PRODUCTS);

    let batch = rows(million)?;
    let mut appended = 0;
    calls(scale, "append_1m", scale.repetitions, |_| {
        let id = create(&session, "appended")?;
        let mut one = std::iter::once(Ok(batch.clone()));
        session.append_batches(&id.as_str().into(), &mut one, None)?;
        appended += 1;
        Ok(())
    })?;
    let id = create(&session, "rows")?;
    let id = stationdb::tables::TableId::from(id.as_str());
    session.append_batches(&id, &mut std::iter::once(Ok(batch.clone())), Some(true))?;

    calls(scale, "get_record", GETS.min(million), |at| {
        let id = &ids[(hash(95, at) % PRODUCTS as u64) as usize];
        let found = session.get_product(id)?;
        assert_eq!(found.id.as_ref(), Some(id));
        Ok(())
    })?;
    let reads = scale.repetitions * 50;
    for (metric, count) in [("rows_1k", 1_000), ("rows_100k", 100_000)] {
        let count = count.min(million / 2);
        calls(scale, metric, reads, |at| {
            let low = hash(96, at) % (million - count) as u64;
            let bound =
                |operation, value: u64| ColumnFilter::new("t", operation).value(value.to_string());
            let request = ScanRequest::new().filters([
                bound(FilterOperation::GreaterThanEquals, low),
                bound(FilterOperation::LessThan, low + count as u64),
            ]);
            let mut found = 0;
            for batch in session.scan(&id, request, &Control::default())? {
                found += batch?.num_rows();
            }
            assert_eq!(found, count);
            Ok(())
        })?;
    }
    calls(scale, "decimate_1m", reads, |_| {
        let options = DecimationOptions::new(DecimationMethod::MaxMin)
            .y_columns(vec!["volts".to_owned()])
            .intervals(1_000);
        let request = QueryDecimatedDataRequest::new().decimation(options);
        let found = session.query_decimated_data(&id, request)?.frame.batches;
        assert!(found.iter().map(RecordBatch::num_rows).sum::<usize>() >= 1_000.min(million / 4));
        Ok(())
    })?;
    calls(scale, "query_1k_records", reads, |_| {
        let query = QueryProductsRequest::new().take(PRODUCTS as i64);
        assert_eq!(session.query_products(query)?.products.len(), PRODUCTS);
        Ok(())
    })?;
    calls(scale, "scan_1k_records", reads, |_| {
        let mut found = 0;
        let request = ScanRecordsRequest::new(RecordKind::Product);
        for batch in session.scan_records(request, &Control::default())? {
            found += batch?.num_rows();
        }
        assert_eq!(found, PRODUCTS);
        Ok(())
    })?;
    drop(session);
    store.close()?;
    Ok(())
}
