//! What is known of the CSV files of instruments, loggers and spreadsheets: one row a family.

use stationdb::tables::DateOrder;

/// What is known of the files of a family.
#[derive(Debug)]
pub(in crate::csv) struct Preset {
    /// The name in a request.
    pub(in crate::csv) name: &'static str,
    /// How the first line begins, one of these; none if only a request can say that a file is one.
    starts: &'static [&'static str],
    /// How the second line begins, one of these; any if there are none.
    seconds: &'static [&'static str],
    /// Texts in the first lines, all of which a file of the family has.
    marks: &'static [&'static str],
    /// The separator, where rows alone may not tell it.
    pub(super) separator: Option<u8>,
    /// What lines of the header begin with.
    pub(super) prefix: &'static str,
    /// The first field of the rows; the fields before have a header beside them.
    pub(super) from: usize,
    /// The names of the columns where no line has them; the last ones if there are fewer columns.
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
    /// Whether numbers may begin with zeros.
    pub(super) has_zeros: bool,
    /// The order of year, month and day in dates, where others may read them otherwise.
    pub(super) date_order: Option<DateOrder>,
    /// Whether numbers have their units behind them.
    pub(super) has_units: bool,
    /// Whether most fields of a row may be texts.
    pub(super) has_texts: bool,
    /// Whether rows may be those of several segments, which the header lists.
    pub(super) has_segments: bool,
}

const ANY: Preset = Preset {
    name: "",
    starts: &[],
    seconds: &[],
    marks: &[],
    separator: None,
    prefix: "",
    from: 0,
    names: &[],
    unit_keys: &[],
    below: None,
    tail: &[],
    keys: &[],
    value_at: None,
    nulls: &[],
    has_zeros: false,
    date_order: None,
    has_units: false,
    has_texts: false,
    has_segments: false,
};

/// Dates of makers who write the year first, and some with two digits.
const YEAR_FIRST: Option<DateOrder> = Some(DateOrder::YearFirst);

/// The families. A file is of the first one that fits.
pub(in crate::csv) const PRESETS: &[Preset] = &[
    Preset {
        name: "TEKTRONIX_TDS",
        starts: &["Record Length"],
        marks: &["Trigger Point", "Vertical Units"],
        from: 3,
        names: &["time", "value"],
        unit_keys: &["Horizontal Units", "Vertical Units"],
        has_zeros: true,
        ..ANY
    },
    Preset {
        name: "TEKTRONIX_MSO",
        starts: &["Model"],
        marks: &["Waveform Type", "Record Length"],
        unit_keys: &["Horizontal Units", "Vertical Units"],
        ..ANY
    },
    Preset {
        name: "KEYSIGHT_INFINIIVISION",
        starts: &["x-axis"],
        seconds: &["second"],
        below: Some(1),
        ..ANY
    },
    Preset {
        name: "KEYSIGHT_INFINIIUM",
        starts: &["Revision", "Type", "File Format"],
        marks: &["XInc", "XOrg"],
        names: &["time", "value"],
        unit_keys: &["XUnits", "YUnits"],
        ..ANY
    },
    Preset { name: "RIGOL", starts: &["X"], seconds: &["Sequence", "Second"], ..ANY },
    Preset {
        name: "RIGOL_MSO",
        starts: &["Time", "CH1V", "CH1(", "CH2V", "CH2(", "CH3V", "CH3(", "CH4V", "CH4("],
        marks: &["tInc"],
        below: Some(0),
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
        marks: &["Sample Interval", "Second"],
        ..ANY
    },
    Preset { name: "ROHDE_SCHWARZ_SCOPE", starts: &["in s"], below: Some(0), ..ANY },
    Preset {
        name: "ROHDE_SCHWARZ_ANALYZER",
        starts: &["Type"],
        marks: &["Version", "Values"],
        separator: Some(b';'),
        names: &["frequency", "level"],
        unit_keys: &["x-Unit", "y-Unit"],
        ..ANY
    },
    Preset {
        name: "LECROY",
        starts: &["LECROY", "LeCroy"],
        marks: &["Segment"],
        keys: &["model", "serial number", "content"],
        below: Some(0),
        has_segments: true,
        ..ANY
    },
    Preset {
        name: "DIGILENT",
        starts: &["#Digilent", "# Digilent"],
        prefix: "#",
        below: Some(0),
        ..ANY
    },
    Preset {
        name: "PICOSCOPE",
        starts: &["Time", "Zeit", "Temps", "Tiempo", "Tempo"],
        seconds: &["("],
        below: Some(1),
        ..ANY
    },
    Preset { name: "SALEAE", starts: &["Time [s]", "Time[s]"], below: Some(0), ..ANY },
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
        below: Some(0),
        keys: &["format", "station", "table"],
        nulls: &["NAN"],
        ..ANY
    },
    Preset {
        name: "GAMRY",
        starts: &["EXPLAIN"],
        marks: &["CURVE"],
        separator: Some(b'\t'),
        below: Some(1),
        value_at: Some(2),
        ..ANY
    },
    Preset {
        name: "KEITHLEY",
        starts: &["Model", "MODEL", "Instrument", "INSTRUMENT", "Buffer", "Index"],
        marks: &["Reading", "Unit", "Seconds"],
        below: Some(0),
        date_order: Some(DateOrder::MonthFirst),
        has_texts: true,
        ..ANY
    },
    Preset {
        name: "FLUKE",
        starts: &["Fluke 28", "FLUKE 28", "Reading", "Device", "Model"],
        marks: &["Reading", "Sample", "Start Time", "Duration"],
        below: Some(0),
        has_units: true,
        ..ANY
    },
    Preset {
        name: "KEYSIGHT_BENCHVUE",
        starts: &["BenchVue", "Keysight BenchVue", "Keysight Technologies", "Name:"],
        marks: &["BenchVue", "Time"],
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
    Preset { name: "SPREADSHEET", ..ANY },
];

/// The name in a request with which no family is looked for.
pub(in crate::csv) const NONE: &str = "NONE";

/// The preset of this name.
pub(in crate::csv) fn named(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The preset of a file with these first lines, without quotes.
pub(super) fn find(lines: &[String]) -> Option<&'static Preset> {
    let begins = |line: usize, texts: &[&str]| {
        lines.get(line).is_some_and(|line| {
            texts.iter().any(|text| {
                line.strip_prefix(text).is_some_and(|rest| {
                    // A word of its own, such as the name `X`.
                    let is_word = |end: Option<char>| end.is_some_and(char::is_alphanumeric);
                    !is_word(text.chars().last()) || text.len() > 3 || !is_word(rest.chars().next())
                })
            })
        })
    };
    PRESETS.iter().find(|preset| {
        begins(0, preset.starts)
            && (preset.seconds.is_empty() || begins(1, preset.seconds))
            && preset.marks.iter().all(|mark| lines.iter().any(|line| line.contains(mark)))
    })
}
