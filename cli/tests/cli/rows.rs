//! `export`, `import` and `plot`.

use stationdb::serde_json::{self, Value};

use crate::bench::{Bench, ROWS, SPIKE};

#[test]
fn csv_goes_to_the_output_and_to_files() {
    let bench = Bench::new();
    let all = bench.good(&["export", "Loop"]);
    assert_eq!(all.lines().count() as i32, ROWS + 1);
    let said = bench.good(&["export", "Loop", "-o", "loop.csv"]);
    assert_eq!(said, format!("exported {ROWS} rows to loop.csv, {} bytes\n", all.len()));
    assert_eq!(bench.read("loop.csv"), all);
    // A file that is there is replaced; nothing else is left behind.
    bench.good(&["export", "Loop", "-o", "loop.csv", "--take", "1"]);
    assert_eq!(bench.read("loop.csv"), "t,volts,amps\n0,0.5,0\n");
    assert_eq!(bench.names(), ["loop.csv"]);
}

#[test]
fn a_part_of_a_table_is_exported() {
    let bench = Bench::new();
    let export = |arguments: &[&str]| bench.good(&[&["export", "Loop"], arguments].concat());
    assert_eq!(export(&["--from", "3", "--to", "5", "--columns", "amps,t"]), "amps,t\n3,3\n4,4\n");
    assert_eq!(export(&["--where", "volts > 7"]), format!("t,volts,amps\n{SPIKE},9.5,0\n"));
    assert_eq!(export(&["--where", "t<3", "--where", "t != 1", "--columns", "t"]), "t\n0\n2\n");
    assert_eq!(export(&["--order", "t", "--desc", "--take", "1", "--columns", "t"]), "t\n4999\n");
    assert_eq!(export(&["--from=-5", "--to", "1", "--columns", "t"]), "t\n0\n");
}

#[test]
fn rows_come_back_from_each_format() {
    let bench = Bench::new();
    let all = bench.good(&["export", "Loop"]);
    for name in ["rows.csv", "rows.parquet"] {
        bench.good(&["export", "Loop", "-o", name]);
        let made = bench.json(&["import", name, "--name", name, "--index", "t"]);
        assert_eq!(made["rows"], ROWS, "{name}");
        assert_eq!(bench.good(&["export", made["table"].as_str().unwrap()]), all, "{name}");
    }
    bench.good(&["export", "Loop", "-o", "rows.arrow"]);
    assert_eq!(bench.json(&["import", "rows.arrow", "--into", "rows.parquet"])["rows"], ROWS);
    assert_eq!(bench.json(&["show", "rows.parquet"])["rowCount"], 2 * ROWS);
    // The format may be said instead of told by the name.
    bench.good(&["export", "Loop", "-o", "rows", "--as", "parquet"]);
    assert_eq!(std::fs::read(bench.path("rows")).unwrap()[..4], *b"PAR1");
    let table = bench.json(&["import", "rows", "--as", "parquet", "--name", "Rows", "--close"]);
    assert_eq!(bench.json(&["show", table["table"].as_str().unwrap()])["supportsAppend"], false);
}

#[test]
fn a_csv_file_may_have_another_separator() {
    let bench = Bench::empty();
    std::fs::write(bench.path("a.txt"), "t;v\n1;2,5\n").unwrap();
    let arguments =
        ["--create", "import", "a.txt", "--name", "A", "--separator", ";", "--workspace", "lab"];
    bench.good(&arguments);
    assert_eq!(bench.good(&["export", "A"]), "row,t,v\n0,1,2.5\n");
    assert_eq!(bench.json(&["show", "A"])["workspace"], "lab");
}

/// What the library can be told of a file, the shell can be told, too.
#[test]
fn an_import_says_what_became_of_each_column() {
    let bench = Bench::empty();
    let text =
        "Rig 3\n// at noon\nat;day;v;u\n1706709910,25;1/2/2024;-;1,5\n1706709911;3/4/2024;7;2\n";
    std::fs::write(bench.path("a.csv"), text).unwrap();
    let arguments = [
        "--create",
        "import",
        "a.csv",
        "--name",
        "A",
        "--index",
        "at",
        "--type",
        "at=timestamp",
        "--epoch",
        "s",
        "--skip-lines",
        "1",
        "--comment",
        "//",
        "--date-order",
        "month-first",
        "--time-zone",
        "Europe/Berlin",
        "--null",
        "-",
        "--separator",
        ";",
    ];
    let said = bench.good(&arguments);
    for part in [
        "\n  at: TIMESTAMP; ",
        "numbers count s since 1970 UTC",
        "\n  v: INT64, 1 null; ",
        "month first",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(
        bench.good(&["export", "A"]),
        "at,day,v,u\n2024-01-31T14:05:10.250Z,2024-01-01T23:00:00.000Z,,1.5\n\
         2024-01-31T14:05:11.000Z,2024-03-03T23:00:00.000Z,7,2\n"
    );
    let arguments =
        ["import", "a.csv", "--name", "B", "--skip-lines", "1", "--comment", "//", "--json"];
    let ran = bench.run(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // What may be meant otherwise does not go unnoticed, nor into the output.
    let warning = "stationdb: warning: column \"day\" is text: ";
    assert!(ran.err.starts_with(warning) && ran.err.contains("--date-order"), "{ran:?}");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["warnings"].as_array().map(Vec::len), Some(2), "{told}");
    let column = |at: usize, member: &str| told["columns"][at][member].clone();
    assert_eq!((told["separator"].as_str(), told["headerLine"].as_i64()), (Some(";"), Some(3)));
    assert_eq!((column(0, "name"), column(0, "columnType")), ("row".into(), "INDEX".into()));
    assert_eq!(column(2, "dataType"), "STRING");
    assert!(column(2, "why").as_str().unwrap().contains("dateOrder"), "{told}");
}

#[test]
fn names_with_commas_are_given_in_quotes() {
    let bench = Bench::empty();
    let text = "t,\"Torque, Request\",v\n1,2.5,3\n2,3.5,4\n";
    std::fs::write(bench.path("a.csv"), text).unwrap();
    bench.good(&["--create", "import", "a.csv", "--name", "T", "--index", "t"]);
    let export = |columns: &str| bench.good(&["export", "T", "--columns", columns]);
    assert_eq!(export("v,\"Torque, Request\""), "v,\"Torque, Request\"\n3,2.5\n4,3.5\n");
    assert_eq!(export("Torque, Request"), "\"Torque, Request\"\n2.5\n3.5\n");
    let sorted = ["export", "T", "--columns", "t", "--order", "\"Torque, Request\"", "--desc"];
    assert_eq!(bench.good(&sorted), "t\n2\n1\n");
    let plot = bench.good(&["plot", "T", "--y", "\"Torque, Request\",v"]);
    assert!(plot.contains("Torque, Request   v"), "{plot}");
}

#[test]
fn a_plot_is_a_picture_or_text() {
    let bench = Bench::new();
    let said = bench.good(&["plot", "Loop", "--y", "volts,amps", "--spec", "GAIN", "-o", "a.png"]);
    assert!(said.starts_with("plotted ") && said.ends_with(" to a.png\n"), "{said}");
    bench.good(&["plot", "Loop", "--y", "volts,amps", "-o", "b.png"]);
    let picture = |name: &str| std::fs::read(bench.path(name)).unwrap();
    let (with, without) = (picture("a.png"), picture("b.png"));
    assert_eq!(with[..8], *b"\x89PNG\r\n\x1a\n");
    assert!(with.len() > 5000 && with != without, "{} {}", with.len(), without.len());
    assert_eq!(bench.names(), ["a.png", "b.png"]);

    let text = bench.good(&["plot", "Loop", "--y", "volts", "--spec", "GAIN", "--limit", "3"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Loop");
    // The spike is the highest point, and the lower limit the lowest.
    assert!(lines[1].starts_with("      9.5 │"), "{text}");
    assert!(text.contains("       -1 │"), "{text}");
    let legend = lines.last().unwrap().trim();
    assert_eq!(legend, "x: t   volts   ┅ limit 3   ┅ GAIN min -1   ┅ GAIN max 9");
    // A part without the spike.
    let part = bench.good(&["plot", "Loop", "--y", "volts", "--to", "700", "--limit", "2"]);
    assert!(part.lines().nth(1).unwrap().starts_with("        2 │"), "{part}");
    // Another column may be x.
    let other = bench.good(&["plot", "Loop", "--y", "volts", "--x", "amps"]);
    assert!(other.ends_with("x: amps   volts\n"), "{other}");
}

#[test]
fn a_plot_is_a_page_too() {
    let bench = Bench::new();
    let plot = ["plot", "Loop", "--y", "volts,amps", "--limit", "3"];
    let said = bench.good(&[&plot[..], &["--spec", "GAIN", "-o", "a.html"]].concat());
    assert!(said.starts_with("plotted ") && said.ends_with(" rows to a.html\n"), "{said}");
    let page = bench.read("a.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for part in ["GAIN</bdi>: -1 to 9", "limit 3", "<bdi>volts</bdi>", "<bdi>amps</bdi>"] {
        assert!(page.contains(part), "{part}");
    }
    let part = ["--to", "10", "--full", "-o", "part.html", "--json"];
    let run = bench.run(&[&plot[..], &part].concat());
    // How long it gets is said before.
    assert_eq!((run.code, run.err.as_str()), (Some(0), "the page has up to 1 MB\n"));
    let said: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(said["file"], "part.html");
    assert_eq!(said["bytes"], bench.read("part.html").len());
    // The rows of the page, of more in the table.
    assert_eq!(said["rows"], 10);
    assert!(page.contains("by which no sample is judged: <bdi>limit 3</bdi>."));
    assert!(bench.read("part.html").contains("10 samples"));
    assert_eq!(bench.names(), ["a.html", "part.html"]);
}

#[test]
fn a_plot_over_time_has_times_on_its_axis() {
    let bench = Bench::empty();
    let rows: String =
        (10..60).map(|n| format!("2024-03-01T10:00:{n}.000Z,{n}\n")).collect::<String>();
    std::fs::write(bench.path("a.csv"), format!("at,v\n{rows}")).unwrap();
    bench.good(&["--create", "import", "a.csv", "--name", "A", "--index", "at"]);
    let text = bench.good(&["plot", "A", "--y", "v"]);
    let axis = text.lines().rev().nth(1).unwrap();
    assert!(axis.contains("10:00:10.000") && axis.ends_with("10:00:59.000"), "{text}");
}

#[test]
fn finer_times_are_plotted_too() {
    for (name, digits) in [("TIMESTAMP_US", ""), ("TIMESTAMP_NS", "000")] {
        let bench = Bench::empty();
        let row = |n: i32| format!("2024-03-01T10:00:00.0000{n}{digits}Z,{n}\n");
        let rows: String = (10..60).map(row).collect();
        std::fs::write(bench.path("a.csv"), format!("at,v\n{rows}")).unwrap();
        let to = ["--name", "A", "--index", "at", "--type", &format!("at={name}")];
        bench.good(&[&["--create", "import", "a.csv"][..], &to].concat());
        let text = bench.good(&["plot", "A", "--y", "v"]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].trim_start().starts_with("59 │"), "{name}: {text}");
        let axis = lines[lines.len() - 2];
        let (from, to) = ("10:00:00.000010", "10:00:00.000059");
        assert!(axis.contains(from) && axis.ends_with(to), "{name}: {text}");
    }
}
