//! What is known of the CSV files of instruments, loggers and spreadsheets: one row a family.

use stationdb::tables::DateOrder;

use super::names::Named;
use crate::serial::Serial;

/// What is known of the files of a family.
#[derive(Clone, Debug)]
pub(in crate::csv) struct Preset {
    /// The name in a request.
    pub(in crate::csv) name: &'static str,
    /// How the first line begins, one of these; none if only a request can say that a file is one.
    pub(super) starts: &'static [&'static str],
    /// How the second line begins, one of these; any if there are none.
    pub(super) seconds: &'static [&'static str],
    /// Whether the names in the first line are those of the family, where its beginning is not its own.
    pub(super) has_names: fn(&str) -> bool,
    /// Texts in the first lines, all of which a file of the family has.
    pub(super) marks: &'static [&'static str],
    /// How lines behind the first begin, one each.
    pub(super) heads: &'static [&'static str],
    /// What lines of the header begin with.
    pub(super) prefix: &'static str,
    /// The first field of the rows; the fields before have a header beside them.
    pub(super) from: usize,
    /// The names of the columns where no line has them: the last ones if there are fewer columns,
    /// and numbers behind the last one if there are more.
    pub(super) names: &'static [&'static str],
    /// The lines of the header that have the units of columns, by their keys: of columns that a
    /// line names, that of the first column, and that with a field for each of the others.
    pub(super) unit_keys: &'static [&'static str],
    /// Lines between the names and the rows; found in them if unknown. The first one has units.
    pub(super) below: Option<usize>,
    /// The properties of columns in the lines behind the units.
    pub(super) tail: &'static [&'static str],
    /// The keys of the fields of the first line.
    pub(super) keys: &'static [&'static str],
    /// The field of a line of the header that has its value.
    pub(super) value_at: Option<usize>,
    /// Texts that mean that there is no value.
    pub(super) nulls: &'static [&'static str],
    /// Whether the numbers that instruments of SCPI write instead of a value are null.
    pub(super) has_scpi_nulls: bool,
    /// Whether numbers may begin with zeros.
    pub(super) has_zeros: bool,
    /// The order of year, month and day in dates, where others may read them otherwise.
    pub(super) date_order: Option<DateOrder>,
    /// Whether numbers have their units behind them.
    pub(super) has_units: bool,
    /// Whether most fields of a row may be texts.
    pub(super) has_texts: bool,
    /// The name of the column with the milliseconds of the times in the column before it.
    pub(super) millis: &'static str,
    /// What numbers in columns of times are.
    pub(in crate::csv) serial: Option<Serial>,
    /// Whether rows may be those of several segments, which the header lists.
    pub(super) has_segments: bool,
    /// Whether a line that begins with a letter ends the rows, as another block follows.
    pub(in crate::csv) has_blocks: bool,
}

const ANY: Preset = Preset {
    name: "",
    starts: &[],
    seconds: &[],
    has_names: |_| true,
    marks: &[],
    heads: &[],
    prefix: "",
    from: 0,
    names: &[],
    unit_keys: &[],
    below: None,
    tail: &[],
    keys: &[],
    value_at: None,
    nulls: &[],
    has_scpi_nulls: false,
    has_zeros: false,
    date_order: None,
    has_units: false,
    has_texts: false,
    millis: "",
    serial: None,
    has_segments: false,
    has_blocks: false,
};

/// Dates of makers who write the year first, and some with two digits.
const YEAR_FIRST: Option<DateOrder> = Some(DateOrder::YearFirst);

/// Whether names behind that of the times are `Channel 0` and so on, some of which may be others, and
/// none has a unit.
fn are_channels(line: &str) -> bool {
    let mut names = line.split([',', ';', '\t']).skip(1).map(str::trim);
    let is_channel = |name: &str| {
        let number = name.strip_prefix("Channel ").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    names.clone().any(is_channel) && names.all(|name| Named::with_unit(name).unit.is_none())
}

/// The families. A file is of the first one that fits.
const PRESETS: &[Preset] = &[
    Preset {
        name: "TEKTRONIX_TDS",
        starts: &["Record Length"],
        heads: &["Sample Interval", "Trigger Point"],
        from: 3,
        names: &["time", "value"],
        unit_keys: &["Horizontal Units", "Vertical Units"],
        has_zeros: true,
        ..ANY
    },
    Preset {
        name: "TEKTRONIX_MSO",
        starts: &["Model"],
        heads: &["Firmware Version", "TIME"],
        unit_keys: &["Horizontal Units", "Vertical Units"],
        ..ANY
    },
    Preset {
        name: "KEYSIGHT_INFINIIVISION",
        starts: &["x-axis"],
        seconds: &["second"],
        below: Some(1),
        has_scpi_nulls: true,
        ..ANY
    },
    Preset {
        name: "KEYSIGHT_INFINIIUM",
        starts: &["Revision", "Type", "File Format"],
        heads: &["XInc", "XOrg"],
        names: &["time", "value"],
        unit_keys: &["XUnits", "YUnits"],
        has_scpi_nulls: true,
        ..ANY
    },
    Preset { name: "RIGOL", starts: &["X"], seconds: &["Sequence", "Second"], ..ANY },
    Preset {
        name: "RIGOL_MSO",
        starts: &["Time", "CH1V", "CH1(", "CH2V", "CH2(", "CH3V", "CH3(", "CH4V", "CH4("],
        marks: &["tInc"],
        ..ANY
    },
    Preset {
        name: "RIGOL_LOGGER",
        starts: &["RIGOL TECHNOLOGIES", "Rigol Technologies"],
        marks: &["Scan"],
        keys: &["maker", "model", "serial number", "version"],
        date_order: YEAR_FIRST,
        ..ANY
    },
    Preset {
        name: "SIGLENT",
        starts: &["Record Length"],
        heads: &["Sample Interval", "Second"],
        ..ANY
    },
    Preset { name: "ROHDE_SCHWARZ_SCOPE", starts: &["in s"], ..ANY },
    Preset {
        name: "ROHDE_SCHWARZ_ANALYZER",
        starts: &["Type"],
        heads: &["Version", "Values"],
        names: &["frequency", "level"],
        unit_keys: &["x-Unit", "y-Unit"],
        has_blocks: true,
        ..ANY
    },
    Preset {
        name: "LECROY",
        starts: &["LECROY", "LeCroy"],
        marks: &["Segment"],
        keys: &["model", "serial number", "content"],
        has_segments: true,
        ..ANY
    },
    Preset { name: "DIGILENT", starts: &["#Digilent", "# Digilent"], prefix: "#", ..ANY },
    Preset {
        name: "PICOSCOPE",
        starts: &["Time", "Zeit", "Temps", "Tiempo", "Tempo"],
        seconds: &["("],
        ..ANY
    },
    Preset { name: "SALEAE", starts: &["Time [s]", "Time[s]"], has_names: are_channels, ..ANY },
    Preset {
        name: "HIOKI",
        starts: &["HIOKI", "FILE ID"],
        marks: &["HIOKI"],
        keys: &["model", "version", "date", "format"],
        nulls: &["OVER", "+OVER", "-OVER", "BURNOUT"],
        date_order: YEAR_FIRST,
        ..ANY
    },
    Preset {
        name: "GRAPHTEC",
        starts: &["Vendor"],
        marks: &["GRAPHTEC"],
        below: Some(1),
        nulls: &["BURNOUT", "+++++++", "-------", "Off"],
        date_order: YEAR_FIRST,
        millis: "ms",
        ..ANY
    },
    Preset {
        name: "CAMPBELL_TOA5",
        starts: &["TOA5"],
        below: Some(2),
        tail: &["processing"],
        keys: &[
            "format",
            "station",
            "logger",
            "serial number",
            "operating system",
            "program",
            "signature",
            "table",
        ],
        nulls: &["NAN"],
        ..ANY
    },
    Preset {
        name: "CAMPBELL_TOACI1",
        starts: &["TOACI1"],
        keys: &["format", "station", "table"],
        nulls: &["NAN"],
        ..ANY
    },
    Preset {
        name: "GAMRY",
        starts: &["EXPLAIN"],
        marks: &["CURVE"],
        below: Some(1),
        value_at: Some(2),
        has_blocks: true,
        ..ANY
    },
    Preset {
        name: "KEITHLEY",
        starts: &["Model", "MODEL", "Instrument", "INSTRUMENT", "Buffer", "Index"],
        marks: &["Reading", "Unit", "Seconds"],
        has_scpi_nulls: true,
        date_order: Some(DateOrder::MonthFirst),
        has_texts: true,
        ..ANY
    },
    Preset {
        name: "FLUKE",
        starts: &["Fluke 28", "FLUKE 28", "Reading", "Device", "Model"],
        marks: &["Reading", "Sample", "Start Time", "Duration"],
        nulls: &["OL"],
        has_units: true,
        ..ANY
    },
    Preset {
        name: "KEYSIGHT_BENCHVUE",
        starts: &["BenchVue", "Keysight BenchVue", "Keysight Technologies", "Name:"],
        marks: &["BenchVue", "Time"],
        has_scpi_nulls: true,
        date_order: Some(DateOrder::MonthFirst),
        ..ANY
    },
    Preset {
        name: "NI_FLEXLOGGER",
        starts: &["FlexLogger", "NI FlexLogger", "Application", "Project"],
        marks: &["FlexLogger", "Time"],
        ..ANY
    },
    Preset { name: "INSTRUMENT", ..ANY },
    Preset { name: "SPREADSHEET", serial: Some(Serial::From1900), ..ANY },
    Preset { name: "SPREADSHEET_1904", serial: Some(Serial::From1904), ..ANY },
];

/// The name in a request with which no family is looked for.
pub(in crate::csv) const NONE: &str = "NONE";

/// All families.
pub(super) fn all() -> &'static [Preset] {
    #[cfg(test)]
    if let Some(planted) = super::presets_tests::planted() {
        return planted;
    }
    PRESETS
}

/// The preset of this name.
pub(in crate::csv) fn named(name: &str) -> Option<&'static Preset> {
    all().iter().find(|preset| preset.name == name)
}

/// The preset of a file with these first lines, without quotes.
pub(super) fn find(lines: &[String]) -> Option<&'static Preset> {
    let begins = |line: &String, text: &str| {
        line.strip_prefix(text).is_some_and(|rest| {
            // A word of its own, such as the name `X`.
            let is_word = |end: Option<char>| end.is_some_and(char::is_alphanumeric);
            !is_word(text.chars().last()) || text.len() > 3 || !is_word(rest.chars().next())
        })
    };
    let begins_so = |line: usize, texts: &[&str]| {
        lines.get(line).is_some_and(|line| texts.iter().any(|text| begins(line, text)))
    };
    let behind = lines.get(1..).unwrap_or_default();
    all().iter().find(|preset| {
        begins_so(0, preset.starts)
            && lines.first().is_some_and(|line| (preset.has_names)(line))
            && (preset.seconds.is_empty() || begins_so(1, preset.seconds))
            && preset.marks.iter().all(|mark| lines.iter().any(|line| line.contains(mark)))
            && preset.heads.iter().all(|head| behind.iter().any(|line| begins(line, head)))
    })
}
