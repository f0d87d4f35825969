//! The bounds of a filter: one below, at, and one above.

use super::*;
use crate::error::ErrorKind;
use crate::value::Work;
use crate::value::limits::holds_at;

#[test]
fn every_bound_of_a_filter_holds() {
    let refused = ErrorKind::InvalidArgument;
    holds_at(limits::FILTER_BYTES, refused, |bytes| {
        work_item(&format!("{}true", " ".repeat(bytes - 4)), &[])
    });
    holds_at(limits::FILTER_DEPTH, refused, |depth| {
        work_item(&format!("{}true{}", "(".repeat(depth), ")".repeat(depth)), &[])
    });
    // Each operand is a node, and their chain is one more.
    holds_at(limits::FILTER_NODES, refused, |nodes| {
        work_item(&vec!["true"; nodes - 1].join("|"), &[])
    });
    holds_at(limits::FILTER_LIST, refused, |elements| {
        work_item(&format!("name in ({})", vec!["\"a\""; elements].join(",")), &[])
    });
    holds_at(limits::FILTER_SUBSTITUTED_BYTES, refused, |bytes| {
        // Two texts, each of which occurs twice.
        let (short, long) = ("a".repeat(10), "b".repeat(bytes / 2 - 10));
        let odd = "c".repeat(bytes % 2);
        work_item(
            "name = @0 or type = @0 or name = @1 or type = @1 or name = @2",
            &[json!(short), json!(long), json!(odd)],
        )
    });
    holds_at(limits::FILTER_SUBSTITUTIONS, refused, |values| {
        work_item("name = @0", &vec![json!("a"); values])
    });
}

/// The steps that a filter takes on a record.
fn steps(text: &str, record: &serde_json::Value) -> (bool, u64) {
    let filter = work_item(text, &[]).unwrap();
    let row = JsonRow::new(&schemas::fields("workItem"), &schemas::sources("workItem"), record);
    let work = Work::new(&|| Ok(()));
    let is_match = filter.matches_with(&row, &|_| false, &work);
    let spent = work.spent();
    work.finish().unwrap();
    (is_match, spent)
}

#[test]
fn filters_that_somebody_might_write_stay_far_below_the_work_of_one_record() {
    let join = |count: usize, by: &str, one: &dyn Fn(usize) -> String| {
        (0..count).map(one).collect::<Vec<_>>().join(by)
    };
    let properties: serde_json::Map<String, serde_json::Value> =
        (0..1_000).map(|at| (format!("key {at}"), json!(format!("value {at}")))).collect();
    let record = json!({
        "name": "a", "type": "t", "description": "lorem ipsum ".repeat(10_000), "properties": properties,
        "fileIdsFromTemplate": (0..1_000).map(|at| at.to_string()).collect::<Vec<_>>(),
    });
    let mut most = 0;
    for (name, text) in [
        (
            "10,000 names in one list",
            format!("name in ({})", join(10_000, ",", &|at| format!("\"n{at}\""))),
        ),
        (
            "1,000 words in 120 KB",
            join(1_000, " or ", &|at| format!("description.Contains(\"w{at}\")")),
        ),
        (
            "50 folded words",
            join(50, " or ", &|at| format!("description.ToLower().Contains(\"w{at}\")")),
        ),
        (
            "200 questions to 1,000 properties",
            join(200, " or ", &|at| {
                format!("properties.Any(key = \"k{at}\" and value.Contains(\"no\"))")
            }),
        ),
        (
            "two lists of 1,000 in one another",
            "fileIdsFromTemplate.Any(a => fileIdsFromTemplate.Any(b => a = b + \"x\"))".to_owned(),
        ),
        ("2,000 operators", join(2_000, " and ", &|at| format!("name != \"{at}\""))),
    ] {
        let started = std::time::Instant::now();
        let (_, spent) = steps(&text, &record);
        println!("{name}: {spent} steps in {:?}", started.elapsed());
        most = most.max(spent);
    }
    assert!(most > 0 && most < limits::FILTER_WORK / 10, "{most}");
}

#[test]
fn whatever_a_filter_loops_over_counts() {
    let words: Vec<String> = (0..2_000).map(|at| at.to_string()).collect();
    let long = "ab".repeat(64_000);
    let record = json!({
        "name": long, "description": long, "fileIdsFromTemplate": words,
        "properties": words.iter().map(|word| (word.clone(), json!(long))).take(20).collect::<serde_json::Map<_, _>>(),
        "resources": {"assets": {"selections": words.iter().map(|id| json!({"id": id})).collect::<Vec<_>>()}},
    });
    // Minimum steps: 2,000 for each list, 2,000 for a text that is searched, 16,000 for one that is
    // converted.
    for (text, least) in [
        ("fileIdsFromTemplate.Any(x => x = \"no\")", 2_000),
        ("fileIdsFromTemplate.All(x => x != \"no\")", 2_000),
        ("fileIdsFromTemplate.Contains(\"no\")", 2_000),
        ("fileIdsFromTemplate.Count(x => x = \"no\") = 1", 2_000),
        ("fileIdsFromTemplate[1999] = \"no\"", 1_999),
        ("resources.assets.selections.Any(s => s.id = \"no\")", 2_000),
        ("resources.assets.selections.Count() = 7", 2_000),
        ("properties.Any(value.Contains(\"no\"))", 20 * 2_000),
        ("name.Contains(\"no\")", 2_000),
        ("name.Contains(description)", 2_000),
        ("name.StartsWith(description)", 2_000),
        ("name.EndsWith(description)", 2_000),
        ("name = description", 2_000),
        ("name > description", 2_000),
        ("name in (\"a\", \"b\", \"c\")", 2_000),
        ("name.IndexOf(\"no\") = 7", 2_000),
        ("name.Length = 7", 2_000),
        ("name.Trim() = \"no\"", 2_000),
        ("(name + description) = \"no\"", 4_000),
        ("name.ToLower() = \"no\"", 16_000),
        ("name.ToUpper().Contains(\"no\")", 16_000),
        ("name.Substring(5) = \"no\"", 16_000),
        ("SafeConvert.ToDecimal(name) = 7", 16_000),
        ("DateTime(name) > \"2024-01-01\"", 16_000),
        ("new[]{name, description}.Any(x => x.Contains(\"no\"))", 4_000),
    ] {
        let (_, spent) = steps(text, &record);
        assert!(
            (least..4 * least).contains(&spent),
            "{text} counts {spent} steps, not about {least}"
        );
    }
    // Each part counts, also if it is short or null.
    let text = format!("(type{}) = \"no\"", " + substate".repeat(2_000));
    let (_, spent) = steps(&text, &record);
    assert!((2_000..6_000).contains(&spent), "2,000 parts count {spent} steps");
}

#[test]
fn lists_of_maps_and_json_values_count() {
    let long = "ab".repeat(64_000);
    let maps: Vec<_> = (0..2_000).map(|at| json!({"name": at.to_string()})).collect();
    let inputs: Vec<_> = (0..2_000).map(|at| json!({"name": "a", "value": at})).collect();
    let row = probe_row(&json!({"data": {"parameters": maps}, "inputs": inputs, "json": long}));
    for (text, least) in [
        ("data.parameters.Any(name = \"no\")", 2_000),
        ("data.parameters.All(it[\"name\"] != \"no\")", 2_000),
        ("data.parameters.Count(it.Any()) = 7", 2_000),
        ("data.parameters.name = \"no\"", 2_000),
        ("data.parameters[1999].name = \"no\"", 2_000),
        ("data.parameters.Any(it.Any(value = \"no\"))", 4_000),
        ("inputs.Any(value = \"no\")", 2_000),
        ("inputs.Any(value = -1)", 2_000),
        ("json.Contains(\"no\")", 2_000),
        ("json.ToLower() = \"no\"", 16_000),
    ] {
        let filter = probe(text, &[]);
        let work = Work::new(&|| Ok(()));
        let _ = filter.matches_with(&row, &|_| false, &work);
        let spent = work.spent();
        work.finish().unwrap();
        assert!(
            (least..4 * least).contains(&spent),
            "{text} counts {spent} steps, not about {least}"
        );
    }
    let text = "data.parameters.Any(a => ~.data.parameters.Any(b => ~.data.parameters.Any(c => \
                a.name + b.name + c.name = \"no\")))";
    let work = Work::with_limit(100_000, &|| Ok(()));
    let _ = probe(text, &[]).matches_with(&row, &|_| false, &work);
    assert_eq!(work.finish().unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn an_evaluation_that_was_stopped_ends_at_once() {
    let words: Vec<String> = (0..1_000).map(|at| at.to_string()).collect();
    let row = JsonRow::new(
        &schemas::fields("workItem"),
        &schemas::sources("workItem"),
        &json!({"name": "a", "fileIdsFromTemplate": words}),
    );
    for text in [
        "fileIdsFromTemplate.Any(a => fileIdsFromTemplate.Any(b => fileIdsFromTemplate.Any(c => a + b + c = \"no\")))",
        "fileIdsFromTemplate.All(a => fileIdsFromTemplate.Count(b => fileIdsFromTemplate.Any(c => a + b = c)) = 7)",
        "not fileIdsFromTemplate.All(a => not fileIdsFromTemplate.Any(b => fileIdsFromTemplate.Count(c => c > b) = 7777))",
    ] {
        let filter = work_item(text, &[]).unwrap();
        let started = std::time::Instant::now();
        let work = Work::with_limit(100_000, &|| Ok(()));
        let _ = filter.matches_with(&row, &|_| false, &work);
        assert_eq!(work.finish().unwrap_err().kind(), ErrorKind::LimitExceeded, "{text}");
        assert!(
            started.elapsed() < std::time::Duration::from_secs(5),
            "{text}: {:?}",
            started.elapsed()
        );
    }
}
