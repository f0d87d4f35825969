//! Merging of updates and schedules into stored records, and inheritance from templates.
//!
//! An absent member keeps its value, null clears it. Arrays are appended to without duplicates and
//! maps are merged key by key, unless the request says that they are replaced. Objects are merged
//! member by member in either case.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::{
    Dashboard, DashboardPatch, ExecutionDefinition, ResourceSelectionDefinition,
    SystemResourceSelectionDefinition,
};
use crate::value::Patch;

/// Merges a list. Null removes it; an empty list under `replace` leaves an empty list.
fn list<T>(
    target: &mut Option<Vec<T>>,
    patch: Patch<Vec<T>>,
    replace: bool,
    mut add: impl FnMut(&mut Vec<T>, T),
) {
    match patch {
        Patch::Absent => {}
        Patch::Null => *target = None,
        Patch::Value(items) if replace => *target = Some(items),
        Patch::Value(items) => {
            let target = target.get_or_insert_default();
            items.into_iter().for_each(|item| add(target, item));
        }
    }
}

/// Appends the texts that are not in the list yet, or replaces the list.
pub(crate) fn strings(target: &mut Option<Vec<String>>, patch: Patch<Vec<String>>, replace: bool) {
    list(target, patch, replace, |target, item| {
        if !target.contains(&item) {
            target.push(item);
        }
    });
}

/// Appends actions, or replaces all. An action replaces a stored one of the same name.
///
/// # Errors
/// `InvalidArgument` if the request itself has two actions of one name.
pub(crate) fn actions(
    target: &mut Option<Vec<ExecutionDefinition>>,
    patch: Patch<Vec<ExecutionDefinition>>,
    replace: bool,
) -> Result<()> {
    super::checks::actions(patch.value())?;
    list(target, patch, replace, |target, item| {
        match target.iter_mut().find(|stored| stored.action() == item.action()) {
            Some(stored) => *stored = item,
            None => target.push(item),
        }
    });
    Ok(())
}

/// A reserved resource or system.
pub(crate) trait Selection: PartialEq {
    /// The id of the reserved resource or system.
    fn id(&self) -> Option<&str>;
}

impl Selection for ResourceSelectionDefinition {
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl Selection for SystemResourceSelectionDefinition {
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

/// Appends selections, or replaces all. A selection replaces a stored one with the same id.
pub(crate) fn selections<S: Selection>(
    target: &mut Option<Vec<S>>,
    patch: Patch<Vec<S>>,
    replace: bool,
) {
    list(target, patch, replace, |target, item| {
        let same = target
            .iter_mut()
            .find(|stored| **stored == item || (item.id().is_some() && stored.id() == item.id()));
        match same {
            Some(stored) => *stored = item,
            None => target.push(item),
        }
    });
}

/// Merges a map key by key, or replaces it.
pub(crate) fn map(
    target: &mut Option<BTreeMap<String, String>>,
    patch: Patch<BTreeMap<String, String>>,
    replace: bool,
) {
    match patch {
        Patch::Value(entries) if !replace => target.get_or_insert_default().extend(entries),
        patch => patch.apply(target),
    }
}

/// Merges an object member by member.
pub(crate) fn object<T: Default, P>(
    target: &mut Option<T>,
    patch: Patch<P>,
    merge: impl FnOnce(&mut T, P),
) {
    match patch {
        Patch::Absent => {}
        Patch::Null => *target = None,
        Patch::Value(patch) => merge(target.get_or_insert_default(), patch),
    }
}

/// Merges a dashboard. Its variables are merged like maps. Its URL is computed and never stored.
pub(crate) fn dashboard(
    target: &mut Option<Dashboard>,
    patch: Patch<DashboardPatch>,
    replace: bool,
) {
    object(target, patch, |target, patch| {
        patch.id.apply(&mut target.id);
        map(&mut target.variables, patch.variables, replace);
    });
}

/// The properties of a new record: those of the template, with entries of the request taking
/// precedence.
pub(crate) fn inherited_map(
    request: Option<BTreeMap<String, String>>,
    template: Option<BTreeMap<String, String>>,
) -> Option<BTreeMap<String, String>> {
    match (request, template) {
        (Some(request), Some(mut merged)) => {
            merged.extend(request);
            Some(merged)
        }
        (request, template) => request.or(template),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::lab::execution::{ManualExecution, NoneExecution};

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|&item| item.to_owned()).collect()
    }

    fn entries(items: &[(&str, &str)]) -> BTreeMap<String, String> {
        items.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn lists_append_without_repetition_or_are_replaced_and_null_clears() {
        for (patch, replace, expected) in [
            (Patch::Absent, false, Some(texts(&["a", "b"]))),
            (Patch::Absent, true, Some(texts(&["a", "b"]))),
            (Patch::Null, false, None),
            (Patch::Null, true, None),
            (Patch::Value(texts(&["b", "c", "c"])), false, Some(texts(&["a", "b", "c"]))),
            (Patch::Value(texts(&["b", "c"])), true, Some(texts(&["b", "c"]))),
            (Patch::Value(vec![]), false, Some(texts(&["a", "b"]))),
            (Patch::Value(vec![]), true, Some(vec![])),
        ] {
            let mut target = Some(texts(&["a", "b"]));
            strings(&mut target, patch.clone(), replace);
            assert_eq!(target, expected, "{patch:?} {replace}");
        }
        let mut none = None;
        strings(&mut none, Patch::Value(texts(&["a"])), false);
        assert_eq!(none, Some(texts(&["a"])));
    }

    #[test]
    fn actions_and_selections_of_the_same_key_take_the_place_of_the_stored_ones() {
        let manual = |action: &str| ExecutionDefinition::from(ManualExecution::new(action));
        let none = |action: &str| ExecutionDefinition::from(NoneExecution::new(action));
        let mut target = Some(vec![manual("A"), manual("B")]);
        actions(&mut target, Patch::Value(vec![none("A"), none("C")]), false).unwrap();
        assert_eq!(target, Some(vec![none("A"), manual("B"), none("C")]));
        assert!(actions(&mut target, Patch::Value(vec![none("D"), manual("D")]), false).is_err());
        actions(&mut target, Patch::Value(vec![]), true).unwrap();
        assert_eq!(target, Some(vec![]));

        let selection = |id: Option<&str>, location: &str| SystemResourceSelectionDefinition {
            id: id.map(str::to_owned),
            target_location_id: Some(location.to_owned()),
        };
        let mut target = Some(vec![selection(Some("s1"), "here"), selection(None, "x")]);
        let more = vec![selection(Some("s1"), "there"), selection(None, "x"), selection(None, "y")];
        selections(&mut target, Patch::Value(more), false);
        let expected =
            vec![selection(Some("s1"), "there"), selection(None, "x"), selection(None, "y")];
        assert_eq!(target, Some(expected));
    }

    #[test]
    fn maps_merge_or_are_replaced() {
        for (patch, replace, expected) in [
            (
                Patch::Value(entries(&[("b", "3"), ("c", "4")])),
                false,
                Some(entries(&[("a", "1"), ("b", "3"), ("c", "4")])),
            ),
            (Patch::Value(entries(&[("b", "3")])), true, Some(entries(&[("b", "3")]))),
            (Patch::Null, false, None),
            (Patch::Absent, true, Some(entries(&[("a", "1"), ("b", "2")]))),
        ] {
            let mut target = Some(entries(&[("a", "1"), ("b", "2")]));
            map(&mut target, patch, replace);
            assert_eq!(target, expected);
        }
    }

    #[test]
    fn dashboards_merge_member_by_member_and_never_keep_an_address() {
        let mut target = Some(Dashboard {
            id: Some("d".into()),
            variables: Some(entries(&[("a", "1")])),
            url: None,
        });
        let patch = DashboardPatch {
            variables: Patch::Value(entries(&[("b", "2")])),
            url: Patch::Value("x".into()),
            ..DashboardPatch::default()
        };
        dashboard(&mut target, Patch::Value(patch), false);
        let expected = Dashboard {
            id: Some("d".into()),
            variables: Some(entries(&[("a", "1"), ("b", "2")])),
            url: None,
        };
        assert_eq!(target, Some(expected));
        dashboard(&mut target, Patch::Null, false);
        assert_eq!(target, None);
    }

    #[test]
    fn templates_pass_on_what_the_request_does_not_say() {
        let template = entries(&[("a", "1")]);
        assert_eq!(inherited_map(None, Some(template.clone())), Some(template));
        let merged =
            inherited_map(Some(entries(&[("a", "9")])), Some(entries(&[("a", "1"), ("b", "2")])));
        assert_eq!(merged, Some(entries(&[("a", "9"), ("b", "2")])));
        assert_eq!(inherited_map(None, None), None);
    }
}
