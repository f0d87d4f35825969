//! A read of records, steps or measurements: what the store tests, and how it begins.

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use stationdb::results::{
    QueryResultsRequest, QueryStepsRequest, ResultService, ScanMeasurementsRequest,
    ScanStepsRequest,
};
use stationdb::scans::{RecordKind, RecordService, ScanRecordsRequest};
use stationdb::{Control, ErrorKind, Session};

use crate::batches::{Batches, without_columns};
use crate::language::Filter;
use crate::spec_limits::{self, is_spec_limit};

/// The names of the tables of steps and of measurements.
pub(crate) const STEPS: &str = "steps";
pub(crate) const MEASUREMENTS: &str = "measurements";

/// What the rows of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Kind(RecordKind),
    Steps,
    Measurements,
}

/// What the store tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tests {
    /// Of records, or of steps.
    pub filter: Filter,
    pub result_filter: Filter,
    /// Name of the measurements.
    pub name: Option<String>,
}

impl Tests {
    fn append(&mut self, other: &Self) {
        self.filter.append(&other.filter);
        self.result_filter.append(&other.result_filter);
        if self.name.is_none() {
            self.name.clone_from(&other.name);
        }
    }
}

/// The text and the substitutions of a filter.
fn parts(filter: Filter) -> (Option<String>, Option<Vec<serde_json::Value>>) {
    if filter.text.is_empty() {
        (None, None)
    } else {
        (Some(filter.text), Some(filter.substitutions))
    }
}

impl Source {
    pub(crate) fn schema(self, session: &Session) -> stationdb::Result<SchemaRef> {
        match self {
            Self::Kind(kind) => session.record_schema(kind),
            Self::Steps => ScanStepsRequest::schema(),
            Self::Measurements => spec_limits::measurements(),
        }
    }

    /// What is read, for `explain`.
    fn label(self) -> String {
        match self {
            Self::Kind(kind) => kind.to_string(),
            Self::Steps => STEPS.to_owned(),
            Self::Measurements => MEASUREMENTS.to_owned(),
        }
    }

    /// Whether conditions are tested as a whole by the store, which keeps exactly the rows of SQL.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Kind(RecordKind::TestResult) | Self::Steps | Self::Measurements)
    }

    /// Whether the store counts without reading columns.
    pub(crate) fn is_counted(self) -> bool {
        matches!(self, Self::Kind(RecordKind::TestResult) | Self::Steps)
    }

    /// The column with the id of a result.
    pub(crate) fn key(self) -> Option<&'static str> {
        match self {
            Self::Kind(RecordKind::TestResult) => Some("id"),
            Self::Kind(_) => None,
            Self::Steps | Self::Measurements => Some("result_id"),
        }
    }

    /// The column that is the least work to read.
    pub(crate) fn least(self, schema: &Schema) -> &str {
        match self {
            Self::Measurements => "position",
            _ => schema.fields().first().map_or("record", |field| field.name()),
        }
    }
}

/// A read of a table of records.
#[derive(Clone, Debug)]
pub(crate) struct RecordRead {
    pub session: Session,
    pub source: Source,
    pub schema: SchemaRef,
    /// The columns of the store that are read.
    pub columns: Vec<String>,
    /// What the store alone tests.
    pub required: Tests,
    /// What DataFusion tests again.
    pub repeated: Tests,
    /// Filters of the results that the rows are joined with.
    pub among: Filter,
    pub take: Option<i64>,
    /// Whether the rows are counted by the store.
    pub is_count: bool,
    /// The position of the column with the id of the result.
    pub key: Option<usize>,
}

impl RecordRead {
    /// What is read, for `explain`.
    pub(crate) fn label(&self) -> String {
        let mut tests = self.required.clone();
        tests.append(&self.repeated);
        let mut label = self.source.label();
        if self.is_count {
            label = format!("number of {label}");
        }
        let mut word = " where";
        if let Some(name) = &tests.name {
            label.push_str(&format!("{word} name == {name:?}"));
            word = " and";
        }
        for (filter, of) in [
            (&tests.filter, ""),
            (&tests.result_filter, " results with"),
            (&self.among, " joined results with"),
        ] {
            if !filter.text.is_empty() {
                label.push_str(&format!("{word}{of} {} {:?}", filter.text, filter.substitutions));
                word = " and";
            }
        }
        label
    }

    /// The position of the column with the id of the result, if fewer results are fewer rows of the
    /// statement.
    pub(crate) fn key(&self) -> Option<usize> {
        self.key.filter(|_| self.take.is_none() && !self.is_count)
    }

    /// Whether these are steps or measurements.
    pub(crate) fn is_of_results(&self) -> bool {
        matches!(self.source, Source::Steps | Source::Measurements)
    }

    /// The condition that all results of this read pass, whose ids are the column at this position.
    /// None if it does not read results.
    pub(crate) fn results(&self, position: usize) -> Option<Filter> {
        if self.is_of_results() || self.key != Some(position) {
            return None;
        }
        let mut filter = self.required.filter.clone();
        filter.append(&self.repeated.filter);
        Some(filter)
    }

    /// The same read, of no results but those that pass this filter.
    pub(crate) fn among(&self, filter: &Filter) -> Self {
        let mut read = self.clone();
        read.among.append(filter);
        read
    }

    /// Begins the read.
    pub(crate) fn open(&self, control: &Control) -> stationdb::Result<Batches> {
        let mut tests = self.required.clone();
        tests.append(&self.repeated);
        if !self.among.text.is_empty() {
            let mut fewer = tests.clone();
            fewer.result_filter.append(&self.among);
            match self.read(fewer, control) {
                // More results than the memory of a query has room for, or a value that the store
                // refuses: the join finds the rows among all.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::LimitExceeded | ErrorKind::InvalidArgument
                    ) => {}
                read => return read,
            }
        }
        match self.read(tests, control) {
            // A value that the field cannot have, as an unknown name of a state: nothing matches it
            // in SQL, and the store refuses it.
            Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                self.read(self.required.clone(), control)
            }
            read => read,
        }
    }

    fn read(&self, tests: Tests, control: &Control) -> stationdb::Result<Batches> {
        if self.is_count {
            return Ok(Box::new(without_columns(self.count(tests, control)?)));
        }
        let (filter, substitutions) = parts(tests.filter);
        let (result_filter, result_substitutions) = parts(tests.result_filter);
        let (session, columns) = (&self.session, self.columns.clone());
        Ok(match self.source {
            Source::Kind(kind) => {
                let mut request = ScanRecordsRequest::new(kind).columns(columns);
                (request.filter, request.substitutions) = (filter, substitutions);
                request.take = self.take;
                Box::new(session.scan_records(request, control)?)
            }
            Source::Steps => {
                let mut request = ScanStepsRequest::new().columns(columns);
                (request.filter, request.substitutions) = (filter, substitutions);
                request.result_filter = result_filter;
                request.result_substitutions = result_substitutions;
                request.take = self.take;
                Box::new(session.scan_steps(request, control)?)
            }
            Source::Measurements => {
                let mut request = ScanMeasurementsRequest::new().columns(columns);
                (request.filter, request.substitutions) = (filter, substitutions);
                request.result_filter = result_filter;
                request.result_substitutions = result_substitutions;
                (request.name, request.take) = (tests.name, self.take);
                let stream = session.scan_measurements(request, control)?;
                if !self.schema.fields().iter().any(|field| is_spec_limit(field.name())) {
                    return Ok(Box::new(stream));
                }
                let schema = self.schema.clone();
                let shown = move |batch| spec_limits::shown(&batch?, &schema);
                Box::new(stream.map(shown))
            }
        })
    }

    /// How many records or steps the store says there are.
    fn count(&self, tests: Tests, control: &Control) -> stationdb::Result<u64> {
        let session = self.session.with_control(control);
        let (filter, substitutions) = parts(tests.filter);
        let count = if self.source == Source::Steps {
            let mut request = QueryStepsRequest::new().take(0).return_count(true);
            (request.filter, request.substitutions) = (filter, substitutions);
            let (filter, substitutions) = parts(tests.result_filter);
            (request.result_filter, request.result_substitutions) = (filter, substitutions);
            session.query_steps(request)?.total_count
        } else {
            let mut request = QueryResultsRequest::new().take(0).return_count(true);
            (request.filter, request.substitutions) = (filter, substitutions);
            session.query_results(request)?.total_count
        };
        Ok(count.unwrap_or_default())
    }
}
