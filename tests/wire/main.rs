//! Wire bodies, query strings and statuses as a server meets them.

use std::fmt::Debug;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use stationdb::ErrorKind::InvalidArgument;
use stationdb::bodies::*;
use stationdb::feeds::QueryFeedsRequest;
use stationdb::files::{
    FileId, FileQueryOrderBy, GetFilesRequest, QueryFilesRequest, UploadFileRequest,
};
use stationdb::tables::{GetTableDataRequest, ListTablesRequest, TableId, TableOrderBy};
use stationdb::{
    Answer, ApiError, Created, Error, ErrorKind, FromQuery, Place, Result, from_json, from_query,
    from_query_and_json,
};

fn read<T: DeserializeOwned>(body: &Value) -> Result<T> {
    from_json(body.to_string().as_bytes())
}

fn place<T: Debug>(read: Result<T>) -> String {
    match read.unwrap_err().place() {
        Some(Place::Member(path)) => path.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_envelope_needs_its_list_and_names_the_place_of_a_fault() {
    fn envelope<T: DeserializeOwned + Serialize + Debug>(
        member: &str,
        good: Value,
        bad: Value,
        fault: &str,
    ) {
        let snake: String = member
            .chars()
            .flat_map(
                |c| if c.is_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] },
            )
            .collect();
        for name in [member, &snake] {
            let body = read::<T>(&json!({ name: [good] })).unwrap();
            assert_eq!(serde_json::to_value(&body).unwrap()[member][0], good, "{member}");
        }
        assert_eq!(place(read::<T>(&json!({}))), member);
        assert_eq!(place(read::<T>(&json!({ member: null }))), member);
        assert_eq!(
            place(read::<T>(&json!({ member: [good, bad] }))),
            format!("{member}[1]{fault}")
        );
        assert_eq!(place(read::<T>(&json!({ member: "one" }))), member);
    }
    let product = json!({"partNumber": "P"});
    envelope::<CreateProductsRequest>("products", product, json!({"name": 1}), ".name");
    let change = json!({"id": "i", "keywords": ["k"]});
    envelope::<UpdateProductsRequest>("products", change, json!({"keywords": [1]}), ".keywords[0]");
    let result = json!({"programName": "G", "status": {"statusType": "PASSED"}});
    let status = json!({"status": {"statusType": "GOOD"}});
    envelope::<CreateResultsRequest>("results", result, status, ".status.statusType");
    let change = json!({"id": "i", "properties": {"k": null}});
    envelope::<UpdateResultsRequest>(
        "results",
        change,
        json!({"properties": {"k": 1}}),
        ".properties.k",
    );
    let step = json!({"name": "s", "children": [{"name": "c"}]});
    let child = json!({"children": [{"inputs": [{"value": 1}]}]});
    envelope::<CreateStepsRequest>(
        "steps",
        step.clone(),
        child.clone(),
        ".children[0].inputs[0].name",
    );
    envelope::<UpdateStepsRequest>("steps", step, child, ".children[0].inputs[0].name");
    let pair = json!({"stepId": "s", "resultId": "r"});
    envelope::<DeleteStepsRequest>("steps", pair, json!({"stepId": "s"}), ".resultId");
    let asset = json!({"modelName": "M"});
    envelope::<CreateAssetsRequest>(
        "assets",
        asset,
        json!({"location": {"minionId": 1}}),
        ".location.minionId",
    );
    envelope::<UpdateAssetsRequest>("assets", json!({"id": "i"}), json!({"name": []}), ".name");
    envelope::<DeleteProductsRequest>("ids", json!("i"), json!(7), "");
    envelope::<DeleteResultsRequest>("ids", json!("i"), json!(7), "");
    envelope::<DeleteSpecificationsRequest>("ids", json!("i"), json!(7), "");
    envelope::<DeleteAssetsRequest>("ids", json!("i"), json!(7), "");
    envelope::<DeleteTablesRequest>("ids", json!("i"), json!(7), "");
    envelope::<DeleteFilesRequest>("ids", json!("i"), json!(7), "");
    envelope::<LinkFilesRequest>("fileIds", json!("i"), json!(7), "");
    envelope::<DeletePackagesRequest>("packageIds", json!("i"), json!(7), "");
    // Those of work items and test plans are older, and some of them may lack their list.
    let item = json!({"workItems": [{}, {"name": 1}]});
    assert_eq!(place(read::<CreateWorkItemsRequest>(&item)), "workItems[1].name");
    assert_eq!(
        place(read::<stationdb::work_items::UpdateWorkItemsRequest>(&item)),
        "workItems[1].name"
    );
    let item = json!({"workItems": [{"assignedTo": 1}]});
    assert_eq!(
        place(read::<stationdb::work_items::ScheduleWorkItemsRequest>(&item)),
        "workItems[0].assignedTo"
    );
    let template = json!({"workItemTemplates": [{"name": 1}]});
    assert_eq!(
        place(read::<CreateWorkItemTemplatesRequest>(&template)),
        "workItemTemplates[0].name"
    );
    assert_eq!(
        place(read::<stationdb::work_items::UpdateWorkItemTemplatesRequest>(&template)),
        "workItemTemplates[0].name"
    );
    let plan = json!({"testPlans": [{"name": 1}]});
    assert_eq!(place(read::<CreateTestPlansRequest>(&plan)), "testPlans[0].name");
    assert_eq!(
        place(read::<stationdb::test_plans::UpdateTestPlansRequest>(&plan)),
        "testPlans[0].name"
    );
    let plan = json!({"testPlans": [{"dutId": 1}]});
    assert_eq!(
        place(read::<stationdb::test_plans::ScheduleTestPlansRequest>(&plan)),
        "testPlans[0].dutId"
    );
    let template = json!({"testPlanTemplates": [{"name": 1}]});
    assert_eq!(
        place(read::<CreateTestPlanTemplatesRequest>(&template)),
        "testPlanTemplates[0].name"
    );
    let ids = json!({"ids": ["1", 2]});
    assert_eq!(place(read::<DeleteWorkItemsRequest>(&ids)), "ids[1]");
    assert_eq!(place(read::<DeleteWorkItemTemplatesRequest>(&ids)), "ids[1]");
    assert_eq!(place(read::<DeleteTestPlansRequest>(&ids)), "ids[1]");
    assert_eq!(place(read::<DeleteTestPlanTemplatesRequest>(&ids)), "ids[1]");
    assert_eq!(
        place(read::<UpdateUtilizationRequest>(&json!({"utilizationIdentifiers": [1]}))),
        "utilizationIdentifiers[0]"
    );
    assert_eq!(
        place(read::<SetSystemConnectionRequest>(&json!({"connection": "CONNECTED"}))),
        "minionId"
    );
    assert_eq!(
        place(read::<FinishUploadSessionRequest>(&json!({"properties": {"k": 1}}))),
        "properties.k"
    );
}

#[test]
fn creations_and_errors_have_bodies_of_their_own() {
    fn wire(value: impl Serialize) -> Value {
        serde_json::to_value(value).unwrap()
    }
    assert_eq!(wire(CreateTableResponse::from(TableId::from("t"))), json!({"id": "t"}));
    let file = UploadFileResponse::from(FileId::from("0123456789abcdef01234567"));
    assert_eq!(
        wire(&file),
        json!({"uri": "/nifile/v1/service-groups/Default/files/0123456789abcdef01234567"})
    );
    let error = wire(ErrorResponse::from(&Error::not_found("file", "x")));
    let members = json!({"name": "StationDb.NotFound", "args": ["x"], "resourceType": "file", "resourceId": "x"});
    for (member, value) in members.as_object().unwrap() {
        assert_eq!(&error["error"][member], value, "{error}");
    }
}

#[test]
fn a_query_string_is_read_like_a_body() {
    let tables: ListTablesRequest = from_query(
        "take=7&id=a,b&id=c%2Cd&orderBy=NUMBER_OF_ROWS&orderByDescending=True&continuationToken=x%2By+z&workspace=%C3%A4&other=%zz",
    )
    .unwrap();
    let text = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
    assert_eq!(
        tables,
        ListTablesRequest::new()
            .take(7)
            .order_by(TableOrderBy::NumberOfRows)
            .order_by_descending(true)
            .continuation_token("x+y z")
            .maybe_id(text(&["a", "b", "c", "d"]))
            .maybe_workspace(text(&["ä"]))
    );
    // A name may have a comma, which is written as %2C.
    let rows: GetTableDataRequest =
        from_query("columns=t,a%2Cb&columns=c&orderBy=t&order_by_descending=TRUE&take=-1&")
            .unwrap();
    assert_eq!(rows.columns, text(&["t", "a,b", "c"]));
    assert_eq!(
        (rows.order_by, rows.order_by_descending, rows.take),
        (text(&["t"]), true, Some(-1))
    );
    let files: GetFilesRequest = from_query(
        "skip=1&take=2&orderBy=lastUpdatedTimestamp&orderByDescending=false&id=a,,b&id=",
    )
    .unwrap();
    assert_eq!(
        (files.skip, files.take, files.order_by_descending),
        (Some(1), Some(2), Some(false))
    );
    assert_eq!(files.order_by, Some(FileQueryOrderBy::LastUpdatedTimestamp));
    assert_eq!(files.ids, ["a", "b"]);
    assert_eq!(from_query::<GetFilesRequest>("ids=a&id=b").unwrap().ids, ["a"]);
    let products: GetProductsRequest =
        from_query("return_count=true&take=3&continuationToken=").unwrap();
    assert_eq!(
        (products.return_count, products.take, products.continuation_token.as_deref()),
        (true, Some(3), Some(""))
    );
    let feeds: QueryFeedsRequest = from_query("platform=windows&workspace=").unwrap();
    assert_eq!(
        (feeds.platform.unwrap().as_str(), feeds.workspace.as_deref()),
        ("windows", Some(""))
    );
    assert!(from_query::<UploadPackageQuery>("shouldOverwrite=true").unwrap().overwrite);
    assert_eq!(from_query::<AppendArrowQuery>("endOfData=TRUE").unwrap().end_of_data, Some(true));
    assert!(from_query::<AppendToUploadSessionQuery>("chunk=2&close=True").unwrap().close);
    let finish: FinishUploadSessionRequest =
        from_query_and_json("sessionId=s", br#"{"name": "n", "properties": {"k": "v"}}"#).unwrap();
    assert_eq!((finish.session_id.as_str(), finish.name.as_str()), ("s", "n"));
    assert_eq!(
        from_query::<UploadFileRequest>("workspace=w&id=ignored").unwrap(),
        UploadFileRequest::new().workspace("w")
    );
    // Of equal keys the last one counts, of two spellings the camelCase one.
    assert_eq!(from_query::<ListTablesRequest>("take=1&take=2").unwrap().take, Some(2));
    assert_eq!(
        from_query::<ListTablesRequest>("continuationToken=camel&continuation_token=snake")
            .unwrap()
            .continuation_token,
        Some("camel".to_owned())
    );
    assert_eq!(from_query::<ListTablesRequest>("").unwrap(), ListTablesRequest::default());
}

#[test]
fn a_query_string_beside_a_body_wins() {
    let body = br#"{"take": 9, "page_size": 1, "idQuery": {"operation": "EQUAL", "value": "x"}}"#;
    let files: QueryFilesRequest = from_query_and_json("skip=1&take=2&workspace=w", body).unwrap();
    assert_eq!((files.skip, files.take, files.workspace.as_deref()), (Some(1), Some(2), Some("w")));
    assert_eq!(files.id_query.unwrap().value, "x");
    assert_eq!(
        from_query_and_json::<QueryFilesRequest>("", br#"{"take": 9}"#).unwrap().take,
        Some(9)
    );
    assert_eq!(place(from_query_and_json::<QueryFilesRequest>("take=x", b"{}")), "take");
    assert_eq!(
        place(from_query_and_json::<QueryFilesRequest>(
            "",
            br#"{"idQuery": {"operation": "EQUAL", "value": 1}}"#
        )),
        "idQuery.value"
    );
    assert_eq!(
        from_query_and_json::<QueryFilesRequest>("", b"[]").unwrap_err().kind(),
        InvalidArgument
    );
}

#[test]
fn a_fault_in_a_query_string_is_named() {
    for (query, member, words) in [
        ("take=ten", "take", "expected an integer of 64 bits, found the string \"ten\""),
        ("take=", "take", "found the string \"\""),
        ("take=9223372036854775808", "take", "expected an integer"),
        ("take=1.5", "take", "expected an integer"),
        ("orderByDescending=1", "orderByDescending", "expected true or false"),
        ("order_by_descending=yes", "orderByDescending", "expected true or false"),
        ("orderBy=SIZE", "orderBy", "NUMBER_OF_ROWS"),
        ("workspace=%4", "workspace", "a % without two hexadecimal digits"),
        ("workspace=%+1", "workspace", "a % without two hexadecimal digits"),
        ("id=a,%zz", "id", "a % without two hexadecimal digits"),
        ("continuationToken=%ff", "continuationToken", "bytes that are not UTF-8"),
    ] {
        let error = from_query::<ListTablesRequest>(query).unwrap_err();
        assert_eq!(error.kind(), InvalidArgument, "{query}");
        assert_eq!(error.place(), Some(&Place::Member(member.to_owned())), "{query}: {error}");
        assert!(error.message().contains(words), "{query}: {error}");
    }
    assert_eq!(from_query::<ListTablesRequest>("%zz=1").unwrap_err().kind(), InvalidArgument);
}

/// Every member of a request that is a query string as a whole can be given in it.
#[test]
fn no_member_is_missing_from_a_query_string() {
    fn all<T: FromQuery + Serialize>(query: &str) {
        let request = serde_json::to_value(from_query::<T>(query).unwrap()).unwrap();
        let given: Vec<&str> = query.split('&').filter_map(|pair| pair.split('=').next()).collect();
        assert_eq!(request.as_object().unwrap().len(), given.len(), "{request}");
        let unset = serde_json::to_value(from_query::<T>("").unwrap()).unwrap();
        for (member, value) in request.as_object().unwrap() {
            assert_ne!(unset.get(member), Some(value), "{member} is not read from {query}");
        }
    }
    all::<ListTablesRequest>(
        "take=1&id=a&orderBy=NAME&orderByDescending=true&continuationToken=t&workspace=w",
    );
    all::<GetTableDataRequest>(
        "columns=c&orderBy=c&orderByDescending=true&take=1&continuationToken=t",
    );
    all::<GetFilesRequest>("skip=1&take=1&orderBy=id&orderByDescending=true&id=a");
    all::<GetProductsRequest>("continuationToken=t&take=1&returnCount=true");
    all::<GetResultsRequest>("continuationToken=t&take=1&returnCount=true");
    all::<GetStepsRequest>("continuationToken=t&take=1&returnCount=true");
    all::<DeleteResultQuery>("deleteSteps=false");
    all::<DeleteStepsQuery>("updateResultTotalTime=true");
    all::<QueryFeedsRequest>("platform=WINDOWS&workspace=w");
    all::<AppendArrowQuery>("endOfData=true");
    all::<AppendToUploadSessionQuery>("sessionId=s&chunk=1&close=true");
    all::<StartUploadSessionRequest>("workspace=w");
    all::<UploadPackageQuery>("overwrite=true");
}

fn encoded(text: &str, all: bool) -> String {
    text.bytes()
        .map(|byte| {
            if all || !byte.is_ascii_alphanumeric() {
                format!("%{byte:02x}")
            } else {
                char::from(byte).to_string()
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_as_a_query_string_is_read_or_refused(
        query in r"((take|id|columns|orderBy|orderByDescending|order_by|continuationToken|\PC{0,3})=?(\PC|%[0-9a-fA-F]{0,2}|,|\+|&|=){0,12}&?){0,6}"
    ) {
        fn fits<T: FromQuery>(query: &str) -> bool {
            from_query::<T>(query).map_or_else(|error| error.kind() == InvalidArgument, |_| true)
        }
        prop_assert!(fits::<ListTablesRequest>(&query));
        prop_assert!(fits::<GetTableDataRequest>(&query));
        prop_assert!(fits::<GetFilesRequest>(&query));
        prop_assert!(fits::<GetProductsRequest>(&query));
        prop_assert!(fits::<QueryFeedsRequest>(&query));
    }

    #[test]
    fn what_a_client_encodes_is_what_is_read(
        names in proptest::collection::vec(r"\PC{1,8}", 0..5),
        token in r"\PC{0,12}",
        take in any::<i64>(),
        all in any::<bool>(),
        joined in any::<bool>(),
    ) {
        let names_text: Vec<String> = names.iter().map(|name| encoded(name, all)).collect();
        let names_text = if joined { format!("columns={}", names_text.join(",")) }
            else { names_text.iter().map(|name| format!("columns={name}&")).collect() };
        let query = format!("{names_text}&take={take}&continuationToken={}", encoded(&token, all));
        let request: GetTableDataRequest = from_query(&query).unwrap();
        prop_assert_eq!(request.columns.unwrap_or_default(), names);
        prop_assert_eq!(request.take, Some(take));
        prop_assert_eq!(request.continuation_token, Some(token));
    }
}

#[test]
fn every_answer_has_the_status_of_its_outcome() {
    use stationdb::assets::*;
    use stationdb::feeds::*;
    use stationdb::products::*;
    use stationdb::results::*;
    use stationdb::specifications::*;
    use stationdb::test_plans::*;
    use stationdb::work_items::*;

    assert_eq!(().status(), 204);
    assert_eq!(None::<DeleteProductsPartialSuccess>.status(), 204);
    assert_eq!(Some(DeleteProductsPartialSuccess::default()).status(), 200);
    assert_eq!(Vec::<String>::new().status(), 200);
    assert_eq!((Feed::default().status(), Created(Feed::default()).status()), (200, 201));
    assert_eq!(
        (CreateTableResponse::default().status(), UploadFileResponse::default().status()),
        (201, 201)
    );
    macro_rules! batches {
        ($($answer:ty),*) => {
            $(
                assert_eq!(<$answer>::default().status(), 201, stringify!($answer));
                // Also where nothing succeeded: the call has not failed.
                let failed = <$answer>::from(Failed(ApiError::default()));
                assert_eq!(failed.status(), 200, stringify!($answer));
            )*
        };
    }
    struct Failed(ApiError);
    macro_rules! failed {
        ($($answer:ty),*) => {
            $(impl From<Failed> for $answer {
                fn from(failed: Failed) -> Self {
                    let mut answer = Self::default();
                    answer.error = Some(failed.0);
                    answer
                }
            })*
            batches!($($answer),*);
        };
    }
    failed!(
        CreateProductsPartialSuccess,
        CreateResultsPartialSuccess,
        CreateStepsPartialSuccess,
        CreateSpecificationsPartialSuccess,
        CreateAssetsPartialSuccess,
        CreateWorkItemsPartialSuccessResponse,
        CreateWorkItemTemplatesPartialSuccessResponse,
        CreateTestPlansPartialSuccessResponse,
        CreateTestPlanTemplatePartialSuccessResponse
    );
    assert_eq!(UpdateProductsPartialSuccess::default().status(), 200);
    assert_eq!(DeleteAssetsResponse::default().status(), 200);
    let triggered =
        stationdb::lab::ExecutionResult::Job(stationdb::lab::JobExecutionResult::default());
    let triggered = stationdb::lab::ExecuteWorkItemResponse::new().result(triggered);
    assert_eq!(Answer::status(&triggered), 202);
    let refused = stationdb::lab::ExecuteWorkItemResponse::from(Error::not_found("work item", "1"));
    assert_eq!(Answer::status(&refused), 404);
    for (kind, status) in [
        (ErrorKind::InvalidArgument, 400),
        (ErrorKind::PermissionDenied, 403),
        (ErrorKind::NotFound, 404),
        (ErrorKind::Conflict, 409),
        (ErrorKind::Cancelled, 499),
        (ErrorKind::Io, 500),
        (ErrorKind::Unsupported, 501),
        (ErrorKind::NoSpace, 503),
        (ErrorKind::DeadlineExceeded, 504),
        (ErrorKind::PartialFailure, 200),
    ] {
        assert_eq!(Error::new(kind, "").status(), status, "{kind:?}");
    }
}
