//! What the pages contain, without a browser.

mod products;
mod steps;

use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::prelude::*;
use stationdb::products::CreateProductRequest;
use stationdb::results::{
    CapabilityRequest, ControlChartRequest, CreateResultRequest, FailureParetoRequest,
    HistogramRequest, StatusType, YieldsRequest,
};
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType, TableId,
};
use stationdb::{Control, ErrorKind, Identity, Session, Store};
use stationdb_report::{
    Limits, PlotOptions, ProductOptions, RunOptions, full_bytes, full_run_bytes, plot_html,
    plot_page, product_html, run_html, store_html,
};

fn table(session: &Session, rows: usize) -> TableId {
    let columns = [
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("volts", DataType::Float64).column_type(ColumnType::Nullable),
        Column::new("note", DataType::String),
    ];
    let id = session.create_table(CreateTableRequest::new(columns).name("Loop")).unwrap();
    let row = |at: usize| {
        let volts = (at % 7 != 3).then(|| format!("{}", (at as f64 / 50.0).sin()));
        vec![Some((at * at).to_string()), volts, Some("x".to_owned())]
    };
    let frame = DataFrame::new().data((0..rows).map(row));
    let request = AppendTableDataRequest::new().frame(frame);
    session.append_table_data(&id, request).unwrap();
    id
}

/// The texts of the cells of a page.
fn cells(page: &str) -> Vec<String> {
    let cells = page.split("<td>").skip(1).map(|cell| cell.split("</td>").next().unwrap());
    cells.map(|cell| cell.replace("<bdi>", "").replace("</bdi>", "")).collect()
}

#[test]
fn plots_refuse_what_they_cannot_show() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let id = table(&session, 10);
    for (options, message) in [
        (
            PlotOptions::new().columns(["amps"]),
            "plotting \"Loop\": the table has no column \"amps\"",
        ),
        (PlotOptions::new().columns(["note"]), "the column \"note\" is not of numbers"),
        (PlotOptions::new().x_column("note"), "the column \"note\" is not of numbers"),
        (PlotOptions::new().mark("plug", "noon"), "marking \"plug\": \"noon\" is no value"),
    ] {
        let error = plot_html(&session, &id, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(message), "{error}");
    }
    let many = PlotOptions::new().columns(vec!["volts"; 65]);
    assert_eq!(plot_html(&session, &id, &many).unwrap_err().kind(), ErrorKind::LimitExceeded);
    let none = TableId::from("none");
    let error = plot_html(&session, &none, &PlotOptions::new()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidArgument), "{error}");
    let only_x = PlotOptions::new().x_column("volts").columns(["t"]);
    assert!(plot_html(&session, &id, &only_x).unwrap().contains("Loop"));
}

#[test]
fn a_plot_says_what_it_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let id = table(&session, 1_000);
    let limits = Limits::new("band", Some(-0.5), None).of_column("volts");
    let page = plot_html(&session, &id, &PlotOptions::new().limits(limits)).unwrap();
    let cells = cells(&page);
    let violating = (0..1_000_u32)
        .filter(|at| at % 7 != 3 && (f64::from(*at) / 50.0).sin() < -0.5)
        .count()
        .to_string();
    // Samples, nulls, and rows that break the limit.
    for text in ["1,000", "143", "band: -0.5 to …", violating.as_str()] {
        assert!(cells.iter().any(|cell| cell == text), "{text}: {cells:?}");
    }
    // The whole file is no longer than it was said to be.
    let full = PlotOptions::new().full(true);
    let said = full_bytes(&session, &id, &full).unwrap();
    assert!(plot_html(&session, &id, &full).unwrap().len() as u64 <= said);
    // With few bytes there are fewer intervals.
    let small = PlotOptions::new().column_bytes(0);
    assert!(plot_html(&session, &id, &small).unwrap().len() <= page.len());
}

/// A page has as many intervals as its bytes allow, also where a dictionary of all values has no room.
#[test]
fn few_bytes_are_used() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let id = table(&session, 20_000);
    // Seven eighths are for intervals, in base64; each has two doubles of eight bytes, with places of four.
    for (bytes, most) in [(20_000, 546), (100_000, 2_734), (300_000, 8_203)] {
        let page = plot_html(&session, &id, &PlotOptions::new().column_bytes(bytes)).unwrap();
        let count = page.split("\"intervals\":").nth(1).unwrap().split(',').next().unwrap();
        let count: usize = count.parse().unwrap();
        assert!((most * 2 / 3..=most).contains(&count), "{bytes}: {count}");
    }
}

/// A row without a place is counted, as is a mark that is no place.
#[test]
fn rows_without_a_place_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let columns = [
        Column::new("n", DataType::Int64).column_type(ColumnType::Index),
        Column::new("t", DataType::Float64).column_type(ColumnType::Nullable),
        Column::new("volts", DataType::Float64),
    ];
    let id = session.create_table(CreateTableRequest::new(columns).name("Loop")).unwrap();
    let rows = ["0.5", "NaN", "", "-0.25", "Infinity", "2"].into_iter().enumerate();
    let cell = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let rows = rows.map(|(at, t)| vec![Some(at.to_string()), cell(t), Some("1".to_owned())]);
    let append = AppendTableDataRequest::new().frame(DataFrame::new().data(rows));
    session.append_table_data(&id, append).unwrap();
    let options = PlotOptions::new().x_column("t").columns(["volts"]);
    let page = plot_html(&session, &id, &options).unwrap();
    let told = "3 samples, <bdi>t</bdi> from <bdi>-0.25</bdi> to <bdi>2</bdi>. 3 rows without \
                a finite <bdi>t</bdi> are left out.";
    assert!(page.contains(told), "{page}");
    let usual = plot_html(&session, &id, &PlotOptions::new().columns(["volts"])).unwrap();
    assert!(usual.contains("6 samples") && !usual.contains("left out"));
    for place in ["NaN", "inf"] {
        let marked = options.clone().mark("plug", place);
        let error = plot_html(&session, &id, &marked).unwrap_err();
        assert!(error.message().contains("is no value of the column \"t\""), "{error}");
    }
}

/// Doubles would round these.
#[test]
fn long_whole_numbers_keep_their_last_digit() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let columns = [
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("ticks", DataType::Int64),
    ];
    let id = session.create_table(CreateTableRequest::new(columns).name("Long")).unwrap();
    let row = |cells: [&str; 2]| cells.map(|cell| Some(cell.to_owned())).to_vec();
    let [low, high] = ["-9007199254740993", "9223372036854775807"];
    let rows = [["0", "7"], ["1", low], ["2", "8"], ["3", high]].map(row);
    let rows = DataFrame::new().data(rows);
    session.append_table_data(&id, AppendTableDataRequest::new().frame(rows)).unwrap();
    let limits = Limits::new("band", Some(0.0), Some(100.0));
    let page = plot_html(&session, &id, &PlotOptions::new().limits(limits)).unwrap();
    let cells = cells(&page);
    assert!(page.contains("\"none\":\"-9223372036854775808\""));
    for text in [low, high] {
        // As an extreme of the column, and as the worst sample of a violation.
        assert_eq!(cells.iter().filter(|cell| *cell == text).count(), 2, "{text}: {cells:?}");
        assert_eq!(page.matches(&format!("\"text\":\"{text}\"")).count(), 2, "{text}");
    }
}

/// The smallest whole number is a value as others are.
#[test]
fn the_smallest_whole_number_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let columns = [
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("ticks", DataType::Int64).column_type(ColumnType::Nullable),
    ];
    let id = session.create_table(CreateTableRequest::new(columns).name("Long")).unwrap();
    let smallest = i64::MIN.to_string();
    let row = |cells: [Option<&str>; 2]| cells.map(|cell| cell.map(str::to_owned)).to_vec();
    let rows = [["0", "7"], ["1", &smallest], ["3", "8"]].map(|cells| row(cells.map(Some)));
    let rows = DataFrame::new().data(rows.into_iter().chain([row([Some("4"), None])]));
    session.append_table_data(&id, AppendTableDataRequest::new().frame(rows)).unwrap();
    let page = plot_html(&session, &id, &PlotOptions::new()).unwrap();
    let cells = cells(&page);
    // Samples, the lowest with its place, the highest, nulls, and values that are not drawn.
    let expected = ["4", &smallest, "1", "8", "3", "1", "0", "", "–", "1"];
    assert_eq!(cells[2..], expected, "{cells:?}");
    assert!(page.contains("\"none\":\"-9223372036854775807\""));
}

#[test]
fn a_line_judges_nothing_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let id = table(&session, 100);
    let told = |options: &PlotOptions| {
        let page = plot_page(&session, &id, options).unwrap();
        assert_eq!(page.rows, 100);
        let violations = cells(&page.html)[10].clone();
        (violations, page.html.contains("by which no sample is judged: <bdi>half</bdi>."))
    };
    let line = PlotOptions::new().line("half", 0.5);
    assert_eq!(told(&line), ("–".to_owned(), true));
    let judged = line.limits(Limits::new("band", None, Some(2.0)));
    assert_eq!(told(&judged), ("0".to_owned(), true));
    let limits = PlotOptions::new().limits(Limits::new("none", Some(f64::NAN), None));
    assert_eq!(told(&limits), ("–".to_owned(), false));
}

#[test]
fn a_report_is_made_of_a_store_that_another_one_has_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let owner = Store::open(&path).unwrap();
    let id = table(&owner.session(Identity::user("ada")), 100);
    let view = Store::look(&path).unwrap();
    let session = view.session(Identity::user("eve"));
    let page = plot_html(&session, &id, &PlotOptions::new()).unwrap();
    assert!(page.contains("100 samples"));
    drop(session);
    view.close().unwrap();
    owner.close().unwrap();
}

#[test]
fn a_run_shows_its_steps_measurements_files_and_tables() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let run = Run::begin("P-1", "SN-<7>", "final & test").start(&session).unwrap();
    let sequence = run.sequence("power").unwrap();
    sequence.step("supply").measure("VOUT", 0.1 + 0.2, "V").limits(0.2, 0.25).finish().unwrap();
    sequence.finish().unwrap();
    run.step("</details>").measure_text("serial", "<b>").equals("<b>").finish().unwrap();
    let columns = [
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("volts", DataType::Float64),
    ];
    let table = run.create_table(CreateTableRequest::new(columns).name("Samples")).unwrap();
    let row = |cells: [&str; 2]| cells.map(|cell| Some(cell.to_owned())).to_vec();
    let rows = DataFrame::new().data([row(["0", "1"]), row(["1", "2"])]);
    session.append_table_data(&table, AppendTableDataRequest::new().frame(rows)).unwrap();
    let name = stationdb::files::UploadFileRequest::new().name("log.txt");
    let file = session.upload_file(&mut &b"12345"[..], name, &Control::default()).unwrap();
    run.attach_file(&file).unwrap();
    let id = run.id().clone();
    run.finish().unwrap();
    let page = run_html(&session, &id, &RunOptions::new()).unwrap();
    // It is short, so it is whole.
    assert!(!page.contains("--full"));
    for text in [
        "SN-&lt;7&gt;",
        "final &amp; test",
        "0.30000000000000004",
        "&lt;/details&gt;",
        "<bdi>&lt;b&gt;</bdi>",
        "✗ <bdi>FAILED</bdi>",
        "log.txt",
        "5 bytes",
        "<bdi>Samples</bdi></h2>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    let (power, supply) = (page.find("<bdi>power</bdi>"), page.find("<bdi>supply</bdi>"));
    assert!(power.unwrap() < supply.unwrap());
    let none = stationdb::results::TestResultId::from("none");
    let error = run_html(&session, &none, &RunOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// Many short violations take from the budget of their column.
#[test]
fn violations_are_in_the_budget_of_a_page() {
    const ROWS: u64 = 100_000;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let columns = [
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("a", DataType::Float64),
        Column::new("b", DataType::Float64),
    ];
    let id = session.create_table(CreateTableRequest::new(columns).name("Noise")).unwrap();
    session.append_batches(&id, &mut [Ok(noise(ROWS))].into_iter(), None).unwrap();
    let limits = Limits::new("half", None, Some(0.5));
    for (bytes, listed) in [(100_000, 50), (1_000_000, 500), (2_000_000, 1_000)] {
        let plain = PlotOptions::new().column_bytes(bytes);
        let limited = plain.clone().limits(limits.clone());
        let page = plot_html(&session, &id, &limited).unwrap();
        // The scripts, pictures and tables are beside the budget.
        assert!(page.len() < 2 * bytes + 260_000, "{bytes}: {}", page.len());
        assert_eq!(page.matches("\"worst\":").count(), 2 * listed, "{bytes}");
        assert!(page.contains(&format!("The first {} of", 2 * listed.min(100))), "{bytes}");
    }
}

/// Values that do not compress.
fn noise(rows: u64) -> RecordBatch {
    let t: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let noise = |seed: u64| {
        let values = (0..rows).map(|row| {
            ((row + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / 2_f64.powi(53)
        });
        Arc::new(Float64Array::from_iter_values(values)) as ArrayRef
    };
    RecordBatch::try_from_iter([("t", t), ("a", noise(1)), ("b", noise(2))]).unwrap()
}

#[test]
fn the_page_of_a_run_keeps_its_budget_and_says_what_it_leaves_out() {
    const ROWS: u64 = 40_000;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let run = Run::begin("P-1", "SN-7", "final test").start(&session).unwrap();
    let columns = || {
        [
            Column::new("t", DataType::Int64).column_type(ColumnType::Index),
            Column::new("a", DataType::Float64),
            Column::new("b", DataType::Float64),
        ]
    };
    for name in ["first", "second"] {
        let table = run.create_table(CreateTableRequest::new(columns()).name(name)).unwrap();
        session.append_batches(&table, &mut [Ok(noise(ROWS))].into_iter(), None).unwrap();
    }
    let sequence = run.sequence("all").unwrap();
    for at in 0..300 {
        let text = format!("{at} {}", "long ".repeat(400));
        sequence.step(format!("step {at}")).measure_text("note", &text).finish().unwrap();
    }
    sequence.finish().unwrap();
    let id = run.id().clone();
    run.finish().unwrap();
    let page = |options: RunOptions| run_html(&session, &id, &options).unwrap();
    let full = page(RunOptions::new().full(true));
    assert!(full.len() > 2_500_000 && !full.contains("--full"), "{}", full.len());
    let said = full_run_bytes(&session, &id).unwrap();
    assert!((full.len() as u64..full.len() as u64 * 2).contains(&said), "{said} {}", full.len());
    let whole = page(RunOptions::new().page_bytes(10_000_000));
    assert!(!whole.contains("--full") && whole.contains("step 299"), "{}", whole.len());
    for bytes in [700_000, 1_700_000] {
        let page = page(RunOptions::new().page_bytes(bytes));
        assert!(page.len() < bytes + bytes / 10, "{bytes}: {}", page.len());
        assert!(page.len() > bytes / 2, "{bytes}: {}", page.len());
        assert!(page.contains("Of 2 tables below"), "{bytes}");
        let shown = (0..300).filter(|at| page.contains(&format!("<bdi>step {at}</bdi>"))).count();
        let told = format!("{} of 301 steps are not in this page", 300 - shown);
        assert_eq!(page.contains(&told), shown < 300, "{bytes}: {shown}");
        assert_eq!(shown < 300, bytes == 700_000, "{shown}");
        assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    }
}

#[test]
fn the_files_of_a_run_are_named_up_to_a_bound() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let ids = (0..1_002).map(|at| format!("{at:024x}"));
    let request = CreateResultRequest::new()
        .program_name("final test")
        .status(StatusType::Passed)
        .file_ids(ids);
    let made = session.create_results(vec![request]).unwrap().into_result().unwrap().results;
    let id = made[0].id.clone().unwrap();
    let page = run_html(&session, &id, &RunOptions::new()).unwrap();
    assert_eq!(page.matches("gone, or not to be seen").count(), 1_000);
    assert!(page.contains("<td>2 more</td>"));
}

/// Each number of the library's figures is in the page with all its digits.
#[test]
fn numbers_of_a_product_are_those_of_the_library() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let product = CreateProductRequest::new("P-1");
    session.create_products(vec![product]).unwrap().require_all().unwrap();
    for at in 0..40 {
        let value = 3.3 + (f64::from(at) * 1.7).sin() / 30.0;
        let run = Run::begin("P-1", format!("SN-{}", at % 25), "final").start(&session).unwrap();
        run.step("supply").measure("VOUT", value, "V").limits(3.28, 3.34).finish().unwrap();
        run.step("ripple").measure("AC", value / 100.0, "V").at_most(0.033).finish().unwrap();
        run.finish().unwrap();
    }
    let other = Run::begin("P-2", "SN-1", "final").start(&session).unwrap();
    other.step("supply").measure("VOUT", 77.0, "V").limits(3.28, 3.34).finish().unwrap();
    other.finish().unwrap();
    let page = product_html(&session, "P-1", &ProductOptions::new()).unwrap();
    let cells = cells(&page);
    let shown = |value: Option<f64>| {
        let value = value.unwrap();
        let is_there = cells
            .iter()
            .any(|cell| cell.parse::<f64>().is_ok_and(|cell| cell.to_bits() == value.to_bits()));
        assert!(is_there, "{value} is not in the page");
    };
    let control = Control::default();
    let filter = "partNumber == \"P-1\"";
    let yields = YieldsRequest::new().filter(filter).group_by(["WEEK".to_owned()]);
    for group in session.yields(yields, &control).unwrap().groups {
        shown(group.first_pass_yield);
        shown(group.final_yield);
        shown(group.result_yield);
        shown(group.retest_rate);
    }
    let pareto = FailureParetoRequest::new().filter(filter);
    let pareto = session.failure_pareto(pareto, &control).unwrap();
    assert_eq!(pareto.entries.len(), 2);
    for entry in pareto.entries {
        shown(entry.fraction);
        shown(entry.cumulative);
    }
    for name in ["VOUT", "AC"] {
        let request = CapabilityRequest::new(name).filter(filter);
        let capability = session.capability(request, &control).unwrap();
        for value in [
            capability.mean,
            capability.minimum,
            capability.maximum,
            capability.within_deviation,
            capability.overall_deviation,
            capability.high_limit,
            capability.cpk,
            capability.ppk,
        ] {
            shown(value);
        }
        let request = HistogramRequest::new(name).filter(filter);
        for range in session.histogram(request, &control).unwrap().ranges {
            shown(Some(range.lower));
            shown(Some(range.upper));
        }
        let request = ControlChartRequest::new(name).filter(filter);
        let chart = session.control_chart(request, &control).unwrap();
        for limits in [&chart.limits, &chart.range_limits] {
            shown(limits.center);
            shown(limits.upper);
        }
        assert_eq!(chart.points.len(), 40);
        for point in chart.points {
            shown(Some(point.value));
        }
    }
    assert!(!cells.iter().any(|cell| cell == "77"));
    // A further condition selects among the results of the product.
    let few = ProductOptions::new().filter("serialNumber == \"SN-1\" || partNumber == \"P-2\"");
    let few = product_html(&session, "P-1", &few).unwrap();
    assert!(few.len() < page.len() && !few.contains("<td>77</td>"));
    let bad = ProductOptions::new().filter("partNumber ==");
    assert_eq!(product_html(&session, "P-1", &bad).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_store_says_what_is_in_it_and_how_it_grew() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    table(&session, 1_234);
    let run = Run::begin("P-1", "SN-1", "final").start(&session).unwrap();
    run.finish().unwrap();
    let page = store_html(&store, &session, "<bench>", &Control::default()).unwrap();
    assert!(page.contains("Store &lt;bench&gt;") && page.contains("No damage was found"));
    let cells = cells(&page);
    let month = stationdb::chrono::Utc::now().format("%Y-%m").to_string();
    assert!(page.contains("Nothing needs you"));
    for [name, count] in [
        ["table", "1"],
        ["test result", "1"],
        [month.as_str(), "1234"],
        ["Opened as", "the owner"],
        ["Writes", "taken"],
        ["Last backup", "never"],
    ] {
        assert!(cells.windows(2).any(|pair| pair == [name, count]), "{name}: {cells:?}");
    }
    let control = Control::default();
    control.cancel();
    let error = store_html(&store, &session, "bench", &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn a_store_with_a_lost_file_says_so_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = Store::open(&path).unwrap();
    let session = store.session(Identity::user("ada"));
    let bytes = vec![7; 1_000_000];
    let named = stationdb::files::UploadFileRequest::new().name("log.txt");
    session.upload_file(&mut &bytes[..], named, &Control::default()).unwrap();
    let mut places = vec![path.join("files")];
    while let Some(place) = places.pop() {
        if place.is_dir() {
            places.extend(std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            std::fs::remove_file(&place).unwrap();
        }
    }
    store.backup(directory.path().join("backup"), &Control::default()).unwrap_err();
    let page = store_html(&store, &session, "bench", &Control::default()).unwrap();
    assert!(!page.contains("No damage was found") && !page.contains("Nothing needs you"));
    for text in ["✗ 1 findings", "What to do", "✗ the last backup failed", "FAILED at 2"] {
        assert!(page.contains(text), "{text}");
    }
}
