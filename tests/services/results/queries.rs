//! Filters, orders, pages, values and CSV.

use super::*;

/// Results of three programs and three part numbers; P-2 has a product with a name.
fn filled() -> TestStore {
    let store = TestStore::new();
    let session = store.session();
    let product = |number: &str, name: &str, family: &str| {
        CreateProductRequest::new(number).name(name).family(family)
    };
    let products = vec![product("P-1", "Zeta", "Analog"), product("P-2", "Alpha", "Digital")];
    session.create_products(products).unwrap().require_all().unwrap();
    let lot = |lot: &str| [("lot".to_owned(), lot.to_owned())];
    let requests = vec![
        gain("P-1", "a").properties(lot("10")).keywords(["night"]).total_time_in_seconds(2.0),
        gain("P-2", "b").properties(lot("9")).status(StatusType::Failed).operator("ada"),
        gain("P-3", "c").program_name("Noise").host_name("pc-7").system_id("bench"),
        gain("P-1", "d")
            .properties(lot("x"))
            .status(Status::new(StatusType::Custom).status_name("Odd")),
        gain("", "e")
            .maybe_part_number(None)
            .file_ids(["f"])
            .data_table_ids(["t"])
            .workspace("lab"),
        read(
            &json!({"programName": "Gain", "status": {"statusType": "TIMED_OUT"}, "partNumber": "P-2",
            "serialNumber": "f", "properties": {"lot": null}, "startedAt": "2024-02-01T00:00:00Z"}),
        ),
    ];
    create(&session, requests);
    store
}

#[test]
fn every_property_of_a_filter_finds_its_results() {
    let store = filled();
    let session = store.session();
    for (filter, expected) in [
        ("", "a b c d e f"),
        (r#"programName == "Noise""#, "c"),
        (r#"partNumber == "P-1" & serialNumber="a""#, "a"),
        (r#"hostName == "pc-7" && systemId == "bench""#, "c"),
        (r#"operator = "ada""#, "b"),
        ("operator == null", "a c d e f"),
        (r#"status.statusType == "TimedOut" || status.statusType == "CUSTOM""#, "d f"),
        (r#"status.statusName == "Odd""#, "d"),
        (r#"status.statusType != "PASSED" && partNumber == "P-2""#, "b f"),
        (r#"startedAt < "2024-02-15""#, "f"),
        (r#"startedWithin <= "1.00:00:00""#, "a b c d e"),
        (r#"updatedWithin <= "0:0:0""#, "a b c d e f"),
        ("totalTimeInSeconds > 1", "a"),
        ("totalTimeInSeconds = \"2\"", "a"),
        (r#"keywords.Contains("night")"#, "a"),
        (r#"fileIds.Contains("f")"#, "e"),
        (r#"dataTableIds.Any(it == "t")"#, "e"),
        (r#"properties["lot"] == "9""#, "b"),
        (r#"properties.lot == "9""#, "b"),
        (r#"properties.Any(key == "lot" && value == "10")"#, "a"),
        // A null value is there for ContainsKey, and it is null.
        (r#"properties.ContainsKey("lot")"#, "a b d f"),
        (r#"properties["lot"] == null"#, "c e f"),
        (r#"properties.ContainsKey("lot") && properties["lot"] == null"#, "f"),
        (r#"properties.Any(key == "lot" && value == null)"#, "f"),
        ("properties.Count > 0", "a b d f"),
        (r#"SafeConvert.ToDecimal(properties["lot"]) > 9.5"#, "a"),
        (r#"workspace == "lab""#, "e"),
        (r#"workspaceId == "lab""#, "e"),
        (r#"workspaceName == "lab""#, "e"),
        (r#"productName == "Alpha""#, "b f"),
        (r#"productName.StartsWith("Z") || serialNumber == "c""#, "a c d"),
        ("productName == null", "c e"),
        (r#"search("noise")"#, "c"),
        (r#"search("night")"#, "a"),
    ] {
        let query = QueryResultsRequest::new().filter(filter).return_count(true);
        let count = session.query_results(query.clone()).unwrap().total_count;
        assert_eq!(serials(&session, query.clone()), expected, "{filter}");
        assert_eq!(count, Some(expected.split_whitespace().count() as u64), "{filter}");
        session.explain_query_results(query).unwrap();
    }
    for wrong in ["step == 1", r#"status.statusType == "GOOD""#, "keywords == \"a\"", "nonsense =="]
    {
        let error = session.query_results(QueryResultsRequest::new().filter(wrong)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
    }
}

#[test]
fn a_product_filter_keeps_the_results_of_matching_products() {
    let store = filled();
    let session = store.session();
    let of = |filter: &str| QueryResultsRequest::new().product_filter(filter).return_count(true);
    assert_eq!(serials(&session, of(r#"family == "Analog""#)), "a d");
    assert_eq!(serials(&session, of("family != null")), "a b d f");
    // The products that the creations made match too; a result without a part number never does.
    assert_eq!(serials(&session, of("family == null")), "c");
    assert_eq!(serials(&session, of("name == \"none\"")), "");
    assert_eq!(serials(&session, of(" ")), "a b c d e f");
    let both = of("family == @0").product_substitutions(["Digital"]).filter("operator == @0");
    assert_eq!(serials(&session, both.substitutions(["ada"])), "b");
    assert_eq!(
        session.query_results(of("family == \"Analog\"").take(0)).unwrap().total_count,
        Some(2)
    );
    let error = session.query_results(of("nonsense ==")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().starts_with("productFilter: "), "{error}");
    // A token belongs to its product filter, and not to the products that match at the time.
    let first = session.query_results(of("family != null").take(1)).unwrap();
    let token = first.continuation_token.unwrap();
    let more = CreateProductRequest::new("P-9").family("Analog");
    session.create_products(vec![more]).unwrap().require_all().unwrap();
    let rest = of("family != null").take(10).continuation_token(token.clone());
    assert_eq!(serials(&session, rest), "b d f");
    let other = of("family == null").continuation_token(token);
    assert_eq!(session.query_results(other).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn results_come_in_every_order_and_in_pages_of_it() {
    let store = filled();
    let session = store.session();
    let by = |order| QueryResultsRequest::new().order_by(order);
    let lot = || by(ResultOrderBy::Properties).order_by_key("lot");
    let numeric = || lot().order_by_comparison_type(OrderByComparisonType::Numeric);
    let text = OrderByComparisonType::Lexicographic;
    for (query, expected) in [
        (by(ResultOrderBy::Id), "a b c d e f"),
        (by(ResultOrderBy::Id).descending(true), "f e d c b a"),
        (by(ResultOrderBy::StartedAt), "f a b c d e"),
        (by(ResultOrderBy::ProgramName), "a b d e f c"),
        (by(ResultOrderBy::HostName).descending(true), "c f e d b a"),
        (by(ResultOrderBy::PartNumber), "e a d b f c"),
        (by(ResultOrderBy::TotalTimeInSeconds).descending(true), "a f e d c b"),
        (by(ResultOrderBy::SerialNumber), "a b c d e f"),
        // Results without the property, and with null, come first.
        (lot(), "c e f a b d"),
        (lot().order_by_comparison_type(text), "c e f a b d"),
        (lot().descending(true), "d b a f e c"),
        // Text that is no number comes first too.
        (numeric(), "c d e f b a"),
        (numeric().descending(true), "a b f e d c"),
        (by(ResultOrderBy::Properties).order_by_key("other"), "a b c d e f"),
        // By the name of the product.
        (by(ResultOrderBy::Product), "c e b f a d"),
        (by(ResultOrderBy::Product).descending(true), "d a f b e c"),
    ] {
        assert_eq!(serials(&session, query.clone()), expected, "{query:?}");
        let mut paged: Vec<String> = Vec::new();
        let mut at = query.clone().take(1);
        loop {
            let page = session.query_results(at.clone()).unwrap();
            paged.extend(page.results.into_iter().filter_map(|result| result.serial_number));
            let Some(token) = page.continuation_token else { break };
            at = at.continuation_token(token);
        }
        assert_eq!(paged.join(" "), expected, "{query:?} in pages");
        let found: Vec<TestResult> = session.results(query.take(4)).map(Result::unwrap).collect();
        assert_eq!(found.len(), 6);
    }
    let member = |query: QueryResultsRequest| {
        let error = session.query_results(query).unwrap_err();
        (error.kind(), error.place().cloned())
    };
    let at = |name: &str| Some(Place::Member(name.to_owned()));
    assert_eq!(
        member(by(ResultOrderBy::Properties)),
        (ErrorKind::InvalidArgument, at("orderByKey"))
    );
    assert_eq!(
        member(QueryResultsRequest::new().take(100_001)),
        (ErrorKind::LimitExceeded, at("take"))
    );
    assert_eq!(
        member(QueryResultsRequest::new().response_format(ResponseFormat::Csv)),
        (ErrorKind::InvalidArgument, at("responseFormat"))
    );
    // A token belongs to its order.
    let token = session.query_results(lot().take(1)).unwrap().continuation_token.unwrap();
    for other in [numeric(), by(ResultOrderBy::Properties).order_by_key("other")] {
        let error = session.query_results(other.continuation_token(token.clone())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn values_are_distinct_sorted_texts_without_nulls() {
    let store = filled();
    let session = store.session();
    let of = |field, filter: &str| {
        let query = QueryResultValuesRequest::new().field(field).filter(filter);
        session.query_result_values(query).unwrap().join(" ")
    };
    for filter in ["", "id != null"] {
        assert_eq!(of(ResultField::ProgramName, filter), "Gain Noise");
        assert_eq!(of(ResultField::PartNumber, filter), "P-1 P-2 P-3");
        assert_eq!(of(ResultField::Operator, filter), "ada");
        assert_eq!(of(ResultField::SystemId, filter), "bench");
        assert_eq!(of(ResultField::HostName, filter), "pc-7");
        assert_eq!(of(ResultField::SerialNumber, filter), "a b c d e f");
        assert_eq!(of(ResultField::TotalTimeInSeconds, filter), "0 2");
        assert_eq!(of(ResultField::Product, filter), "Alpha Zeta");
        assert_eq!(
            of(ResultField::StartedAt, filter),
            "2024-02-01T00:00:00.000Z 2024-03-01T00:00:00.000Z"
        );
        assert_eq!(of(ResultField::UpdatedAt, filter), "2024-03-01T00:00:00.000Z");
        assert_eq!(of(ResultField::Id, filter).split(' ').count(), 6);
    }
    assert_eq!(of(ResultField::Product, r#"serialNumber == "a""#), "Zeta");
    // -0 equals 0 in filters, and is no other value.
    let status = json!({"statusType": "PASSED"});
    let sent = json!([{"programName": "G", "status": status, "totalTimeInSeconds": -0.0}]);
    let made = create(&session, read(&sent));
    assert_eq!(of(ResultField::TotalTimeInSeconds, ""), "0 2");
    assert_eq!(of(ResultField::TotalTimeInSeconds, "totalTimeInSeconds == 0"), "0");
    let steps = json!([
        {"name": "s", "resultId": id_of(&made[0]), "totalTimeInSeconds": -0.0},
        {"name": "s", "resultId": id_of(&made[0]), "totalTimeInSeconds": 0}]);
    session.create_steps(read(&steps), false).unwrap().require_all().unwrap();
    let of_steps = QueryStepValuesRequest::new().field(StepField::TotalTimeInSeconds);
    assert_eq!(session.query_step_values(of_steps).unwrap(), ["0"]);
    let prefixed =
        QueryResultValuesRequest::new().field(ResultField::PartNumber).starts_with("P-2");
    assert_eq!(session.query_result_values(prefixed).unwrap(), ["P-2"]);
    let error = session.query_result_values(QueryResultValuesRequest::new()).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("field".to_owned())));
}

#[test]
fn csv_has_the_page_in_the_order_of_the_projection() {
    let store = filled();
    let session = store.session();
    let members = [
        ResultProjection::Properties,
        ResultProjection::SerialNumber,
        ResultProjection::Status,
        ResultProjection::Keywords,
        ResultProjection::TotalTimeInSeconds,
    ];
    let query = || QueryResultsRequest::new().projection(members);
    let page = query().filter(r#"partNumber == "P-1""#).response_format(ResponseFormat::Csv);
    assert_eq!(
        session.query_results_csv(page).unwrap(),
        "status,serialNumber,totalTimeInSeconds,keywords,properties.lot\n\
         PASSED,a,2,\"[\"\"night\"\"]\",10\n\
         Odd,d,0,[],x\n"
    );
    let none = query().filter("false");
    assert_eq!(
        session.query_results_csv(none).unwrap(),
        "status,serialNumber,totalTimeInSeconds,keywords\n"
    );
    let whole = session.query_results_csv(QueryResultsRequest::new().take(1)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("id,status,startedAt,updatedAt,programName,"), "{}", lines[0]);
    assert!(lines[0].ends_with(
        ",dataTableIds,workspace,statusTypeSummary.LOOPING,statusTypeSummary.SKIPPED,\
         statusTypeSummary.CUSTOM,statusTypeSummary.DONE,statusTypeSummary.PASSED,\
         statusTypeSummary.FAILED,statusTypeSummary.RUNNING,statusTypeSummary.WAITING,\
         statusTypeSummary.TERMINATED,statusTypeSummary.ERRORED,statusTypeSummary.TIMED_OUT,\
         properties.lot"
    ));
    // A null is nothing between the separators, an empty text is not.
    let empty = vec![gain("P-4", "").operator("")];
    create(&session, empty);
    let texts = [ResultProjection::Operator, ResultProjection::SerialNumber];
    let query = QueryResultsRequest::new().projection(texts).filter("programName != \"Noise\"");
    let query = query.order_by(ResultOrderBy::SerialNumber).descending(true);
    let mut text = Vec::new();
    assert_eq!(session.export_results(query.clone(), &mut text, &control()).unwrap(), 6);
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "operator,serialNumber\n,f\n,e\n,d\nada,b\n,a\n\"\",\"\"\n"
    );
    let cancelled = control();
    cancelled.cancel();
    let error = session.export_results(query, &mut Vec::new(), &cancelled).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn records_of_results_are_scanned_and_grouped() {
    let store = filled();
    let session = store.session();
    let request = ScanRecordsRequest::new(RecordKind::TestResult).columns([
        "serial_number",
        "status",
        "properties",
        "record",
    ]);
    let mut rows = 0;
    for batch in session.scan_records(request, &control()).unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch.num_columns(), 4);
        rows += batch.num_rows();
    }
    assert_eq!(rows, 6);
    let request = AggregateRecordsRequest::new(RecordKind::TestResult)
        .group_by([AggregateRecordsKey::new("status.statusType")]);
    let groups = session.aggregate_records(request).unwrap().groups;
    assert_eq!(groups.iter().map(|group| group.rows).sum::<i64>(), 6);
    let hits = session.search(SearchRequest::new().text("noise")).unwrap().hits;
    let kinds: Vec<&str> = hits.iter().map(|hit| hit.kind.as_str()).collect();
    assert_eq!(kinds, ["test result"]);
}
