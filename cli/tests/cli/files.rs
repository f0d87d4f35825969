//! `import` of files in formats that are found, of several files, and of directories.

use stationdb::serde_json::Value;

use crate::bench::Bench;

const RECORD: &str = "{\"dut_id\": \"SN-1\", \"outcome\": \"PASS\", \"phases\": []}";

/// A directory `day` with files of several kinds, beside a store.
fn day(files: &[(&str, &[u8])]) -> Bench {
    let bench = Bench::empty();
    bench.fill(|_| ());
    for (name, bytes) in files {
        let path = bench.path("day").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    bench
}

fn names(all: &Value, member: &str) -> Vec<String> {
    let all = all.as_array().unwrap().iter();
    let mut names: Vec<String> = all.map(|one| one[member].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn tables(bench: &Bench) -> Vec<String> {
    names(&bench.json(&["ls", "tables"]), "name")
}

/// A path in the directory, as the platform writes it.
fn inside(name: &str) -> String {
    std::path::Path::new("day").join(name).display().to_string()
}

#[test]
fn the_bytes_of_a_file_come_before_its_name() {
    let bench = Bench::new();
    bench.good(&["export", "Loop", "-o", "loop.parquet"]);
    std::fs::rename(bench.path("loop.parquet"), bench.path("loop.csv")).unwrap();
    bench.good(&["import", "loop.csv"]);
    std::fs::write(bench.path("record.txt"), RECORD).unwrap();
    let told = bench.good(&["import", "record.txt"]);
    assert!(told.starts_with("imported record.txt as the result "), "{told}");
    bench.good(&["export", "Loop", "-o", "rows", "--as", "arrow"]);
    assert_eq!(bench.json(&["import", "rows", "--into", "Loop"])["rows"], 5000);
    assert_eq!(tables(&bench), ["Loop", "loop"]);
    // A table comes back from a file for LabVIEW.
    bench.good(&["export", "Loop", "-o", "back.tdms", "--columns", "t,volts"]);
    let told = bench.run(&["export", "Loop", "-o", "x.csv", "--fill", "volts=0"]).bad(2);
    assert!(told.contains("--fill is for TDMS"), "{told}");
    bench.good(&["import", "back.tdms", "--name", "Back", "--index", "t"]);
    assert_eq!(
        bench.good(&["export", "Back/Loop"]),
        bench.good(&["export", "Loop", "--columns", "t,volts"])
    );
    std::fs::write(bench.path("x.csv"), b"\x1f\x8b\x08\0").unwrap();
    let told = bench.run(&["import", "x.csv"]).bad(2);
    assert!(told.starts_with("importing x.csv: ") && told.contains("gzip"), "{told}");
    // What is said comes before all.
    let told = bench.run(&["import", "record.txt", "--as", "csv"]).bad(2);
    assert!(told.contains("importing record.txt: "), "{told}");
    assert_eq!(bench.json(&["import", "record.txt", "--as", "openhtf", "--again"])["refused"], {
        Value::Array(Vec::new())
    });
}

#[test]
fn each_file_of_a_directory_is_listed() {
    let files: [(&str, &[u8]); 5] = [
        ("1.csv", b"t,v\n1,2\n2,3\n"),
        ("2.csv", b"t,v\n1,2,3\n"),
        ("3.json", RECORD.as_bytes()),
        ("4.png", b"\x89PNG\r\n\x1a\n"),
        ("deep/5.csv", b"t,v\n1,x\n"),
    ];
    let bench = day(&files);
    let run = bench.run(&["import", "day"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 2, "{run:?}");
    let imported = format!("imported 2 rows of {} into table ", inside("1.csv"));
    assert!(lines[0].starts_with(&imported), "{run:?}");
    let imported = format!("imported {} as the result ", inside("3.json"));
    assert!(lines[1].starts_with(&imported), "{run:?}");
    let told: Vec<&str> = run.err.lines().collect();
    assert_eq!(told.len(), 3, "{run:?}");
    assert!(told[0].starts_with(&format!("stationdb: importing {}: ", inside("2.csv"))), "{run:?}");
    assert!(told[1].contains("4.png") && told[1].contains("a picture"), "{run:?}");
    assert_eq!(told[2], "stationdb: 2 of 4 files were not imported");
    assert_eq!(tables(&bench), ["1"]);

    let run = bench.run(&["import", "day", "--recursive", "--again", "--json"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let told: Value = stationdb::serde_json::from_str(&run.out).unwrap();
    let imported = ["1.csv", "3.json", "deep/5.csv"].map(inside);
    assert_eq!(names(&told["imported"], "file"), imported);
    assert_eq!(names(&told["refused"], "file"), ["2.csv", "4.png"].map(inside));
    assert_eq!(told["imported"][0]["rows"], 2);
    assert_eq!(told["imported"][1]["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["imported"][1]["format"], "openhtf");
    assert_eq!(tables(&bench), ["1", "1", "5"]);
}

#[test]
fn all_went_well_or_nothing_did() {
    let bench = day(&[("1.csv", b"t,v\n1,2\n"), ("2.csv", b"t,v\n1,2,3\n")]);
    let told = bench.run(&["import", "day", "--all-or-nothing"]).bad(2);
    assert!(told.contains("importing 2.csv: "), "{told}");
    assert_eq!(tables(&bench), [""; 0]);
    std::fs::write(bench.path("day").join("2.csv"), "t,v\n1,2\n").unwrap();
    let told = bench.good(&["import", "day", "--all-or-nothing"]);
    assert_eq!(told.lines().count(), 2, "{told}");
    assert_eq!(tables(&bench), ["1", "2"]);
    // Files beside a directory; the rows of all go into one table.
    std::fs::write(bench.path("3.csv"), "t,v\n1,2\n3,4\n").unwrap();
    let told = bench.good(&["import", "3.csv", "day", "--into", "1"]);
    assert_eq!(told.lines().count(), 3, "{told}");
    assert_eq!(bench.json(&["show", "1"])["rowCount"], 5);
}

#[test]
fn a_directory_without_files_is_told() {
    let bench = day(&[("deep/1.csv", b"t,v\n1,2\n")]);
    let told = bench.run(&["import", "day"]).bad(2);
    assert!(told.contains("there is no file"), "{told}");
    bench.good(&["import", "day", "--recursive"]);
}

/// Options of tables and of results hold for the files that they fit.
#[test]
fn options_hold_for_the_files_of_a_directory() {
    let bench = day(&[("1.csv", b"t;v\n5;-\n6;1,5\n"), ("2.json", RECORD.as_bytes())]);
    let options = ["--null", "-", "--index", "t", "--part-number", "PN-3", "--workspace", "lab"];
    bench.good(&[&["import", "day"], &options[..]].concat());
    assert_eq!(bench.good(&["export", "1"]), "t,v\n5,\n6,1.5\n");
    assert_eq!(bench.json(&["show", "1"])["workspace"], "lab");
    let results = bench.json(&["ls", "results"]);
    assert_eq!((results[0]["partNumber"].as_str(), results[0]["workspace"].as_str()), {
        (Some("PN-3"), Some("lab"))
    });
}

#[test]
fn columns_and_the_zone_of_results_in_csv_are_told() {
    let text = "UUT,At,Test,Reading\nSN-1,2026-03-01 12:00:00,VOUT,12.01\n";
    let bench = day(&[("unit.csv", text.as_bytes())]);
    let import = |more: &[&str]| {
        let file = inside("unit.csv");
        let line = ["import", file.as_str(), "--as", "results-csv", "--part-number", "PN-7"];
        bench.run(&[&line[..], more].concat())
    };
    let run = import(&["--map", "serialNumber"]);
    assert!(run.code == Some(2) && run.err.contains("serialNumber=UUT"), "{run:?}");
    let maps = ["serialNumber=UUT", "startedAt=At", "name=Test", "measurement=Reading"];
    let maps: Vec<&str> = maps.iter().flat_map(|map| ["--map", map]).collect();
    let run = import(&[&maps[..], &["--time-zone", "+02:00"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let results = bench.good(&["ls", "results", "--jsonl"]);
    let result: Value = stationdb::serde_json::from_str(&results).unwrap();
    assert_eq!(result["serialNumber"], "SN-1", "{result}");
    assert_eq!(result["startedAt"], "2026-03-01T10:00:00.000Z", "{result}");
    // Of a table it is no option.
    let told = bench.run(&["import", &inside("unit.csv"), "--map", "serialNumber=UUT"]);
    assert!(told.err.contains("--map, --measurement and --program-name are options"), "{told:?}");
}

/// Results from CSV are a text, with most of the options that a text has.
#[test]
fn how_the_text_of_results_is_read() {
    let text = "a note\nserial;date;status;vout;code\nSN1;01/02/2024;PASS;1,234;7\n\
                SN2;01/03/2024;PASS;2,345\nend\n";
    let bench = day(&[("unit.csv", text.as_bytes())]);
    let import = |more: &[&str]| {
        let file = inside("unit.csv");
        bench.run(&[&["import", file.as_str(), "--as", "results-csv"][..], more].concat())
    };
    let lines = ["--skip-lines", "1", "--footer-lines", "1", "--short-rows", "--separator", ";"];
    let run = import(&lines);
    assert!(run.code == Some(2) && run.err.contains("--date-order"), "{run:?}");
    let read = ["--date-order", "month-first", "--decimal", ",", "--program-name", "Final"];
    let run = import(&[&lines[..], &read, &["--measurement", "vout"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let result = bench.json(&["ls", "results"]);
    assert_eq!(result.as_array().unwrap().len(), 2, "{result}");
    let all: Vec<&str> =
        result.as_array().unwrap().iter().filter_map(|one| one["startedAt"].as_str()).collect();
    assert!(all.contains(&"2024-01-02T00:00:00.000Z"), "{result}");
    assert_eq!(result[0]["programName"], "Final", "{result}");
    let measured = bench.good(&["sql", "SELECT DISTINCT name FROM measurements"]);
    assert!(measured.contains("vout") && !measured.contains("code"), "{measured}");
    // What only tables have stays theirs.
    let run = import(&["--null", "-"]);
    assert!(run.err.contains("options of tables"), "{run:?}");
}

/// Values as a file has them, and nulls that TDMS does not have.
#[test]
fn raw_values_ports_and_nulls() {
    let touchstone = b"# Hz S DB R 50\n1 -20 45\n2 -10 90\n";
    let bench = day(&[("f.ts", touchstone), ("n.csv", b"t,count\n1,5\n2,\n")]);
    let run = bench.run(&["import", &inside("f.ts")]).bad(2);
    assert!(run.contains("--ports"), "{run}");
    bench.good(&["import", &inside("f.ts"), "--ports", "1", "--raw"]);
    assert_eq!(bench.good(&["export", "f"]), "frequency,s11_db,s11_deg\n1,-20,45\n2,-10,90\n");
    bench.good(&["import", &inside("n.csv"), "--index", "t"]);
    let told = bench.run(&["export", "n", "-o", "n.tdms"]).bad(2);
    assert!(told.contains("--fill"), "{told}");
    bench.good(&["export", "n", "-o", "n.tdms", "--fill", "count=-1"]);
    bench.good(&["import", "n.tdms", "--name", "Back", "--index", "t"]);
    assert_eq!(bench.good(&["export", "Back/n"]), "t,count\n1,5\n2,-1\n");
}
