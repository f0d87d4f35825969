//! What an import of test results is told.

use std::collections::BTreeMap;

use stationdb::tables::DateOrder;

/// How test results are imported, whatever the format of their file.
///
/// ```
/// use stationdb_formats::ResultOptions;
///
/// let options = ResultOptions::new().part_number("PN-7").time_zone("+02:00").again(true);
/// assert_eq!(options.part_number.as_deref(), Some("PN-7"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultOptions {
    /// The part number of the results, instead of that in the file, such as `PART_TYP` of STDF.
    pub part_number: Option<String>,
    /// The workspace of everything that is created; the session's default when absent.
    pub workspace: Option<String>,
    /// Whether a file is imported although there are results of it.
    pub again: bool,
    /// The zone of times without one, such as `+02:00` or `Europe/Berlin`; UTC when absent.
    /// `REFUSE` refuses them. Names need the feature `zones`. Records of `OpenHTF` have no such
    /// times, and STDF has no others.
    pub time_zone: Option<String>,
    /// The columns of members in CSV, by the names of the members; members without one have the
    /// column with one of their usual names. An empty name keeps a member without a column.
    pub columns: BTreeMap<String, String>,
    /// The columns of measurements in CSV in which a row is a unit; all columns of numbers that are
    /// no member when absent.
    pub measurements: Option<Vec<String>>,
    /// The name of the test program in CSV where no column has it; `CSV` when absent.
    pub program_name: Option<String>,
    /// The separator of CSV, one character; found in the text when absent.
    pub separator: Option<char>,
    /// Whether decimals in CSV have a comma; found in each column when absent.
    pub decimal_comma: Option<bool>,
    /// The order of day and month in dates of CSV such as 01/02/2024; found where one day is above
    /// 12 when absent.
    pub date_order: Option<DateOrder>,
    /// Lines of CSV before that with the names.
    pub skip_lines: u64,
    /// Whether the last values of a line of CSV may be missing; found when absent.
    pub short_rows: Option<bool>,
    /// Lines at the end of CSV that are no rows, 1,000 at most.
    pub footer_lines: u64,
}

impl ResultOptions {
    /// The options that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`part_number`](Self::part_number).
    #[must_use]
    pub fn part_number(mut self, part_number: impl Into<String>) -> Self {
        self.part_number = Some(part_number.into());
        self
    }

    /// Sets [`workspace`](Self::workspace).
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Sets [`again`](Self::again).
    #[must_use]
    pub fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }

    /// Sets [`time_zone`](Self::time_zone).
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<String>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }

    /// Names the column of a member in CSV.
    #[must_use]
    pub fn map(mut self, member: impl Into<String>, column: impl Into<String>) -> Self {
        self.columns.insert(member.into(), column.into());
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

    /// Sets [`short_rows`](Self::short_rows).
    #[must_use]
    pub fn short_rows(mut self, short_rows: bool) -> Self {
        self.short_rows = Some(short_rows);
        self
    }

    /// Sets [`footer_lines`](Self::footer_lines).
    #[must_use]
    pub fn footer_lines(mut self, footer_lines: u64) -> Self {
        self.footer_lines = footer_lines;
        self
    }
}
