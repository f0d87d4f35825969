//! The page of one table.

use stationdb::prelude::*;
use stationdb::tables::TableId;
use stationdb::{Result, Session};

use crate::page::Page;
use crate::plot_options::PlotOptions;
use crate::waveform;
use crate::x_axis::unit;

/// Bytes of a page that all browsers open. Texts of half a gigabyte are too long for some.
pub const OPENED_BYTES: u64 = 300_000_000;

/// Bytes of a value in base64, and of x where it is not regular.
const FULL_VALUE_BYTES: u64 = 11;
/// Bytes of a page without numbers, of the pictures and tables of a column, and of its violations.
const PAGE_BYTES: u64 = 130_000;
const COLUMN_BYTES: u64 = 20_000;
const VIOLATIONS_BYTES: u64 = 300_000;
/// Bytes of a page for each byte of the name of a column: it stands there and with each violation,
/// and a character may take six bytes for each of its own.
const NAMES_MAX: usize = 6 * 110;
/// The same for the unit of x, which stands with each place: of a column, of its violations in numbers,
/// and of those in its table.
const PLACES_MAX: usize = 6 * (10 + 1_000 + 3 * 100);

/// Makes the page of columns of a table: one HTML file, as text.
///
/// The columns are read once. The page has the lowest and the highest sample of each interval, with
/// their places: as many intervals as 2 MB a column allow, or every row of a short table. Around
/// marked places, the worst samples and violations of limits it has the rows.
///
/// The session says who reads, and with `Session::with_control` how it is cancelled.
///
/// # Errors
/// `NotFound` if there is no such table; `InvalidArgument` for a column that is missing or not of
/// numbers, for a bad filter, and for a mark that is no value of the x axis; `LimitExceeded` for
/// more than 64 columns, and for every row of more than 67 million values; what reading rows refuses.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # use stationdb::prelude::*;
/// # use stationdb::tables::{
/// #     AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
/// # };
/// # use stationdb::{Identity, Store};
/// use stationdb_report::{Limits, PlotOptions, plot_html};
/// # let store = Store::open(dir.path())?;
/// # let session = store.session(Identity::user("ada"));
/// # let columns = [
/// #     Column::new("t", DataType::Int32).column_type(ColumnType::Index),
/// #     Column::new("volts", DataType::Float64),
/// # ];
/// # let table = session.create_table(CreateTableRequest::new(columns).name("Loop"))?;
/// # let row = |cells: [&str; 2]| cells.map(|cell| Some(cell.to_owned())).to_vec();
/// # let rows = DataFrame::new().data([row(["0", "3.29"]), row(["1", "3.41"])]);
/// # session.append_table_data(&table, AppendTableDataRequest::new().frame(rows))?;
///
/// let options = PlotOptions::new().columns(["volts"]).limits(Limits::new("Gain", None, Some(3.4)));
/// std::fs::write(dir.path().join("loop.html"), plot_html(&session, &table, &options)?)?;
/// # Ok(())
/// # }
/// ```
pub fn plot_html(session: &Session, table: &TableId, options: &PlotOptions) -> Result<String> {
    Ok(plot_page(session, table, options)?.html)
}

/// A page of columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotPage {
    /// The HTML file, as text.
    pub html: String,
    /// Rows that the page is about: those that the filters choose, with a value of x.
    pub rows: u64,
}

/// As [`plot_html`], with the number of rows.
///
/// # Errors
/// As [`plot_html`].
pub fn plot_page(session: &Session, table: &TableId, options: &PlotOptions) -> Result<PlotPage> {
    // Rows that are appended meanwhile are not in some of the reads alone.
    let session = &session.pinned();
    let title = match &options.title {
        Some(title) => title.clone(),
        None => session.get_table_metadata(table)?.name.unwrap_or_default(),
    };
    let mut page = Page::new(&title);
    let rows = waveform::add(&mut page, session, table, options)?.rows;
    Ok(PlotPage { html: page.finish(), rows })
}

/// How long a page with every row gets at most, in bytes, without reading a row. Filters are not
/// looked at.
///
/// # Errors
/// As [`plot_html`].
pub fn full_bytes(session: &Session, table: &TableId, options: &PlotOptions) -> Result<u64> {
    let metadata = session.get_table_metadata(table)?;
    let chosen = waveform::choose(&metadata, options)?;
    let columns = chosen.ys.len() as u64;
    let unit_of = |column| unit(column).map_or(0, |unit| unit.len());
    let named = chosen.ys.iter().map(|y| y.name.len() + unit_of(y)).sum::<usize>();
    let texts = [metadata.name.as_deref(), options.title.as_deref(), Some(&*chosen.x.name)];
    let texts = texts.iter().flatten().map(|text| text.len()).sum::<usize>();
    let limits = options.limits.iter().map(|limits| limits.name.len()).sum::<usize>();
    let lines = options.lines.iter().map(|(text, _)| text.len());
    let marks = options.marks.iter().map(|(text, _)| text.len());
    let texts = texts + lines.chain(marks).sum::<usize>() + limits * chosen.ys.len();
    // The unit of x stands with each place.
    let places = unit_of(&chosen.x) * chosen.ys.len() * PLACES_MAX;
    let names = ((named + texts) * NAMES_MAX + places) as u64;
    let rows = u64::try_from(metadata.row_count.unwrap_or(0)).unwrap_or(0);
    let beside = if options.limits.is_empty() { 0 } else { VIOLATIONS_BYTES } + COLUMN_BYTES;
    // Each column has its own x.
    let values = rows.saturating_mul(2 * FULL_VALUE_BYTES);
    let of_columns = values.saturating_add(beside).saturating_mul(columns);
    Ok(of_columns.saturating_add(names).saturating_add(PAGE_BYTES))
}
