//! Requests with members of a wrong JSON type: the errors use the terms of the services, not those
//! of Rust.

use crate::prelude::*;

use serde::de::{Deserialize, Deserializer, Error as _, Visitor, value};
use serde_json::Map;
use stationdb::bodies::*;
use stationdb::results::*;
use stationdb::{from_json_report, from_json_strict};

use crate::sources::{rust_files, words};

/// A deserializer whose error lists the member names of a struct.
struct Members;

impl<'de> Deserializer<'de> for Members {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(value::Error::custom("no struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        members: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, value::Error> {
        Err(value::Error::custom(members.join(" ")))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

type Read = fn(&[u8]) -> Option<Error>;

/// The members that were ignored, or the error of reading a request strictly.
type Strict = fn(&[u8]) -> (Vec<String>, Option<Error>);

macro_rules! requests {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), <$name as Deserialize>::deserialize(Members).unwrap_err().to_string(), {
            let read: Read = |body| from_json::<$name>(body).err();
            read
        }, {
            let strict: Strict = |body| {
                let ignored = from_json_report::<$name>(body).unwrap().1;
                (ignored, from_json_strict::<$name>(body).err())
            };
            strict
        })),*]
    };
}

/// Name, members and readers of every request.
fn requests() -> Vec<(&'static str, String, Read, Strict)> {
    requests![
        Aggregate,
        AggregateKey,
        AggregateRecordsKey,
        AggregateRecordsRequest,
        AggregateTableDataRequest,
        DeleteRecordsRequest,
        ImportChoice,
        ImportRecord,
        ImportRecordsRequest,
        AppendTableDataRequest,
        CreateAssetRequest,
        CreateFeedRequest,
        CreateProductRequest,
        CreateResultRequest,
        CreateStepRequest,
        CreateSpecificationRequest,
        CreateSpecificationsRequest,
        CreateTableRequest,
        CreateWorkspaceRequest,
        CreateTestPlanRequest,
        CreateTestPlanTemplateRequest,
        CreateTestPlanTemplatesRequest,
        CreateTestPlansRequest,
        CreateWorkItemRequest,
        CreateWorkItemTemplateRequest,
        CreateWorkItemTemplatesRequest,
        CreateWorkItemsRequest,
        CreateAssetsRequest,
        CreateProductsRequest,
        CreateResultsRequest,
        CreateStepsRequest,
        DeleteAssetsRequest,
        DeleteFilesRequest,
        DeletePackagesRequest,
        DeleteProductsRequest,
        ApplyResultRetentionRequest,
        DeleteResultsRequest,
        KeepResults,
        ResultRetention,
        DeleteStepsRequest,
        DeleteSpecificationsRequest,
        AddColumnsRequest,
        DeleteRowsRequest,
        DropColumnsRequest,
        RenameColumnsRequest,
        DeleteTablesRequest,
        ListDeletedRowsRequest,
        FinishUploadSessionRequest,
        GetProductsRequest,
        GetResultsRequest,
        GetStepsRequest,
        LinkFilesRequest,
        SetSystemConnectionRequest,
        StartUploadSessionRequest,
        UpdateAssetsRequest,
        UpdateProductsRequest,
        UpdateResultsRequest,
        UpdateStepsRequest,
        DeleteTestPlanTemplatesRequest,
        DeleteTestPlansRequest,
        DeleteWorkItemTemplatesRequest,
        DeleteWorkItemsRequest,
        ExecuteWorkItemRequest,
        ExportTableDataRequest,
        FileLinqQueryRequest,
        GetFilesRequest,
        GetTableDataRequest,
        ImportTableRequest,
        ListQuotasRequest,
        ListTablesRequest,
        ModifyTableRequest,
        ModifyTablesRequest,
        QueryAssetUtilizationHistoryRequest,
        QueryAssetsRequest,
        QueryDecimatedDataRequest,
        QueryFeedsRequest,
        QueryFilesRequest,
        QueryProductValuesRequest,
        QueryProductsRequest,
        QueryPathsRequest,
        QueryResultValuesRequest,
        YieldsRequest,
        FailureParetoRequest,
        CapabilityRequest,
        HistogramRequest,
        ControlChartRequest,
        GageRequest,
        QueryResultsRequest,
        QueryStepValuesRequest,
        QueryStepsRequest,
        QuerySpecificationsRequest,
        QueryTableDataRequest,
        QueryTablesRequest,
        QueryTestPlanTemplatesRequest,
        QueryTestPlansRequest,
        QueryWorkItemTemplatesRequest,
        QueryWorkItemsRequest,
        QueryWorkspacesRequest,
        ReadWaveformsRequest,
        ScanRecordsRequest,
        ScanMeasurementsRequest,
        ScanRequest,
        ScanStepsRequest,
        ScheduleTestPlanRequest,
        ScheduleTestPlansRequest,
        ScheduleWorkItemRequest,
        ScheduleWorkItemsRequest,
        SetQuotaRequest,
        SetRetentionRequest,
        SearchFilesRequest,
        StartUtilizationRequest,
        UpdateAssetRequest,
        UpdateFeedRequest,
        UpdateMetadataRequest,
        UpdateProductRequest,
        UpdateResultRequest,
        UpdateStepRequest,
        UpdateSpecificationRequest,
        UpdateSpecificationsRequest,
        UpdateTestPlanRequest,
        UpdateTestPlansRequest,
        UpdateUtilizationRequest,
        UpdateWorkItemRequest,
        UpdateWorkItemTemplateRequest,
        UpdateWorkItemTemplatesRequest,
        UpdateWorkItemsRequest,
        UploadFileRequest,
        IdsQuery,
        StringQuery,
        SizeQuery,
        CreatedQuery,
        PropertyQuery,
        SearchRequest,
        Condition,
        JobExecution,
        NotebookExecution,
        Job,
        TimelineDefinition,
        ScheduleDefinition,
        ScheduleResourceDefinition,
        DashboardPatch,
        Column,
        DataFrame,
        TableMetadataModification,
        AssetIdentification,
        ExternalCalibration,
        TemperatureSensor,
    ]
}

/// A word that is neither a JSON term nor a member: a name of a type in Rust or in its JSON
/// library.
fn foreign(text: &str) -> Option<String> {
    const WORDS: [&str; 24] = [
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "f32",
        "f64",
        "usize",
        "isize",
        "struct",
        "enum",
        "Option",
        "Vec",
        "map",
        "sequence",
        "tuple",
        "variant",
        "newtype",
        "identifier",
        "unit",
        "type:",
    ];
    let is_type_name = |word: &str| {
        let starts = word.starts_with(|c: char| c.is_ascii_uppercase());
        starts
            && word.contains(|c: char| c.is_ascii_lowercase())
            && word.chars().skip(1).any(|c| c.is_ascii_uppercase())
    };
    // Members are in backquotes and may have any name.
    let text: String = text.split('`').step_by(2).collect();
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')));
    words.find(|word| WORDS.contains(word) || is_type_name(word)).map(str::to_owned)
}

#[test]
fn foreign_words_are_found() {
    for text in [
        "expected u64",
        "member `a`: struct CreateTableRequest",
        "expected a map",
        "is not a PlatformKind",
    ] {
        assert!(foreign(text).is_some(), "{text}");
    }
    assert_eq!(
        foreign("member `workItems[3].timeline.dueDateTime`: expected an integer, found \"x\""),
        None
    );
}

/// A body with values for the required members. If a value is rejected, the next one is tried.
fn required(read: Read) -> Map<String, Value> {
    let values =
        [json!("x"), json!(1), json!(true), json!([]), json!({}), json!("2024-01-01T00:00:00Z")];
    let (mut body, mut tried) = (Map::new(), BTreeMap::<String, usize>::new());
    for _ in 0..100 {
        let Some(error) = read(Value::Object(body.clone()).to_string().as_bytes()) else { break };
        let Some(Place::Member(path)) = error.place() else { break };
        let member = path.split(['.', '[']).next().unwrap_or_default().to_owned();
        // An error about an unknown value of an enumeration lists the known values.
        let named = error
            .message()
            .split_once("is not one of ")
            .and_then(|(_, rest)| rest.split(", ").next());
        let at = tried.entry(member.clone()).or_default();
        let value = named.map_or_else(|| values[*at % values.len()].clone(), |first| json!(first));
        *at += 1;
        body.insert(member, value);
    }
    body
}

#[test]
fn what_is_told_of_a_wrong_type_names_members_and_types_of_the_service() {
    let wrong = [
        json!(7.5),
        json!(-1),
        json!(7),
        json!("x"),
        json!(true),
        json!([]),
        json!([7]),
        json!(["x"]),
        json!({}),
        json!({"x": 7}),
        json!({"x": {}}),
        json!(1e30),
        json!([{"x": 1}]),
    ];
    let mut told = BTreeSet::new();
    for (name, members, read, _) in requests() {
        assert_ne!(members, "no struct", "{name}");
        let deep = "[".repeat(3_000);
        for body in
            ["[]", "7", "\"x\"", "null", "true", "[7]", "{", "", " ", "{\"a\":}", "[", "7 x", &deep]
        {
            let Some(error) = read(body.as_bytes()) else {
                // Nothing is an object without members.
                let is_nothing = body.trim().is_empty() && read(b"{}").is_none();
                assert!(is_nothing, "{name} reads {body:?}");
                continue;
            };
            assert_eq!(
                (error.kind(), foreign(error.message())),
                (ErrorKind::InvalidArgument, None),
                "{name} {body}: {error}"
            );
        }
        let base = required(read);
        for member in members.split_whitespace() {
            let mut refused = 0;
            for value in &wrong {
                let mut body = base.clone();
                body.insert(member.to_owned(), value.clone());
                let Some(error) = read(Value::Object(body.clone()).to_string().as_bytes()) else {
                    continue;
                };
                let text = error.message();
                assert_eq!(foreign(text), None, "{name}.{member} = {value}: {text}");
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                match error.place() {
                    Some(Place::Member(path))
                        if path == member
                            || path.starts_with(&format!("{member}."))
                            || path.starts_with(&format!("{member}[")) =>
                    {
                        refused += 1;
                    }
                    place => panic!("{name}.{member} = {value}: {place:?}, {text}"),
                }
                told.insert(text.to_owned());
            }
            let takes_anything =
                matches!((name, member), (_, "substitutions" | "value" | "range" | "metadata"));
            assert!(refused > 0 || takes_anything, "{name}.{member} takes everything");
        }
    }
    assert!(told.len() > 200, "{}", told.len());
    for text in [
        "the request cannot be read: member `take`: expected an integer of 64 bits, found the string \"x\"",
        "the request cannot be read: member `workItems[0]`: expected an object, found the integer 7",
        "the request cannot be read: member `filter`: expected a string, found true",
        "the request cannot be read: member `returnCount`: expected true or false, found the number 7.5",
    ] {
        assert!(told.contains(text), "{text}");
    }
}

/// A person who writes a request is told of each member that it does not have; a server is not.
#[test]
fn every_request_refuses_unknown_members_when_it_is_read_strictly() {
    for (name, members, read, strict) in requests() {
        let mut body = required(read);
        let text = Value::Object(body.clone()).to_string();
        let (ignored, error) = strict(text.as_bytes());
        assert!(ignored.is_empty() && error.is_none(), "{name} {text}: {ignored:?} {error:?}");
        // The first member with its first two letters swapped, and a word that is near none.
        let first = members.split_whitespace().next().unwrap();
        let swapped: String = [&first[1..2], &first[..1], &first[2..]].concat();
        for unknown in [swapped.as_str(), "zzzzzzzzzzzzzzzzzzzz"] {
            body.insert(unknown.to_owned(), json!(7));
            let text = Value::Object(body.clone()).to_string();
            assert!(read(text.as_bytes()).is_none(), "{name} {text}");
            let (ignored, error) = strict(text.as_bytes());
            assert_eq!(ignored, [unknown], "{name} {text}");
            let error = error.unwrap_or_else(|| panic!("{name} reads {text}"));
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert_eq!(error.place(), Some(&Place::Member(unknown.to_owned())), "{name}");
            assert!(error.message().contains(first), "{name}: {}", error.message());
            body.remove(unknown);
        }
    }
}

/// Every declared request must be in the list, otherwise it would not be tested.
#[test]
fn every_declared_request_is_asked() {
    let known: BTreeSet<&str> = requests().into_iter().map(|(name, ..)| name).collect();
    let mut declared = BTreeSet::new();
    for (_, text) in rust_files("src/model") {
        let name_of = |rest: &str| words(rest).next().unwrap_or_default().to_owned();
        let names = text.lines().filter_map(|line| line.trim_start().split_once("pub struct "));
        // Resources declare their requests in attributes: `#[request(Name(...))]`,
        // `#[patch(Name = "...")]`.
        let attributes =
            ["#[request(", "#[patch("].into_iter().flat_map(|start| text.split(start).skip(1));
        let names = names.map(|(_, rest)| name_of(rest)).chain(attributes.map(name_of));
        declared.extend(names.filter(|name| name.ends_with("Request")));
    }
    let missing: Vec<_> = declared.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(declared.len() > 50 && missing.is_empty(), "{missing:?}");
}
