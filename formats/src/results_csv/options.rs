//! What an import of results from CSV is told.

use stationdb::tables::DateOrder;

use crate::results::ResultOptions;

/// How a CSV text of results is imported.
///
/// ```
/// use stationdb_formats::results_csv::ImportOptions;
///
/// let options = ImportOptions::new().map("serialNumber", "Barcode").program_name("Final test");
/// assert_eq!(options.common.columns["serialNumber"], "Barcode");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// What all imports of results are told; also the columns of members.
    pub common: ResultOptions,
    /// The columns of measurements, where a row is a unit; all columns of numbers that are no
    /// member when absent.
    pub measurements: Option<Vec<String>>,
    /// The name of the test program where no column has it; `CSV` when absent.
    pub program_name: Option<String>,
    /// The separator, one character; found in the text when absent.
    pub separator: Option<char>,
    /// Whether decimals have a comma; found in the text when absent.
    pub decimal_comma: Option<bool>,
    /// The order of day and month in dates such as 01/02/2024.
    pub date_order: Option<DateOrder>,
    /// Lines before that with the names.
    pub skip_lines: u64,
}

impl ImportOptions {
    /// The options that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`common`](Self::common).
    #[must_use]
    pub fn common(mut self, common: ResultOptions) -> Self {
        self.common = common;
        self
    }

    /// Names the column of a member.
    #[must_use]
    pub fn map(mut self, member: impl Into<String>, column: impl Into<String>) -> Self {
        self.common = self.common.map(member, column);
        self
    }

    /// Sets [`measurements`](Self::measurements).
    #[must_use]
    pub fn measurements<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.measurements = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets [`program_name`](Self::program_name).
    #[must_use]
    pub fn program_name(mut self, program_name: impl Into<String>) -> Self {
        self.program_name = Some(program_name.into());
        self
    }

    /// Sets [`separator`](Self::separator).
    #[must_use]
    pub fn separator(mut self, separator: char) -> Self {
        self.separator = Some(separator);
        self
    }

    /// Sets [`decimal_comma`](Self::decimal_comma).
    #[must_use]
    pub fn decimal_comma(mut self, decimal_comma: bool) -> Self {
        self.decimal_comma = Some(decimal_comma);
        self
    }

    /// Sets [`date_order`](Self::date_order).
    #[must_use]
    pub fn date_order(mut self, date_order: DateOrder) -> Self {
        self.date_order = Some(date_order);
        self
    }

    /// Sets [`skip_lines`](Self::skip_lines).
    #[must_use]
    pub fn skip_lines(mut self, skip_lines: u64) -> Self {
        self.skip_lines = skip_lines;
        self
    }
}
