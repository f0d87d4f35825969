//! A sequence of steps over every service, and which of them a store shows.
//!
//! Several lanes may be in one store, each with records, a table and a feed of its own. What must
//! hold after a cut: each acknowledged step is there, the one after it whole or not at all, and
//! nothing beyond.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use stationdb::feeds::{CreateFeedRequest, Platform, QueryFeedsRequest};
use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::products::{CreateProductRequest, QueryProductsRequest};
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, QueryResultsRequest, QueryStepsRequest, StatusType,
};
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
    GetTableDataRequest, ListTablesRequest, TableId,
};
use stationdb::{Control, Error, ErrorKind, Identity, Result, Session, Store};

use crate::package::package_with;

const ROWS: u64 = 7;
const STEPS: usize = 3;

pub fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    File,
    Rows,
    /// A product, a file and rows in one transaction.
    Together,
    Package,
    /// Deletes the file of three steps before.
    DeleteFile,
    /// A result with its steps in one transaction.
    Result,
    Maintain,
    /// Deletes the package of four steps before.
    DeletePackage,
}

fn kind(step: u64) -> Kind {
    use Kind::{DeleteFile, DeletePackage, File, Maintain, Package, Product, Rows, Together};
    [
        Product,
        File,
        Rows,
        Together,
        DeleteFile,
        Package,
        Rows,
        Kind::Result,
        Maintain,
        DeletePackage,
    ][usize::try_from(step % 10).unwrap()]
}

/// The step that removes what this one made.
fn remover(step: u64) -> Option<u64> {
    match kind(step) {
        Kind::File => Some(step + 3),
        Kind::Package => Some(step + 4),
        _ => None,
    }
}

/// The lane with a letter.
#[derive(Clone, Copy, Debug)]
pub struct Lane(pub char);

fn content(step: u64) -> Vec<u8> {
    let len = if step % 40 == 1 { 300_000 } else { 200 + step % 16 * 4_001 };
    (0..len).map(|at| (at * 31 + step) as u8).collect()
}

fn row(at: u64) -> Vec<Option<String>> {
    vec![Some(at.to_string()), Some(format!("row {at} of the table"))]
}

fn text(error: Error) -> String {
    format!("{:?}: {error}", error.kind())
}

impl Lane {
    fn name(self, step: u64) -> String {
        format!("{}{step}", self.0)
    }

    /// The step that made something of this name.
    pub fn step_of(self, name: &str) -> Option<u64> {
        name.strip_prefix(self.0)?.parse().ok()
    }

    fn file_id(self, step: u64) -> String {
        format!("{:08x}{step:016x}", self.0 as u32)
    }

    fn package(self, step: u64) -> Vec<u8> {
        package_with(&self.name(step), &format!("Section: {}\n", "x".repeat(3_000)))
    }

    fn table(self, session: &dyn TableService) -> Result<Option<TableId>> {
        let tables = session.list_tables(ListTablesRequest::default())?.tables;
        let own = |name: &Option<String>| name.as_deref() == Some(&self.name(0));
        Ok(tables.into_iter().find(|table| own(&table.name)).and_then(|table| table.id))
    }

    fn put_product(self, to: &dyn ProductService, step: u64) -> Result<()> {
        to.create_products(vec![CreateProductRequest::new(self.name(step))])?
            .into_result()
            .map(drop)
    }

    fn put_file(self, to: &dyn FileService, step: u64) -> Result<()> {
        let request = UploadFileRequest::new().id(self.file_id(step)).name(self.name(step));
        to.upload_file(&mut content(step).as_slice(), request, &Control::default()).map(drop)
    }

    fn put_rows(self, to: &dyn TableService, step: u64) -> Result<()> {
        let table = match self.table(to)? {
            Some(table) => table,
            None => {
                let columns = [
                    Column::new("t", DataType::Int64).column_type(ColumnType::Index),
                    Column::new("s", DataType::String),
                ];
                to.create_table(CreateTableRequest::new(columns).name(self.name(0)))?
            }
        };
        let data: Vec<_> = (step * ROWS..(step + 1) * ROWS).map(row).collect();
        let frame = Some(DataFrame::new().data(data));
        to.append_table_data(&table, AppendTableDataRequest::new().maybe_frame(frame))
    }

    fn put_package(self, to: &Session, step: u64) -> Result<()> {
        let feeds = to.query_feeds(QueryFeedsRequest::default())?.feeds;
        let feed = match feeds.into_iter().find(|feed| feed.name == self.name(0)) {
            Some(feed) => feed.id,
            None => {
                let platform = Some(Platform::ni_linux_rt());
                let request = CreateFeedRequest::new(self.name(0)).maybe_platform(platform);
                to.create_feed(request)?.id
            }
        };
        let bytes = self.package(step);
        to.upload_package_content(&feed, &mut bytes.as_slice(), None, true, &Control::default())
            .map(drop)
    }

    fn put_result(self, to: &Session, step: u64) -> Result<()> {
        to.transaction(|tx| {
            let request = CreateResultRequest::new().program_name(self.name(step));
            let made = tx.create_results(vec![request.status(StatusType::Passed)])?;
            let made = made.results.into_iter().next().and_then(|result| result.id);
            let id = made.ok_or_else(|| Error::invalid("no result was made"))?;
            let steps = (0..STEPS).map(|at| {
                CreateStepRequest::new()
                    .result_id(id.to_string())
                    .step_id(format!("s{at}"))
                    .name(self.name(step))
                    .status(StatusType::Passed)
            });
            tx.create_steps(steps.collect(), true)?.into_result().map(drop)
        })
    }

    fn package_id(self, of: &Session, step: u64) -> Result<Option<stationdb::feeds::PackageId>> {
        for feed in of.query_feeds(QueryFeedsRequest::default())?.feeds {
            for package in of.query_packages(&feed.id)?.packages {
                if package.metadata.package_name.as_deref() == Some(&self.name(step)) {
                    return Ok(Some(package.id));
                }
            }
        }
        Ok(None)
    }

    /// Makes the call with this number. What is done already by a process that was killed counts.
    pub fn step(self, store: &Store, step: u64) -> Result<()> {
        let ada = ada(store);
        match kind(step) {
            Kind::Product => self.put_product(&ada, step),
            Kind::File => self.put_file(&ada, step),
            Kind::Rows => self.put_rows(&ada, step),
            Kind::Together => ada.transaction(|tx| {
                self.put_product(tx, step)?;
                self.put_file(tx, step)?;
                self.put_rows(tx, step)
            }),
            Kind::Package => self.put_package(&ada, step),
            Kind::Result => self.put_result(&ada, step),
            Kind::Maintain => store.maintain(&Control::default()).map(drop),
            Kind::DeleteFile => match ada.delete_file(&self.file_id(step - 3).as_str().into()) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                other => other,
            },
            Kind::DeletePackage => match self.package_id(&ada, step - 4)? {
                Some(id) => ada.delete_package(&id),
                None => Ok(()),
            },
        }
    }

    /// The number of steps that the store shows. `acked` were acknowledged, of which the last may
    /// have been the last ever.
    pub fn steps(self, store: &Store, acked: u64) -> Result<u64, String> {
        let seen = Seen::of(self, &ada(store)).map_err(text)?;
        let newest = seen.newest();
        if newest > acked + 1 {
            return Err(format!("{self:?}: {newest} steps are there, {acked} were acknowledged"));
        }
        let count = newest.max(acked);
        for step in 0..count {
            let there = seen.shows(self, step)?;
            let removed = remover(step).is_some_and(|remover| remover < acked);
            let removing = remover(step).is_some_and(|remover| remover == acked);
            if there == Some(false) && !removed && !removing {
                return Err(format!("{self:?}: step {step} of {acked} is lost"));
            }
            if there == Some(true) && removed {
                return Err(format!("{self:?}: what step {step} made is there again"));
            }
        }
        Ok(count)
    }
}

/// What a store shows of a lane.
#[derive(Debug, Default)]
struct Seen {
    products: BTreeSet<u64>,
    files: BTreeSet<u64>,
    rows: BTreeMap<u64, u64>,
    packages: BTreeSet<u64>,
    results: BTreeSet<u64>,
    /// Steps of results by the step that made them.
    steps: BTreeMap<u64, usize>,
    odd: Vec<String>,
}

impl Seen {
    fn of(lane: Lane, ada: &Session) -> Result<Self> {
        let mut seen = Self::default();
        let mut query = QueryProductsRequest::new().take(1_000);
        loop {
            let page = ada.query_products(query.clone())?;
            let parts = page.products.iter().filter_map(|product| product.part_number.as_deref());
            seen.products.extend(parts.filter_map(|part| lane.step_of(part)));
            match page.continuation_token {
                Some(token) => query.continuation_token = Some(token),
                None => break,
            }
        }
        seen.read_rows(lane, ada)?;
        let results = ada.query_results(QueryResultsRequest::new().take(1_000))?.results;
        let programs = results.iter().filter_map(|result| result.program_name.as_deref());
        seen.results.extend(programs.filter_map(|program| lane.step_of(program)));
        for step in ada.query_steps(QueryStepsRequest::new())?.steps {
            if let Some(number) = step.name.as_deref().and_then(|name| lane.step_of(name)) {
                *seen.steps.entry(number).or_default() += 1;
            }
        }
        for feed in ada.query_feeds(QueryFeedsRequest::default())?.feeds {
            for package in ada.query_packages(&feed.id)?.packages {
                let name = package.metadata.package_name.clone().unwrap_or_default();
                let Some(step) = lane.step_of(&name) else { continue };
                let mut bytes = Vec::new();
                ada.download_package(&package.id, &mut bytes, &Control::default())?;
                if bytes != lane.package(step) {
                    seen.odd.push(format!("the package of step {step} is another one"));
                }
                seen.packages.insert(step);
            }
        }
        // Files are asked for by id up to where nothing can be.
        for step in (0..seen.newest() + 20)
            .filter(|step| matches!(kind(*step), Kind::File | Kind::Together))
        {
            let mut reader = match ada.open_file(&lane.file_id(step).as_str().into()) {
                Ok(reader) => reader,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mut bytes = Vec::new();
            reader
                .read_to_end(&mut bytes)
                .map_err(|error| Error::io(format!("reading the file of step {step}"), error))?;
            if bytes != content(step) {
                seen.odd.push(format!("the file of step {step} has another content"));
            }
            seen.files.insert(step);
        }
        Ok(seen)
    }

    fn read_rows(&mut self, lane: Lane, ada: &Session) -> Result<()> {
        let Some(table) = lane.table(ada)? else { return Ok(()) };
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            let request = GetTableDataRequest::new().maybe_continuation_token(token);
            let page = ada.get_table_data(&table, request)?;
            found.extend(page.frame.to_data_frame().data);
            token = page.continuation_token;
            if token.is_none() {
                break;
            }
        }
        for found in found {
            let at = found.first().cloned().flatten().and_then(|at| at.parse().ok());
            match at {
                Some(at) if found == row(at) => *self.rows.entry(at / ROWS).or_default() += 1,
                _ => self.odd.push(format!("an unknown row {found:?}")),
            }
        }
        Ok(())
    }

    /// One more than the newest step that left something.
    fn newest(&self) -> u64 {
        let sets = [&self.products, &self.files, &self.packages, &self.results];
        let newest = sets.iter().filter_map(|set| set.last()).max();
        newest.max(self.rows.keys().last()).map_or(0, |step| step + 1)
    }

    /// Whether a step is there; `None` if nothing can tell.
    fn shows(&self, lane: Lane, step: u64) -> Result<Option<bool>, String> {
        if let Some(odd) = self.odd.first() {
            return Err(format!("{lane:?}: {odd}"));
        }
        let rows = match self.rows.get(&step) {
            None => false,
            Some(&ROWS) => true,
            Some(count) => return Err(format!("{lane:?}: step {step} has {count} rows")),
        };
        let (product, file) = (self.products.contains(&step), self.files.contains(&step));
        match kind(step) {
            Kind::Product => Ok(Some(product)),
            Kind::File => Ok(Some(file)),
            Kind::Rows => Ok(Some(rows)),
            Kind::Together if product == file && product == rows => Ok(Some(product)),
            Kind::Together => Err(format!(
                "{lane:?}: of step {step} there is product {product}, file {file}, rows {rows}"
            )),
            Kind::Package => Ok(Some(self.packages.contains(&step))),
            Kind::Result => {
                let steps = self.steps.get(&step).copied().unwrap_or_default();
                match (self.results.contains(&step), steps) {
                    (false, 0) => Ok(Some(false)),
                    (true, STEPS) => Ok(Some(true)),
                    (result, steps) => {
                        Err(format!("{lane:?}: step {step} has result {result}, {steps} steps"))
                    }
                }
            }
            Kind::Maintain | Kind::DeleteFile | Kind::DeletePackage => Ok(None),
        }
    }
}
