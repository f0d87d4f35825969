//! The work of the child, and how its results are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::products::{CreateProductRequest, QueryProductsRequest};
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
    GetTableDataRequest, ListTablesRequest,
};
use stationdb::{Control, Error, ErrorKind, Identity, Result, Session, Store, StoreOptions};

/// The number of calls that the child makes.
pub const STEPS: u64 = 18;
const ROWS: u64 = 20;

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Acknowledged,
    /// Nothing of it is stored.
    Refused,
    /// It is stored or not.
    Unknown,
}

impl Outcome {
    pub fn of(answer: &str) -> Self {
        match answer {
            "Ok" => Self::Acknowledged,
            "OutcomeUnknown" => Self::Unknown,
            _ => Self::Refused,
        }
    }

    fn allows(self, is_there: bool) -> bool {
        match self {
            Self::Acknowledged => is_there,
            Self::Refused => !is_there,
            Self::Unknown => true,
        }
    }
}

/// Everything reaches the disk soon, and there is no reserve, so that the disk itself becomes full.
/// Without a cache of records each read goes to the disk. The memory table is full after a few
/// calls, so that checkpoints, both files of the journal and commits past it meet the faults.
pub fn options() -> StoreOptions {
    let options = Store::options().seal_rows(2 * ROWS).small_blob_bytes(256).reserve_bytes(0);
    options.record_cache_bytes(0).maintenance_thread(false).memory_table_bytes(8_000)
}

/// What a step writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    File,
    Rows,
    /// All three in one transaction.
    Together,
    /// Deletes the file of the step three steps earlier.
    Delete,
    Maintain,
}

fn kind(step: u64) -> Kind {
    [Kind::Product, Kind::File, Kind::Rows, Kind::Together, Kind::Delete, Kind::Maintain]
        [(step % 6) as usize]
}

fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

fn file_id(step: u64) -> String {
    format!("{step:024x}")
}

fn content(step: u64) -> Vec<u8> {
    (0..200 + step * 4_001).map(|at| (at * 31 + step) as u8).collect()
}

fn row(at: u64) -> Vec<Option<String>> {
    vec![Some(at.to_string()), Some(format!("row {at} of the table"))]
}

/// Returns the table, and creates it if there is none.
fn table(store: &Store) -> Result<String> {
    let tables = ada(store).list_tables(ListTablesRequest::default())?.tables;
    if let Some(id) = tables.into_iter().next().and_then(|table| table.id) {
        return Ok(id.to_string());
    }
    let column =
        |name: &str, data_type, column_type| Column::new(name, data_type).column_type(column_type);
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("s", DataType::String, ColumnType::Normal),
    ];
    Ok(ada(store).create_table(CreateTableRequest::new(columns))?.to_string())
}

fn put_product(to: &dyn ProductService, step: u64) -> Result<()> {
    let product = CreateProductRequest::new(format!("p{step}"));
    match to.create_products(vec![product])?.error {
        None => Ok(()),
        Some(error) => Err(Error::invalid(format!("{error:?}"))),
    }
}

fn put_file(to: &dyn FileService, step: u64) -> Result<()> {
    let request = UploadFileRequest::new().id(file_id(step)).name(format!("f{step}"));
    to.upload_file(&mut content(step).as_slice(), request, &Control::default()).map(drop)
}

fn put_rows(to: &dyn TableService, table: &str, step: u64) -> Result<()> {
    let data: Vec<_> = (step * ROWS..(step + 1) * ROWS).map(row).collect();
    let frame = Some(DataFrame::new().data(data));
    to.append_table_data(&table.into(), AppendTableDataRequest::new().maybe_frame(frame))
}

/// Makes the call with this number.
pub fn step(store: &Store, step: u64) -> Result<()> {
    let ada = ada(store);
    match kind(step) {
        Kind::Product => put_product(&ada, step),
        Kind::File => put_file(&ada, step),
        Kind::Rows => put_rows(&ada, &table(store)?, step),
        Kind::Together => {
            let table = table(store)?;
            ada.transaction(|tx| {
                put_product(tx, step)?;
                put_file(tx, step)?;
                put_rows(tx, &table, step)
            })
        }
        Kind::Delete => match ada.delete_file(&file_id(step - 3).as_str().into()) {
            // The file's own upload was refused.
            Err(error) if is_missing(&error) => Ok(()),
            other => other,
        },
        Kind::Maintain => store.maintain(&Control::default()).map(drop),
    }
}

fn is_missing(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

fn products(ada: &Session) -> Result<BTreeSet<String>> {
    let (mut found, mut query) = (BTreeSet::new(), QueryProductsRequest::new().take(100));
    loop {
        let page = ada.query_products(query.clone())?;
        found.extend(page.products.into_iter().filter_map(|product| product.part_number));
        match page.continuation_token {
            Some(token) => query.continuation_token = Some(token),
            None => return Ok(found),
        }
    }
}

/// Returns the rows of all tables; there is at most one.
fn rows(ada: &Session) -> Result<Vec<Vec<Option<String>>>> {
    let tables = ada.list_tables(ListTablesRequest::default())?.tables;
    assert!(tables.len() <= 1, "{tables:?}");
    let (mut rows, mut token) = (Vec::new(), None);
    let Some(id) = tables.into_iter().next().and_then(|table| table.id) else { return Ok(rows) };
    loop {
        let request = GetTableDataRequest::new().maybe_continuation_token(token);
        let page = ada.get_table_data(&id, request)?;
        rows.extend(page.frame.to_data_frame().data);
        token = page.continuation_token;
        if token.is_none() {
            return Ok(rows);
        }
    }
}

/// Returns the content of a step's file, if it exists.
fn file(ada: &Session, step: u64) -> Result<Option<Vec<u8>>> {
    let mut reader = match ada.open_file(&file_id(step).as_str().into()) {
        Ok(reader) => reader,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| Error::io("reading a file", error))?;
    Ok(Some(bytes))
}

/// Returns the differences between the store and the outcomes of the calls.
pub fn problems(store: &Store, outcomes: &BTreeMap<u64, Outcome>) -> Vec<String> {
    let ada = ada(store);
    let (products, rows) = match (products(&ada), rows(&ada)) {
        (Ok(products), Ok(rows)) => (products, rows),
        (products, rows) => {
            let errors = [products.err(), rows.err()];
            return errors.into_iter().flatten().map(|error| format!("reading: {error}")).collect();
        }
    };
    let mut problems = Vec::new();
    let mut expected_rows = 0;
    for step in 0..STEPS {
        // Steps are not tried when the store could not be opened.
        let outcome = outcomes.get(&step).copied().unwrap_or(Outcome::Refused);
        let product = products.contains(&format!("p{step}"));
        let there = rows
            .iter()
            .filter(|found| (step * ROWS..(step + 1) * ROWS).any(|at| **found == row(at)))
            .count();
        let has_rows = there > 0;
        if has_rows && there as u64 != ROWS {
            problems.push(format!("step {step}: {there} rows of {ROWS}"));
        }
        expected_rows += there;
        let found = match file(&ada, step) {
            Ok(found) => found,
            Err(error) => {
                problems.push(format!("step {step}: {error}"));
                continue;
            }
        };
        if found.as_ref().is_some_and(|bytes| *bytes != content(step)) {
            problems.push(format!("step {step}: another content"));
        }
        let has_file = found.is_some();
        let is_right = match kind(step) {
            Kind::Product => outcome.allows(product),
            Kind::Rows => outcome.allows(has_rows),
            Kind::Together => outcome.allows(product) && product == has_rows && product == has_file,
            Kind::File => match outcomes.get(&(step + 3)).copied().unwrap_or(Outcome::Refused) {
                Outcome::Acknowledged => !has_file,
                Outcome::Refused => outcome.allows(has_file),
                Outcome::Unknown => outcome != Outcome::Refused || !has_file,
            },
            Kind::Delete | Kind::Maintain => true,
        };
        if !is_right {
            problems.push(format!(
                "step {step} {outcome:?}: product {product}, rows {there}, file {has_file}"
            ));
        }
    }
    if rows.len() != expected_rows {
        problems.push(format!("{} rows, {expected_rows} of them known", rows.len()));
    }
    problems
}
