//! Compares `filter::tests::schemas` with the declarations, and the declarations with the cases of
//! the corpus.

use crate::store::tests::prelude::*;

use super::Opened;
use super::kinds::{KINDS, filtering};
use crate::filter::tests::corpus::files;
use crate::filter::tests::schemas;
use crate::filter::tests::uses::{Use, uses};
use crate::filter::{Filter, Schema};

const RENAMES: &[(&str, &str)] = &[("IsAcmeAsset", "isVendorAsset")];

fn compiled(fields: &[FieldDecl], text: &str, values: &[Value]) -> crate::Result<Option<Filter>> {
    let renames: Vec<(String, &'static str)> =
        RENAMES.iter().map(|(name, path)| ((*name).to_owned(), *path)).collect();
    let has_vendor = fields.iter().any(|decl| decl.path == "isVendorAsset");
    let schema = Schema {
        fields,
        renames: if has_vendor { &renames } else { &[] },
        accept_substitutions: true,
        accept_brackets: true,
        ..Schema::default()
    };
    compile(
        Some(text),
        values,
        &schema,
        &Times::new(time::parse("2024-05-15T12:00:00Z").unwrap(), None),
    )
}

fn names(decl: &FieldDecl) -> Vec<&'static str> {
    std::iter::once(decl.path).chain(decl.aliases.iter().copied()).collect()
}

/// The difference between a declaration and the entry of `schemas`, if any.
fn difference(listed: &FieldDecl, declared: &FieldDecl) -> Option<String> {
    if listed.ops != declared.ops {
        return Some(format!("{:?} instead of {:?}", declared.ops, listed.ops));
    }
    match (listed.ty, declared.ty) {
        (FieldType::Enum(listed), FieldType::Enum(declared)) => {
            let stands_for = |text: &str| {
                let same = |other: &&str| *other == text;
                let found =
                    declared.iter().find(|(name, others)| same(name) || others.iter().any(same));
                found.map(|(name, _)| *name)
            };
            let missing = listed.iter().flat_map(|(name, others)| {
                let canonical = stands_for(name);
                std::iter::once(*name)
                    .chain(others.iter().copied())
                    .filter(move |text| canonical.is_none() || stands_for(text) != canonical)
            });
            let missing: Vec<&str> = missing.collect();
            (!missing.is_empty()).then(|| format!("the values {missing:?}"))
        }
        (FieldType::Rows(listed), FieldType::Rows(declared)) => {
            let has = |decl: &&FieldDecl| {
                declared.iter().any(|other| other.path.eq_ignore_ascii_case(decl.path))
            };
            let missing: Vec<&str> =
                listed.iter().filter(|decl| !has(decl)).map(|decl| decl.path).collect();
            (!missing.is_empty()).then(|| format!("the members {missing:?}"))
        }
        (listed, declared) => (std::mem::discriminant(&listed)
            != std::mem::discriminant(&declared))
        .then(|| format!("{declared:?} instead of {listed:?}")),
    }
}

#[test]
fn what_the_reference_lists_is_declared() {
    let mut faults = Vec::new();
    for kind in &KINDS {
        let declared = (kind.fields)();
        for listed in schemas::fields(kind.name) {
            for name in names(&listed) {
                let found = declared
                    .iter()
                    .find(|decl| names(decl).iter().any(|other| other.eq_ignore_ascii_case(name)));
                match found {
                    None => faults.push(format!("{}: {name} is not declared", kind.name)),
                    Some(decl) => {
                        faults.extend(
                            difference(&listed, decl)
                                .map(|what| format!("{}: {name}: {what}", kind.name)),
                        );
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The operators for which a field must have cases. For lists of records, also those of the
/// members.
fn wanted(decl: &FieldDecl) -> Vec<(Option<usize>, &'static str)> {
    let operators: &[&'static str] = match (decl.ops, decl.ty) {
        (Ops::None, _) => &[],
        (Ops::Equality, _) => &["=", "!=", "in", "refused"],
        (Ops::All, FieldType::Object) => &["null"],
        (
            Ops::All,
            FieldType::String
            | FieldType::WorkspaceName
            | FieldType::ProductName
            | FieldType::DecimalId
            | FieldType::Reference,
        ) => &["=", "!=", "<", "<=", ">", ">=", "contains", "starts", "ends", "in", "null"],
        (Ops::All, FieldType::Enum(_)) => &["=", "!=", "in"],
        (Ops::All, FieldType::Bool) => &["=", "!=", "truth"],
        (Ops::All, FieldType::Int | FieldType::Double | FieldType::Time) => {
            &["=", "!=", "<", "<=", ">", ">=", "null"]
        }
        (Ops::All, FieldType::Within) => &["=", "!=", "<", "<=", ">", ">="],
        (Ops::All, FieldType::Strings) => &["holds", "any", "count"],
        (Ops::All, FieldType::Map) => &["entry", "key", "any"],
        (Ops::All, FieldType::Maps | FieldType::Rows(_)) => &["any", "count"],
        (Ops::All, FieldType::Json) => &["=", "!=", "<", "<=", ">", ">=", "contains", "null"],
    };
    let mut wanted: Vec<(Option<usize>, &'static str)> =
        operators.iter().map(|operator| (None, *operator)).collect();
    if let FieldType::Rows(members) = decl.ty {
        wanted.extend((0..members.len()).map(|member| (Some(member), "=")));
    }
    wanted
}

#[test]
fn every_declared_property_and_operator_has_a_case() {
    let mut missing = Vec::new();
    for kind in &KINDS {
        let fields = (kind.fields)();
        let mut found: BTreeSet<Use> = BTreeSet::new();
        for (_, file) in files().into_iter().filter(|(_, file)| file.kind == kind.name) {
            for case in &file.case {
                if case.error.as_deref() == Some("operator_not_allowed") {
                    let text = case.filter.to_lowercase();
                    let named = |decl: &&FieldDecl| {
                        names(decl).iter().any(|name| text.contains(&name.to_lowercase()))
                    };
                    let at =
                        |decl: &FieldDecl| fields.iter().position(|other| other.path == decl.path);
                    found.extend(
                        fields.iter().filter(named).filter_map(at).map(|at| (at, None, "refused")),
                    );
                }
                if let Ok(Some(filter)) = compiled(&fields, &case.filter, &case.values()) {
                    found.extend(uses(&filter));
                }
            }
        }
        for (at, decl) in fields.iter().enumerate() {
            for (member, operator) in wanted(decl) {
                if !found.contains(&(at, member, operator)) {
                    missing.push(format!("{} {} {member:?} {operator}", kind.name, decl.path));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{} without a case:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn names_are_found_in_any_letter_case_and_internal_fields_are_not() {
    for kind in &KINDS {
        let fields = (kind.fields)();
        for decl in &fields {
            for name in names(decl) {
                for name in [name.to_owned(), name.to_uppercase(), name.to_lowercase()] {
                    let text = format!("{name} = null");
                    let result = compiled(&fields, &text, &[]);
                    if decl.ops == Ops::None {
                        let error = result.unwrap_err();
                        assert_eq!(error.args()[0], "unknown_property", "{}: {name}", kind.name);
                    } else {
                        assert!(result.is_ok(), "{}: {name}: {result:?}", kind.name);
                    }
                }
            }
        }
    }
}

#[test]
fn every_service_tells_a_faulty_filter_alike() {
    let opened = Opened::new();
    for kind in KINDS.iter().filter(|kind| kind.name != "probe") {
        let operation = filtering(kind.name).unwrap();
        let cases = [
            (
                "  nam = \"x\"",
                "StationDb.Filter.UnknownProperty",
                vec!["unknown_property", "nam"],
                2,
            ),
            ("\"ä\" = \"b\" and", "StationDb.Filter.Syntax", vec!["syntax", ""], 13),
            (
                "true and 1 = \"x",
                "StationDb.Filter.UnterminatedString",
                vec!["unterminated_string", ""],
                15,
            ),
        ];
        for (filter, name, args, at) in cases {
            let error = operation
                .ask(&opened.session, json!({ operation.filter.unwrap(): filter }))
                .unwrap_err();
            let api = error.api_error();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{}", operation.name);
            assert_eq!(api.name.as_deref(), Some(name), "{}: {filter}", operation.name);
            assert_eq!(api.args[0], args[0], "{}: {filter}", operation.name);
            assert_eq!(
                error.place(),
                Some(&crate::Place::Offset(at)),
                "{}: {filter}: {error}",
                operation.name
            );
            if args[0] == "unknown_property" {
                assert_eq!(api.args, args, "{}: {filter}", operation.name);
            }
            assert!(api.message.unwrap().contains("filter: "), "{}", operation.name);
        }
    }
}
