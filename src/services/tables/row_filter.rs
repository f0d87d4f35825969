//! Which rows a request selects: the wire's list of conditions, and a filter in the language.

use crate::columnar::{Predicates, TableSchema};
use crate::error::Result;
use crate::filter::{self, Columns, Filter, Schema, Times};
use crate::model::{ColumnFilter, DataType};
use crate::services::lists;
use crate::session::Access;
use crate::value::{FieldType, limits};

/// The members of a request that select rows.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::services) struct RowFilter<'r> {
    /// The wire's conditions.
    pub filters: Option<&'r [ColumnFilter]>,
    /// A filter in the language.
    pub filter: Option<&'r str>,
    /// Its substitutions.
    pub substitutions: Option<&'r [serde_json::Value]>,
}

/// The members of a request as a [`RowFilter`].
macro_rules! row_filter {
    ($request:expr) => {
        $crate::services::tables::row_filter::RowFilter {
            filters: $request.filters.as_deref(),
            filter: $request.filter.as_deref(),
            substitutions: $request.substitutions.as_deref(),
        }
    };
}
pub(in crate::services) use row_filter;

#[derive(Debug)]
struct Names<'s>(&'s TableSchema);

fn field_type(data_type: DataType) -> FieldType {
    match data_type {
        DataType::Bool => FieldType::Bool,
        DataType::Float32 | DataType::Float64 => FieldType::Double,
        // The times of the language are milliseconds, which would lose digits.
        DataType::Int32
        | DataType::Int64
        | DataType::TimestampMicros
        | DataType::TimestampNanos => FieldType::Int,
        DataType::String => FieldType::String,
        DataType::Timestamp => FieldType::Time,
    }
}

impl Columns for Names<'_> {
    /// The column with exactly this name, or the only one that differs in letter case alone.
    fn find(&self, name: &str) -> Option<(usize, FieldType)> {
        let at = match self.0.position(name) {
            Ok(at) => at,
            Err(_) => {
                let mut alike = self
                    .0
                    .columns()
                    .iter()
                    .enumerate()
                    .filter(|(_, column)| column.name.eq_ignore_ascii_case(name));
                match (alike.next(), alike.next()) {
                    (Some((at, _)), None) => at,
                    _ => return None,
                }
            }
        };
        self.0.column(at).ok().map(|column| (at, field_type(column.data_type)))
    }

    fn per_second(&self, column: usize) -> Option<i64> {
        match self.0.column(column).ok()?.data_type {
            DataType::TimestampMicros => Some(1_000_000),
            DataType::TimestampNanos => Some(1_000_000_000),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        self.0.columns().iter().map(|column| column.name.as_str()).collect()
    }
}

/// Compiles a filter of the rows of a table; `None` for an absent or blank text.
///
/// # Errors
/// `InvalidArgument`, with the position.
pub(crate) fn compile(
    schema: &TableSchema,
    text: Option<&str>,
    substitutions: &[serde_json::Value],
    times: &Times,
) -> Result<Option<Filter>> {
    let names = Names(schema);
    let language =
        Schema { columns: Some(&names), accept_substitutions: true, ..Schema::default() };
    filter::compile(text, substitutions, &language, times)
}

impl RowFilter<'_> {
    /// Checks the filters against the columns of a table.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid condition and for an invalid filter, with its position;
    /// `LimitExceeded` for too many conditions.
    pub(in crate::services) fn check(
        &self,
        access: &impl Access,
        schema: &TableSchema,
    ) -> Result<Predicates> {
        let filters = self.filters.unwrap_or_default();
        // Clients put two tests on each column and also bound a range.
        let most = limits::QUERY_LIST.max(schema.len().saturating_mul(4));
        lists::check_within("filters", filters.len(), most)?;
        let predicates = Predicates::new(schema, filters)?;
        let times = Times::new(access.context().engine.now(), None);
        match compile(schema, self.filter, self.substitutions.unwrap_or_default(), &times)? {
            Some(filter) => predicates.with_filter(schema, filter.shape()),
            None => Ok(predicates),
        }
    }
}
