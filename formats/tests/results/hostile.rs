//! Files that are made to harm: they are refused, quickly and for what they are.

use std::time::{Duration, Instant};

use stationdb::ErrorKind;

use super::{Bench, Format};

#[track_caller]
fn refused(bytes: &[u8], kind: ErrorKind) {
    let bench = Bench::new();
    for format in [Format::TestStand, Format::Atml] {
        let start = Instant::now();
        let error = bench.refusal(format, bytes);
        assert_eq!(error.kind(), kind, "{format:?}: {error}");
        assert!(error.message().len() < 8_000, "{} bytes of message", error.message().len());
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}

#[test]
fn a_million_levels() {
    refused("<a>".repeat(1_000_000).as_bytes(), ErrorKind::LimitExceeded);
    let props = "<Prop Name='a' Type='Obj'>".repeat(1_000_000);
    refused(format!("<Reports><Report Type='UUT'>{props}").as_bytes(), ErrorKind::LimitExceeded);
}

#[test]
fn entities_are_not_expanded() {
    let report = "<Reports><Report Type='UUT' UUTResult='&a2;'/></Reports>";
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY a0 'ha'>\
        <!ENTITY a1 '&a0;&a0;&a0;&a0;'><!ENTITY a2 '&a1;&a1;&a1;&a1;'>]>";
    let outside = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\">";
    let bench = Bench::new();
    for (text, what) in [
        (format!("{bomb}{report}"), "document type"),
        (format!("{outside}{}", report.replace("&a2;", "Passed")), "document type"),
        (report.to_owned(), "a2"),
        (
            report.replace("/>", ">&a2;</Report>").replace("'&a2;'", "'Passed'"),
            "\"a2\" is not one of",
        ),
    ] {
        let error = bench.refusal(Format::TestStand, text.as_bytes());
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
        assert!(error.message().contains(what), "{text}: {error}");
    }
}

#[test]
fn huge_attributes_and_names() {
    let long = "x".repeat(20_000_000);
    refused(format!("<a b='{long}'/>").as_bytes(), ErrorKind::InvalidArgument);
    refused(format!("<{long}/>").as_bytes(), ErrorKind::InvalidArgument);
    let many: String = (0..100_000).map(|at| format!(" a{at}='1'")).collect();
    refused(format!("<a{many}/>").as_bytes(), ErrorKind::LimitExceeded);
}

#[test]
fn wrong_encodings() {
    refused(b"<Reports>\xff\xfe</Reports>", ErrorKind::InvalidArgument);
    refused(b"\xff\xfe<\0R", ErrorKind::InvalidArgument);
    refused(b"<?xml version='1.0' encoding='EBCDIC-US'?><Reports/>", ErrorKind::Unsupported);
    refused(b"\0\0\0\0\0\0\0\0", ErrorKind::InvalidArgument);
    refused(b"", ErrorKind::InvalidArgument);
}

/// Long names of nested values would be copied for each value below them.
#[test]
fn paths_do_not_multiply() {
    let bench = Bench::new();
    let long = "n".repeat(100_000);
    let leaves = "<Prop Name='x' Type='Number'><Value>1</Value></Prop>".repeat(100_000);
    let text = format!(
        "<Report Type='UUT' UUTResult='Passed'><Prop Name='{long}' Type='Obj'>{leaves}</Prop></Report>"
    );
    let start = Instant::now();
    let (result, _, warnings) = bench.one(Format::TestStand, &text);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!(result.properties.unwrap().len(), 2);
    assert!(warnings[1].contains("paths of more than 1024 bytes"), "{warnings:?}");
}

/// A result with more levels of steps than are stored is refused by the store, and leaves nothing.
#[test]
fn more_levels_of_steps_than_are_stored() {
    let nested = |levels: usize| {
        let open = "<Prop Type='TEResult'><Prop Name='TS' Type='Obj'><Prop Name='SequenceCall' \
                    Type='Obj'><Prop Name='ResultList' Type='Array'><Value ID='[0]'>";
        let close = "</Value></Prop></Prop></Prop></Prop>";
        let inner = format!("{}{}", open.repeat(levels), close.repeat(levels));
        let main = inner.replacen("<Prop Type", "<Prop Name='TEResult' Type", 1);
        format!("<Report Type='UUT' UUTResult='Passed'>{main}</Report>")
    };
    let bench = Bench::new();
    let (_, steps, _) = bench.one(Format::TestStand, &nested(100));
    assert_eq!(steps.len(), 99);
    let error = bench.refusal(Format::TestStand, nested(105).as_bytes());
    let kinds = [ErrorKind::LimitExceeded, ErrorKind::PartialFailure];
    assert!(kinds.contains(&error.kind()), "{error:?}");
}
