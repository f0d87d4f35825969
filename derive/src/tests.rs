use syn::DeriveInput;

/// The code that the derive generates for a declaration, or the errors that it reports.
fn derive(attributes: &str, members: &str) -> Result<String, Vec<String>> {
    let text = format!("{attributes}\npub struct Fixture {{ {members} }}");
    let input: DeriveInput = syn::parse_str(&text).unwrap();
    let made = crate::resource::derive(&input).map(|made| made.to_string());
    made.map_err(|error| error.into_iter().map(|error| error.to_string()).collect())
}

const RESOURCE: &str =
    r#"#[resource(kind = 1, name = "fixture", service(ASSETS), id(Guid), title(name))]"#;
const MEMBERS: &str = "/// Id.\n pub id: Option<String>, /// Name.\n pub name: Option<String>, \
    /// Where.\n pub place: Option<Place>, /// When.\n pub made_at: Option<DateTime<Utc>>, /// Count.\n pub count: i64,";

#[test]
fn faults_of_a_declaration_are_reported() {
    for (attributes, expected) in [
        (r#"#[resource(name = "fixture")]"#, "#[resource(…)] needs `kind = 14`"),
        (
            r#"#[resource(kind = 300, name = "fixture", service(ASSETS), id(Guid))]"#,
            "number too large to fit in target type",
        ),
        ("#[fields(name)] #[index(1, nmae)]", "`nmae` is not one of #[fields]"),
        ("#[fields(name)] #[order(By(count))]", "`count` is not one of #[fields]"),
        ("#[fields(name, id, name)]", "the field `name` is listed twice"),
        (
            "#[fields(place(hidden, minion_id))]",
            "this option applies to one field, but the brackets contain several; write them separately",
        ),
        ("#[text(name)]", "a text field needs a weight: `name = 2.0`"),
        ("#[projection(One(id))] #[projection(Two(name))]", "a resource has one projection"),
        (
            "#[request(Create(name))]",
            "`Create = \"…\"` is missing; it is the documentation of the request",
        ),
        (
            "#[request(Create = \"A.\")] #[request(Create(count))]",
            "a member that is not optional needs a type: `name(Type)`",
        ),
        (
            "#[request(Create = \"A.\")] #[request(Create(other(\"B.\")))]",
            "the record has no member `other`; it needs a type",
        ),
        (
            "#[request(Create = \"A.\")] #[request(Create(other(u8)))]",
            "a member that the record does not have needs a documentation text",
        ),
    ] {
        let attributes = if attributes.starts_with("#[resource") {
            attributes.to_owned()
        } else {
            format!("{RESOURCE} {attributes}")
        };
        assert_eq!(derive(&attributes, MEMBERS), Err(vec![expected.to_owned()]), "{attributes}");
    }
}

#[test]
fn names_follow_from_the_members() {
    let made = derive(
        &format!(
            "{RESOURCE} #[fields(id, made_at, place(slot_number))] #[index(7, unique(made_at, place(slot_number)))] \
             #[projection(Part(made_at, place(slot_number), count = \"NUMBER\"))]"
        ),
        MEMBERS,
    )
    .unwrap();
    for expected in [
        "BY_MADE_AT_PLACE_SLOT_NUMBER : u8 = 7u8",
        "\"place.slotNumber\"",
        "PlaceSlotNumber = \"PLACE_SLOT_NUMBER\"",
        "Number = \"NUMBER\"",
        "with = \"crate::value::time::opt\"",
    ] {
        assert!(made.contains(expected), "{expected} is not in {made}");
    }
}

/// As [`derive`], for a struct that is no resource.
fn record(attributes: &str, members: &str) -> Result<String, String> {
    let text = format!("#[wire] {attributes}\npub struct Answer {{ {members} }}");
    let input: DeriveInput = syn::parse_str(&text).unwrap();
    let made = crate::record::derive(&input).map(|made| made.to_string());
    made.map_err(|error| error.to_string())
}

#[test]
fn answers_follow_from_their_members() {
    let lists = "pub done: Option<Vec<Thing>>, pub failed: Option<Vec<String>>,";
    let batch = record("#[answer(batch)]", &format!("{lists} pub error: Option<ApiError>,"));
    assert!(batch.unwrap().contains("From < crate :: model :: answer :: Outcome < Thing , String"));
    let fault = "the answer of a batch has two lists, and then its `error`";
    assert_eq!(record("#[answer(batch)]", lists), Err(fault.to_owned()));
    let page = record("#[answer(page)]", "pub things: Vec<Thing>, pub total_count: Option<u64>,");
    assert!(page.unwrap().contains("total_count : page . total_count"));
    assert_eq!(
        record("#[answer(page)]", "pub total_count: Option<u64>,"),
        Err("a page has a list of records".to_owned())
    );
}

#[test]
fn queries_have_the_members_that_they_are_declared_with() {
    let members = "pub filter: Option<String>, pub order_by: Option<By>, pub return_count: bool,";
    let made = record("#[queries(Thing)]", members).unwrap();
    for expected in [
        "filter : self . filter . as_deref ()",
        "first_order : < By as",
        "return_count : self . return_count ,",
        "type Member = ()",
    ] {
        assert!(made.contains(expected), "{expected} is not in {made}");
    }
    assert!(!made.contains("continuation_token : self"), "{made}");
}
