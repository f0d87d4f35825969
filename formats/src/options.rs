//! How an import reads its file: the members of the request, checked once.

use std::collections::{BTreeMap, HashSet};

use stationdb::arrow::datatypes::TimeUnit;
use stationdb::tables::{BinaryForm, DataType, DateOrder, EpochUnit, ImportTableRequest};
use stationdb::{Error, Result};

use crate::csv::Encoding;
use crate::limits;
use crate::moment::offset;
use crate::serial::Serial;
use crate::zone::Zone;

/// The name of a unit of time.
pub(crate) fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// The checked members of a request that say how a file is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImportOptions {
    /// The name of the index column; without it the rows are numbered.
    pub(crate) index: Option<String>,
    /// The separator; sniffed when absent.
    pub(crate) separator: Option<u8>,
    /// Whether decimals have a comma; decided by each column when absent.
    pub(crate) decimal_comma: Option<bool>,
    /// Texts that are null in every column; the default texts, in columns other than STRING, when
    /// absent.
    pub(crate) null_texts: Option<HashSet<String>>,
    /// Whether these texts are null in quotes, too, in columns other than STRING.
    pub(crate) quotes_nulls: bool,
    /// Whether the numbers that instruments of SCPI write instead of a value are null.
    pub(crate) has_scpi_nulls: bool,
    /// What comment lines before the header begin with.
    pub(crate) comment: Option<String>,
    /// The encoding of a text without a byte order mark; found in it when absent.
    pub(crate) encoding: Option<Encoding>,
    /// Lines before the header.
    pub(crate) skip_lines: u64,
    /// The preset of an instrument, or `NONE`.
    pub(crate) preset: Option<String>,
    /// Whether a line names the columns; one does when absent.
    pub(crate) header: Option<bool>,
    /// Whether the line behind the names has units.
    pub(crate) units_line: Option<bool>,
    /// Whether the last values of a line may be missing.
    pub(crate) short_rows: Option<bool>,
    /// Lines at the end that are no rows.
    pub(crate) footer_lines: u64,
    /// Whether names may repeat, in blocks of columns beside each other.
    pub(crate) side_by_side: Option<bool>,
    /// Seconds between two rows.
    pub(crate) sample_interval: Option<String>,
    /// The time of the first row.
    pub(crate) start_time: Option<String>,
    /// The order of year, month and day in dates such as 01/02/2024.
    pub(crate) date_order: Option<DateOrder>,
    /// Whether that order is the one of the files of a maker, and nobody told it.
    pub(crate) assumes_order: bool,
    /// Whether numbers may have their unit behind them, one for a column.
    pub(crate) has_units: bool,
    /// The zone of times without one.
    pub(crate) zone: Zone,
    /// Whether the request names that zone.
    pub(crate) names_zone: bool,
    /// What numbers in columns of times count since 1970 UTC.
    pub(crate) epoch: Option<TimeUnit>,
    /// The days of a spreadsheet that they are otherwise.
    pub(crate) serial: Option<Serial>,
    /// Whether digits of times that are finer than their column are cut off.
    pub(crate) cut_times: bool,
    /// The types of columns that are not to be inferred.
    pub(crate) types: BTreeMap<String, DataType>,
    /// The text that binary values become.
    pub(crate) binary: Option<BinaryForm>,
    /// Whether the members of nested columns become columns.
    pub(crate) flatten: bool,
}

fn one_character<'t>(text: Option<&'t str>, member: &str) -> Result<Option<(char, &'t str)>> {
    let Some(text) = text else { return Ok(None) };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(Some((only, text))),
        _ => Err(Error::invalid(format!("{text:?} is not one character")).at_member(member)),
    }
}

fn zone(text: Option<&str>) -> Result<Zone> {
    match text {
        None => Ok(Zone::Utc),
        Some(text) => Zone::new(text, offset(text)).map_err(|error| error.at_member("timeZone")),
    }
}

impl ImportOptions {
    /// Checks the members of a request.
    ///
    /// # Errors
    /// `InvalidArgument` with the member; `Unsupported` for a named zone in a build without them.
    pub(crate) fn new(request: &ImportTableRequest) -> Result<Self> {
        let separator = match one_character(request.separator.as_deref(), "separator")? {
            None => None,
            Some((only, _)) => Some(
                u8::try_from(only)
                    .ok()
                    .filter(|byte| byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n'))
                    .ok_or_else(|| {
                        Error::invalid(format!(
                            "{only:?} cannot separate values; use an ASCII character such as a \
                             comma"
                        ))
                        .at_member("separator")
                    })?,
            ),
        };
        let decimal = one_character(request.decimal_separator.as_deref(), "decimalSeparator")?;
        let decimal_comma = match decimal {
            None => None,
            Some((',', _)) => Some(true),
            Some(('.', _)) => Some(false),
            Some((_, text)) => {
                return Err(Error::invalid(format!(
                    "{text:?} does not separate decimals; use a point or a comma"
                ))
                .at_member("decimalSeparator"));
            }
        };
        let skip_lines = u64::try_from(request.skip_lines.unwrap_or_default()).map_err(|_| {
            Error::invalid("the number of lines to skip is negative; use 0 or more")
                .at_member("skipLines")
        })?;
        let footer_lines = request.footer_lines.unwrap_or_default();
        let footer_lines = u64::try_from(footer_lines)
            .ok()
            .filter(|lines| *lines <= limits::FOOTER_LINES)
            .ok_or_else(|| {
                let most = limits::FOOTER_LINES;
                Error::invalid(format!("{footer_lines} lines are no footer; use 0 to {most}"))
                    .at_member("footerLines")
            })?;
        Ok(Self {
            preset: request.preset.clone(),
            header: request.header,
            units_line: request.units_line,
            short_rows: request.short_rows,
            footer_lines,
            side_by_side: request.side_by_side,
            sample_interval: request.sample_interval.clone(),
            start_time: request.start_time.clone(),
            index: request.index_column.clone(),
            separator,
            decimal_comma,
            null_texts: request.null_texts.as_ref().map(|texts| texts.iter().cloned().collect()),
            quotes_nulls: false,
            has_scpi_nulls: false,
            comment: request.comment_prefix.clone(),
            encoding: request.encoding.as_deref().map(Encoding::named).transpose()?,
            skip_lines,
            date_order: request.date_order,
            assumes_order: false,
            has_units: false,
            zone: zone(request.time_zone.as_deref())?,
            names_zone: request.time_zone.is_some(),
            epoch: request.epoch_unit.map(|unit| match unit {
                EpochUnit::Seconds => TimeUnit::Second,
                EpochUnit::Millis => TimeUnit::Millisecond,
                EpochUnit::Micros => TimeUnit::Microsecond,
                EpochUnit::Nanos => TimeUnit::Nanosecond,
            }),
            serial: None,
            cut_times: request.cut_times.unwrap_or_default(),
            types: request.column_types.clone().unwrap_or_default(),
            binary: request.binary,
            flatten: request.flatten.unwrap_or_default(),
        })
    }

    /// Refuses a type for a column that the file does not have.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(crate) fn check_names(&self, names: &[String]) -> Result<()> {
        match self.types.keys().find(|name| !names.contains(name)) {
            None => Ok(()),
            Some(name) => Err(Error::invalid(format!(
                "there is no column {name:?}; the columns are {}",
                some_of(names)
            ))
            .at_member("columnTypes")),
        }
    }
}

/// The first names of a list, for messages.
pub(crate) fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
