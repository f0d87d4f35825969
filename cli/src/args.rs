//! The command line: what `stationdb` and its shell accept. The build makes the man page and the
//! completions from these declarations.

use std::path::PathBuf;

use clap::{Args as Flags, Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  stationdb station/                                     open the shell
  stationdb station/ info                                sizes, counts and health
  stationdb station/ ls work-items --filter 'state == \"NEW\"' --order updatedAt --desc
  stationdb station/ search 'amplifier OR pxi*' --json
  stationdb station/ sql 'select family, count(*) from products group by family' --json
  stationdb station/ plot Loop --y volts -o loop.png
  stationdb station/ yield --by week,programName
  stationdb station/ plot --measurement VOUT --chart imr
  stationdb station/ export Loop -o loop.parquet --from 1000 --to 2000
  stationdb new/ --create import loop.csv --name Loop
  stationdb sql --lake /mnt/lake --root plant 'select count(*) from products'

Exit codes:
  0  all went well              4  another process has the store open
  1  something failed           5  no such record, table or file
  2  wrong arguments or filter  6  damage was found
  3  no store that can be read  130 interrupted, 141 the reader of the output went away

Environment:
  STATIONDB_PAGER, PAGER  shows long output; `cat` or empty for none
  STATIONDB_HISTORY       file of the shell's history; empty for none
  NO_COLOR                no colours, as --color never";

/// Looks into a store of stationdb, and works on it.
///
/// Without a command, opens a shell. The shell acts as a local user whom no access policy
/// restricts.
#[derive(Debug, Parser)]
#[command(name = "stationdb", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Args {
    /// Directory of the store; all commands but `sql --lake` and `backups` need it.
    pub dir: Option<PathBuf>,
    /// Creates the store if there is none.
    #[arg(long, global = true)]
    pub create: bool,
    /// Name that the change log shows for what is written [default: name of the system's user].
    #[arg(long, global = true, value_name = "NAME")]
    pub user: Option<String>,
    #[command(flatten)]
    pub look: OutputFlags,
    /// Prints the man page, or the completions of a command shell.
    #[arg(long, value_enum, value_name = "WHAT", exclusive = true)]
    pub generate: Option<Generate>,
    #[command(subcommand)]
    pub command: Option<ProcessCommand>,
}

/// How a backup is added to a set.
#[derive(Clone, Debug, Default, Flags)]
pub struct SetFlags {
    /// Adds the backup to a set, which keeps the earlier ones.
    #[arg(long)]
    pub set: bool,
    /// Bytes a second that are written to the set at most.
    #[arg(long, value_name = "BYTES", requires = "set")]
    pub bytes_per_second: Option<u64>,
    /// Then keeps the last backup of so many days, weeks and months, as 7,4,12. A set without room
    /// is pruned first.
    #[arg(long, value_name = "DAYS,WEEKS,MONTHS", value_delimiter = ',', requires = "set")]
    pub keep: Vec<u32>,
    /// Refuses a directory that has no set yet, as when the stick is not there.
    #[arg(long, requires = "set")]
    pub existing: bool,
}

/// What is done with the backups of a set.
#[derive(Clone, Debug, Flags)]
pub struct Backups {
    /// Directory of the set.
    pub set: PathBuf,
    /// Reads everything in the set. The exit code is 6 if there is damage.
    #[arg(long)]
    pub verify: bool,
    /// Lists the commits between backups that can be restored, instead of the backups.
    #[arg(long, conflicts_with = "verify")]
    pub points: bool,
    /// Removes all backups but the last of so many days, weeks and months, as 7,4,12.
    #[arg(
        long,
        conflicts_with = "points",
        value_name = "DAYS,WEEKS,MONTHS",
        value_delimiter = ',',
        conflicts_with = "verify"
    )]
    pub keep: Vec<u32>,
}

/// A line of the shell.
#[derive(Debug, Parser)]
#[command(
    name = "",
    no_binary_name = true,
    disable_version_flag = true,
    override_usage = "COMMAND [OPTIONS]",
    help_template = "{usage-heading} {usage}\n\n{subcommands}\n\nOptions:\n{options}",
    max_term_width = 100
)]
pub struct Line {
    #[command(flatten)]
    pub look: OutputFlags,
    #[command(subcommand)]
    pub command: ShellCommand,
}

/// How output looks.
#[derive(Clone, Debug, Default, Flags)]
pub struct OutputFlags {
    /// Writes a JSON array, or one JSON object.
    #[arg(long, global = true, group = "form")]
    pub json: bool,
    /// Writes one JSON object on each line.
    #[arg(long, global = true, group = "form")]
    pub jsonl: bool,
    /// Writes comma-separated values.
    #[arg(long, global = true, group = "form")]
    pub csv: bool,
    /// Whether to use colours.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Writes long output to the terminal without a pager.
    #[arg(long, global = true)]
    pub no_pager: bool,
}

/// What a statement is asked of, if not of the store.
#[derive(Clone, Debug, Default, Flags)]
pub struct LakeFlags {
    /// Directory of a lake that stations publish, which is asked instead of a store.
    #[arg(long, value_name = "DIR")]
    pub lake: Option<PathBuf>,
    /// Root of the lake in that directory [default: the directory itself].
    #[arg(long, value_name = "ROOT", requires = "lake")]
    pub root: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// If the output is a terminal.
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Generate {
    Man,
    Bash,
    Zsh,
    Fish,
    Powershell,
}

/// What a command line may ask for.
#[derive(Debug, Subcommand)]
pub enum ProcessCommand {
    #[command(flatten)]
    Command(Box<Command>),
    /// Makes the store DIR from a backup.
    ///
    /// DIR must be missing, empty, or left by an interrupted restore. Every checksum is checked.
    Restore {
        /// Directory of the backup, of any closed store, or of a backup set.
        backup: PathBuf,
        /// Which backup of a set: latest, its number, sequence:N of a commit, or a time in UTC, for
        /// the last one before it [default: latest].
        #[arg(long, value_name = "POINT")]
        at: Option<String>,
    },
    /// Lists the backups of a set. Needs no store.
    Backups(Backups),
    /// Makes the store DIR from what is whole in a damaged one.
    ///
    /// DIR must be missing or empty. The damaged store stays as it is. What is lost is listed, and the
    /// exit code is that of damage.
    Salvage {
        /// Directory of the damaged store.
        damaged: PathBuf,
    },
}

/// What a line of the shell may ask for.
#[derive(Debug, Subcommand)]
pub enum ShellCommand {
    #[command(flatten)]
    Command(Box<Command>),
    /// Leaves the shell.
    #[command(visible_alias = "exit")]
    Quit,
}

/// A command on an open store.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows sizes, counts, format and health of the store.
    Info,
    /// Shows how the store is: whether it takes writes, how its disk fills, how backups,
    /// verifications and scrubs ended, and what needs you.
    Status {
        /// Shows it again every two seconds, until Ctrl-C.
        #[arg(long)]
        watch: bool,
    },
    /// Lists the records of a kind.
    #[command(after_help = "\
Examples:
  ls products
  ls work-items --filter 'state == \"NEW\" && !name.Contains(\"draft\")' --order updatedAt --desc
  ls tables --columns id,name,rowCount --csv")]
    Ls(Ls),
    /// Shows one record; of a test result also its steps and measurements.
    Show {
        /// Id of the record, or name of a table.
        id: String,
        /// Kind of the record, if several have the id.
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
    },
    /// Finds records by their text, best first.
    #[command(after_help = "\
Examples:
  search amplifier
  search 'name:amplifier OR pxi*' --kind product --take 10")]
    Search {
        /// Words, \"phrases\" and prefix*es, with AND, OR, NOT and parentheses.
        #[arg(required = true)]
        words: Vec<String>,
        /// Only records of this kind; may be repeated.
        #[arg(long, value_name = "KIND")]
        kind: Vec<String>,
        /// Number of hits.
        #[arg(long, value_name = "N", default_value_t = 25)]
        take: usize,
    },
    /// Answers a statement of SQL over records and rows.
    ///
    /// `products`, `work_items` and so on are the records of a kind, and rows."Loop" has the rows
    /// of a table. In the shell, a line that begins with `select`, `with`, `explain` or `describe`
    /// is a statement too.
    #[command(after_help = "\
Examples:
  sql 'select table_name from information_schema.tables'
  sql 'select max(volts), max(amps) from rows.\"Loop\"' --json
  sql \"select name, timeline['due_date_time'] from work_items where state = 'NEW'\" --csv
  sql --lake /mnt/lake --root plant 'select _station, _batch from lake.batches'")]
    Sql {
        #[command(flatten)]
        over: LakeFlags,
        /// The statement.
        #[arg(required = true)]
        statement: Vec<String>,
    },
    /// Writes the rows of a table to a file.
    #[command(after_help = "\
Examples:
  export Loop -o loop.parquet
  export Loop -o part.csv --from 1000 --to 2000 --columns t,volts
  export Loop --where 'volts > 7' --take 100")]
    Export(Export),
    /// Reads files, each all or none: rows into a table, and records of tests as test results.
    ///
    /// The format of a file is found by its first bytes, then by its name. A directory stands for
    /// the files in it. A file that is refused does not keep the others out; the exit code tells.
    #[command(after_help = "\
Examples:
  import loop.csv --index t
  import rig.csv --name Rig --type at=TIMESTAMP_US --epoch s --null -
  import more.parquet --into Loop
  import results/SN-1.json results/SN-2.json
  import day/ --recursive --json")]
    Import(Box<Import>),
    /// Plots columns of a table, decimated: every extreme is kept; or a measurement of test
    /// results.
    #[command(after_help = "\
Examples:
  plot Loop --y volts
  plot Loop --y volts,amps --spec GAIN -o loop.html
  plot Loop --y volts,amps --spec GAIN -o loop.png
  plot --measurement VOUT --chart histogram
  plot --measurement VOUT --chart xbar --subgroup 5 --filter 'partNumber == \"P-1\"' -o vout.png")]
    Plot(Box<Plot>),
    /// Shows which share of the test results passed: at first, at last, and of all.
    #[command(after_help = "\
Examples:
  yield
  yield --by week,programName
  yield --by shift --shift-hours 6,14,22 --time-zone Europe/Berlin
  yield --by properties.lot --filter 'partNumber == \"P-1\"' --csv")]
    Yield(Yield),
    /// Counts the failures of test results by the step that failed, the most frequent first.
    #[command(after_help = "\
Examples:
  pareto --take 10
  pareto --by measurement --filter 'startedWithin <= \"7.00:00:00\"'
  pareto --basis all --first-pass --json")]
    Pareto(Pareto),
    /// Shows the capability of one measurement: mean, deviations, and the ratios to its limits.
    #[command(after_help = "\
Examples:
  capability VOUT
  capability Gain --path 'Receiver > 1 kHz' --units dB --pass first
  capability VOUT --low 11.8 --high 12.2 --within range --subgroup 5")]
    Capability(Capability),
    /// Writes a page: one HTML file that opens in a browser without a network.
    #[command(after_help = "\
Examples:
  report run 61a7d6f0-0c1e-4d2c-9d6b-0a5d8f3f8f1e -o run.html
  report product P-1 -o product.html --filter 'startedWithin <= \"90.00:00:00\"'
  report store -o store.html")]
    Report(Report),
    /// Lists the changes of the store, in the order of the commits.
    Changes {
        /// Only commits after this number.
        #[arg(long, value_name = "SEQUENCE")]
        since: Option<u64>,
        /// Number of changes.
        #[arg(long, value_name = "N")]
        take: Option<usize>,
        /// Waits for further changes, until Ctrl-C.
        #[arg(long, short)]
        follow: bool,
    },
    /// Copies the store into a directory, which is again a store.
    ///
    /// Files that an earlier backup in the directory has already are kept. With --set, the
    /// directory is a set of many backups, to which one is added.
    Backup {
        /// Directory of the backup: missing, empty, or an earlier backup of this store.
        target: PathBuf,
        #[command(flatten)]
        into: SetFlags,
    },
    /// Sends the archive of commits to a backup set, or tells what it has.
    ///
    /// A restore can then end at each commit after a backup of the set. A store archives after
    /// `archive --bytes`; `backup --set` sends the commits, too.
    Archive {
        /// Directory of the set, which has a backup.
        #[arg(conflicts_with = "bytes")]
        set: Option<PathBuf>,
        /// Most bytes of the archive in the store from now on; 0 turns it off and removes it.
        #[arg(long, value_name = "BYTES")]
        bytes: Option<u64>,
        /// Bytes a second that are written to the set at most.
        #[arg(long, value_name = "BYTES", requires = "set")]
        bytes_per_second: Option<u64>,
    },
    /// Takes what is damaged or missing of records, rows and contents from a backup set.
    Repair {
        /// Directory of the set.
        set: PathBuf,
    },
    /// Looks for damage. The exit code is 6 if there is any.
    Verify {
        /// Checks that every file exists with its length, and no checksums.
        #[arg(long, conflicts_with = "pages")]
        quick: bool,
        /// Also checks the pages of the record file.
        #[arg(long)]
        pages: bool,
    },
    /// Runs the maintenance, then returns unused pages of the record file to the file system.
    Compact {
        /// First makes the present clock the time of the store, after a clock that was far ahead.
        #[arg(long)]
        present_clock: bool,
    },
}

#[derive(Debug, Flags)]
pub struct Ls {
    /// Kind of the records: products, results, steps, specifications, assets, utilizations,
    /// work-items, work-item-templates, test-plans, test-plan-templates, tables, files, feeds,
    /// packages, workspaces.
    pub kind: String,
    /// Condition in the filter language.
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// Field to sort by; order of creation if absent.
    #[arg(long, value_name = "FIELD")]
    pub order: Option<String>,
    /// Sorts in descending order.
    #[arg(long)]
    pub desc: bool,
    /// Members to show; of members in members as `limit.max`.
    #[arg(long, value_name = "MEMBERS", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Number of records; all if absent.
    #[arg(long, value_name = "N")]
    pub take: Option<usize>,
    /// Specifications of this product only.
    #[arg(long, value_name = "ID")]
    pub product: Option<String>,
}

/// A file format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    Csv,
    Parquet,
    /// An Arrow IPC stream.
    Arrow,
    /// TDMS, for `LabVIEW`.
    Tdms,
}

/// Which rows of a table.
#[derive(Clone, Debug, Default, Flags)]
pub struct Range {
    /// Rows whose index is at least this.
    #[arg(long, value_name = "INDEX", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Rows whose index is below this.
    #[arg(long, value_name = "INDEX", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Rows that meet a condition such as `volts > 7`, `name = null` or `name contains x`; may be
    /// repeated.
    #[arg(long = "where", value_name = "CONDITION")]
    pub conditions: Vec<String>,
}

#[derive(Debug, Flags)]
pub struct Export {
    /// Id of the table, or its name.
    pub table: String,
    /// File to write; it appears when it is complete. Standard output if absent or `-`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format [default: by the extension of the file, otherwise csv].
    #[arg(long = "as", value_enum, value_name = "FORMAT")]
    pub format: Option<RowFormat>,
    #[command(flatten)]
    pub range: Range,
    /// Columns to write, in this order; all if absent. A name with a comma is in double quotes.
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Vec<String>,
    /// Columns to sort by; the index if absent.
    #[arg(long, value_name = "COLUMNS")]
    pub order: Vec<String>,
    /// Sorts in descending order.
    #[arg(long, requires = "order")]
    pub desc: bool,
    /// Number of rows; all if absent.
    #[arg(long, value_name = "N")]
    pub take: Option<u32>,
    /// Value of null cells of a column in TDMS, such as count=0; may be repeated.
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub fill: Vec<String>,
}

/// The formats of `import`: those of tables, those of test results, and streams of Arrow.
pub const IMPORT_FORMATS: [&str; 12] = [
    "csv",
    "lvm",
    "parquet",
    "stdf-records",
    "tdms",
    "touchstone",
    "openhtf",
    "stdf",
    "teststand",
    "atml",
    "results-csv",
    "arrow",
];

#[derive(Debug, Flags)]
pub struct Import {
    /// Files to read, and directories with files.
    #[arg(value_name = "PATH", required = true)]
    pub files: Vec<PathBuf>,
    /// Name of the new table [default: that of the file].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["into", "openhtf"])]
    pub name: Option<String>,
    /// Id or name of the table to append to.
    #[arg(long, value_name = "TABLE", conflicts_with = "openhtf")]
    pub into: Option<String>,
    /// Format of the files [default: what the first bytes tell, otherwise the name].
    #[arg(long = "as", value_name = "FORMAT", value_parser = IMPORT_FORMATS)]
    #[arg(conflicts_with = "openhtf")]
    pub format: Option<String>,
    /// Imports the files in the directories below, too.
    #[arg(long)]
    pub recursive: bool,
    /// Imports the tables of a directory in one commit, or none of them.
    #[arg(long)]
    pub all_or_nothing: bool,
    /// Index column of the new table [default: a new column with the numbers of the rows].
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["into", "openhtf"])]
    pub index: Option<String>,
    /// Workspace of the new table or of the new results.
    #[arg(long, value_name = "ID", conflicts_with = "into")]
    pub workspace: Option<String>,
    /// Closes the table: no rows can be appended later.
    #[arg(long, conflicts_with = "openhtf")]
    pub close: bool,
    /// The same as `--as openhtf`.
    #[arg(long)]
    pub openhtf: bool,
    /// Part number of the results, instead of that of the records.
    #[arg(long, value_name = "NUMBER")]
    pub part_number: Option<String>,
    /// Imports a record although there is a result of it.
    #[arg(long)]
    pub again: bool,
    /// Column of a member in CSV of results, such as serialNumber=UUT; may be repeated.
    #[arg(long, value_name = "MEMBER=COLUMN")]
    pub map: Vec<String>,
    /// Column of measurements in CSV of results whose rows are units; may be repeated.
    #[arg(long, value_name = "COLUMN")]
    pub measurement: Vec<String>,
    /// Name of the test program in CSV of results where no column has it [default: CSV].
    #[arg(long, value_name = "NAME")]
    pub program_name: Option<String>,
    /// Keeps values as the file has them: unscaled in TDMS, in their form in Touchstone.
    #[arg(long)]
    pub raw: bool,
    /// Number of ports of Touchstone files, instead of that in their names.
    #[arg(long, value_name = "N")]
    pub ports: Option<u16>,
    #[command(flatten)]
    pub reading: ParseFlags,
}

/// How a file is read. What is absent is found in the file.
#[derive(Debug, Default, PartialEq, Eq, Flags)]
pub struct ParseFlags {
    /// Type of a column, such as at=TIMESTAMP_US; may be repeated.
    #[arg(long = "type", value_name = "COLUMN=TYPE", conflicts_with = "into")]
    pub types: Vec<String>,
    /// Separator of CSV values.
    #[arg(long, value_name = "CHARACTER")]
    pub separator: Option<String>,
    /// Decimal separator of CSV.
    #[arg(long, value_name = "CHARACTER", value_parser = [".", ","])]
    pub decimal: Option<String>,
    /// Text of CSV that means null, in every column; may be repeated.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub null: Vec<String>,
    /// What comment lines before the header of CSV begin with [default: #].
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Encoding of CSV: UTF-8, WINDOWS-1252 or ISO-8859-1.
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// Lines before the header of CSV.
    #[arg(long, value_name = "N")]
    pub skip_lines: Option<u32>,
    /// Form of an instrument or logger that CSV has, such as TEKTRONIX_MSO, or NONE.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Takes the first line of CSV for a row: no line names the columns.
    #[arg(long)]
    pub no_header: bool,
    /// Whether the line behind the names of CSV has units.
    #[arg(long, value_parser = ["yes", "no"])]
    pub units_line: Option<String>,
    /// Takes values that are missing at the end of a line of CSV for null.
    #[arg(long)]
    pub short_rows: bool,
    /// Lines at the end of CSV that are no rows.
    #[arg(long, value_name = "N")]
    pub footer_lines: Option<u32>,
    /// Whether CSV has blocks of columns beside each other, whose names may repeat.
    #[arg(long, value_parser = ["yes", "no"])]
    pub side_by_side: Option<String>,
    /// Seconds between two rows of CSV, for a column of times.
    #[arg(long, value_name = "SECONDS")]
    pub sample_interval: Option<String>,
    /// Time of the first row of CSV: seconds, or a date and time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub start_time: Option<String>,
    /// What comes first in dates of CSV such as 01/02/2024.
    #[arg(long, value_parser = ["day-first", "month-first", "year-first"])]
    pub date_order: Option<String>,
    /// Zone of times that have none: UTC, +02:00, Europe/Berlin, or REFUSE [default: UTC].
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub time_zone: Option<String>,
    /// What numbers count since 1970, in columns whose type is a time.
    #[arg(long, value_parser = ["s", "ms", "us", "ns"])]
    pub epoch: Option<String>,
    /// Cuts digits of times off that are finer than their column.
    #[arg(long)]
    pub cut_times: bool,
    /// Text that binary values of Parquet become.
    #[arg(long, value_parser = ["utf8", "hex", "base64"])]
    pub binary: Option<String>,
    /// Makes columns of the members of nested columns of Parquet.
    #[arg(long)]
    pub flatten: bool,
}

#[derive(Debug, Flags)]
pub struct Plot {
    /// Id of the table, or its name.
    #[arg(required_unless_present = "measurement", conflicts_with = "measurement")]
    pub table: Option<String>,
    /// Columns to plot. A name with a comma is in double quotes.
    #[arg(long, value_name = "COLUMNS", required_unless_present = "measurement")]
    #[arg(conflicts_with = "measurement")]
    pub y: Vec<String>,
    /// Column of the x axis [default: the index].
    #[arg(long, value_name = "COLUMN", conflicts_with = "measurement")]
    pub x: Option<String>,
    /// File to write: a page with all spikes, or a picture; it plots in the terminal if absent.
    #[arg(long, short, value_name = "FILE.html|FILE.png")]
    pub output: Option<PathBuf>,
    /// Writes every row into the page; says before how long it gets.
    #[arg(long, requires = "output", conflicts_with = "measurement")]
    pub full: bool,
    #[command(flatten)]
    pub range: Range,
    /// Id of a specification whose limits are drawn; may be repeated.
    #[arg(long, value_name = "SPEC")]
    pub spec: Vec<String>,
    /// Value at which a line is drawn, by which nothing is judged; may be repeated.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub limit: Vec<f64>,
    /// Name of a measurement of test results, which is plotted instead of a table.
    #[arg(long, value_name = "NAME")]
    pub measurement: Option<String>,
    /// What is plotted of the measurement.
    #[arg(long, value_enum, value_name = "CHART", default_value_t = Chart::Imr)]
    pub chart: Chart,
    /// Number of ranges of the histogram [default: by the number of values].
    #[arg(long, value_name = "N", requires = "measurement")]
    pub bins: Option<i64>,
    /// Values of a subgroup of the chart xbar, from 2 to 25.
    #[arg(long, value_name = "N", requires = "measurement", default_value_t = 5)]
    pub subgroup: i64,
    /// Number of the first points that make the limits of a control chart [default: all].
    #[arg(long, value_name = "N", requires = "measurement")]
    pub baseline: Option<i64>,
    #[command(flatten)]
    pub series: SeriesFlags,
}

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// A test result, with its steps, files and tables.
    Run,
    /// A product: yield, failures and measurements.
    Product,
    /// The store: contents, health and growth.
    Store,
}

#[derive(Debug, Flags)]
pub struct Report {
    /// What the page is about.
    #[arg(value_enum)]
    pub subject: Subject,
    /// Id of the test result, or part number of the product.
    pub id: Option<String>,
    /// HTML file to write.
    #[arg(long, short, value_name = "FILE.html")]
    pub output: PathBuf,
    /// Condition on the test results of the product, in the filter language.
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// Zone in which the weeks of a product begin.
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// How many measurements of a product are shown [default: 50].
    #[arg(long, value_name = "N")]
    pub measurements: Option<usize>,
    /// Writes every row and step of a test result; says before how long the page gets.
    #[arg(long)]
    pub full: bool,
}

/// What is plotted of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Chart {
    /// The values in ranges, with the limits of the measurement.
    Histogram,
    /// The control chart of individual values and their moving ranges.
    Imr,
    /// The control chart of the means and ranges of subgroups.
    Xbar,
}

/// Which test results a figure is about.
#[derive(Clone, Debug, Default, PartialEq, Flags)]
pub struct ResultFlags {
    /// Condition on the test results, in the filter language.
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// Condition on their products, in the filter language.
    #[arg(long, value_name = "FILTER")]
    pub product_filter: Option<String>,
    /// Looks for the first result of a unit only among those that the conditions choose.
    #[arg(long)]
    pub selection: bool,
}

/// Which values of a measurement a figure is about.
#[derive(Clone, Debug, Default, PartialEq, Flags)]
pub struct SeriesFlags {
    #[command(flatten)]
    pub results: ResultFlags,
    /// Names of the steps from the first level down to that of the measurement, joined by ` > `.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["step", "any_path"])]
    pub path: Option<String>,
    /// Name of the step of the measurement.
    #[arg(long, value_name = "NAME", conflicts_with = "any_path")]
    pub step: Option<String>,
    /// Takes the values of all paths together.
    #[arg(long)]
    pub any_path: bool,
    /// Units of the values; `''` for values without.
    #[arg(long, value_name = "UNITS")]
    pub units: Option<String>,
    /// Condition on the steps, in the filter language.
    #[arg(long, value_name = "FILTER")]
    pub step_filter: Option<String>,
    /// Results of each unit that take part: all, first or last [default: all].
    #[arg(long, value_name = "WHICH", value_parser = ["all", "first", "last"])]
    pub pass: Option<String>,
    /// Lower limit, instead of the limits of the last value.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub low: Option<f64>,
    /// Upper limit, instead of the limits of the last value.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub high: Option<f64>,
}

#[derive(Debug, Flags)]
pub struct Yield {
    /// What the results are grouped by: partNumber, programName, operator, systemId, hostName,
    /// workspace, productFamily, properties.KEY; and of their start hour, day, week, month,
    /// quarter, year, shift.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Zone of days, weeks and shifts: UTC, +02:00 or Europe/Berlin [default: UTC].
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub time_zone: Option<String>,
    /// Hours of the day where shifts begin.
    #[arg(long, value_name = "HOURS", value_delimiter = ',')]
    pub shift_hours: Vec<i64>,
    #[command(flatten)]
    pub results: ResultFlags,
}

#[derive(Debug, Flags)]
pub struct Pareto {
    /// What failing steps are told by: path, name, stepType or measurement [default: path].
    #[arg(long, value_name = "KEY")]
    pub by: Option<String>,
    /// Whether the first failing step of a result counts, or all of them [default: first].
    #[arg(long, value_name = "BASIS", value_parser = ["first", "all"])]
    pub basis: Option<String>,
    /// Counts only the first result of each unit.
    #[arg(long)]
    pub first_pass: bool,
    /// Number of keys; all if absent. The rest is told as others.
    #[arg(long, value_name = "N")]
    pub take: Option<u32>,
    #[command(flatten)]
    pub results: ResultFlags,
}

#[derive(Debug, Flags)]
pub struct Capability {
    /// Name of the measurement.
    pub name: String,
    /// How the deviation within subgroups is estimated [default: moving-range].
    #[arg(long, value_name = "METHOD", value_parser = ["moving-range", "range", "pooled"])]
    pub within: Option<String>,
    /// Values of a subgroup, from 2 to 25; range and pooled need it.
    #[arg(long, value_name = "N")]
    pub subgroup: Option<i64>,
    #[command(flatten)]
    pub series: SeriesFlags,
}
