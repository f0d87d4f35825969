//! What a plot shows, and how much of it.

use stationdb::specifications::Specification;
use stationdb::tables::ColumnFilter;

/// The limits of columns, which the page shows as bands, and whose violations it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    pub(crate) name: String,
    pub(crate) column: Option<String>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) is_strict: bool,
}

impl Limits {
    /// Limits of all columns; values at a limit are allowed. A limit that is not finite is none.
    #[must_use]
    pub fn new(name: impl Into<String>, low: Option<f64>, high: Option<f64>) -> Self {
        let finite = |limit: Option<f64>| limit.filter(|limit| limit.is_finite());
        Self {
            name: name.into(),
            column: None,
            low: finite(low),
            high: finite(high),
            is_strict: false,
        }
    }

    /// The limits of a specification, as the library judges by them: values at a limit are outside.
    #[must_use]
    pub fn of_specification(specification: &Specification) -> Self {
        let limit = specification.limit.as_ref();
        let name = specification.name.as_ref().or(specification.spec_id.as_ref());
        let side = |side: Option<stationdb::specifications::Number>| {
            side.map(stationdb::specifications::Number::as_f64)
        };
        Self::strict(
            name.cloned().unwrap_or_default(),
            side(limit.and_then(|limit| limit.min)),
            side(limit.and_then(|limit| limit.max)),
        )
    }

    /// As [`Limits::new`]; values at a limit are violations.
    #[must_use]
    pub fn strict(name: impl Into<String>, low: Option<f64>, high: Option<f64>) -> Self {
        Self { is_strict: true, ..Self::new(name, low, high) }
    }

    /// Makes them the limits of one column.
    #[must_use]
    pub fn of_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}

/// The options of [`plot_html`](crate::plot_html).
///
/// ```
/// use stationdb_report::{Limits, PlotOptions};
///
/// let options = PlotOptions::new()
///     .columns(["volts"])
///     .limits(Limits::new("Gain", Some(3.2), Some(3.4)).of_column("volts"))
///     .mark("plug pulled", "1500");
/// ```
#[derive(Clone, Debug, Default)]
pub struct PlotOptions {
    pub(crate) title: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) x_column: Option<String>,
    pub(crate) filters: Vec<ColumnFilter>,
    pub(crate) limits: Vec<Limits>,
    pub(crate) lines: Vec<(String, f64)>,
    pub(crate) marks: Vec<(String, String)>,
    pub(crate) is_full: bool,
    pub(crate) column_bytes: Option<usize>,
}

impl PlotOptions {
    /// All columns of numbers but the index, eight at most, over the index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The title of the page; the name of the table if there is none.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The columns to show, in this order.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// The column of the x axis in place of the index. Rows without a value in it are left out.
    #[must_use]
    pub fn x_column(mut self, column: impl Into<String>) -> Self {
        self.x_column = Some(column.into());
        self
    }

    /// Filters that a row must all match.
    #[must_use]
    pub fn filters(mut self, filters: impl IntoIterator<Item = ColumnFilter>) -> Self {
        self.filters = filters.into_iter().collect();
        self
    }

    /// Adds limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits.push(limits);
        self
    }

    /// Adds a horizontal line to all columns, which no value violates.
    #[must_use]
    pub fn line(mut self, text: impl Into<String>, value: f64) -> Self {
        if value.is_finite() {
            self.lines.push((text.into(), value));
        }
        self
    }

    /// Marks a place on the x axis, written like a cell of its column: the page says `text` there,
    /// and has the rows around it.
    #[must_use]
    pub fn mark(mut self, text: impl Into<String>, x: impl Into<String>) -> Self {
        self.marks.push((text.into(), x.into()));
        self
    }

    /// Whether the page has every row. [`full_bytes`](crate::full_bytes) says before how long it
    /// gets.
    #[must_use]
    pub fn full(mut self, is_full: bool) -> Self {
        self.is_full = is_full;
        self
    }

    /// Bytes of the file for each column, from 20,000; 2 MB if nothing is said.
    #[must_use]
    pub fn column_bytes(mut self, bytes: usize) -> Self {
        self.column_bytes = Some(bytes);
        self
    }
}
