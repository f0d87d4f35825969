//! The steps of one result, compared with a plain list.

use std::collections::{BTreeMap, BTreeSet};

use super::set::{LEVELS, NewStep, StepSet};
use crate::error::ErrorKind;
use crate::model::steps::stored::{StoredStep, generated_id};
use crate::value::{IdForm, RecordKey};

fn result() -> RecordKey {
    RecordKey::from_bytes(IdForm::Guid, &[7; 16]).unwrap()
}

fn new(id: &str, parent: Option<&str>) -> NewStep {
    let step = StoredStep {
        step_id: Some(id.to_owned()).filter(|id| !id.is_empty()),
        parent_id: parent.map(str::to_owned),
        name: format!("name of {id}"),
        ..Default::default()
    };
    NewStep { step, children: Vec::new() }
}

fn ids(set: &StepSet) -> Vec<String> {
    set.steps().map(|step| step.id(result())).collect()
}

fn at<'s>(set: &'s StepSet, id: &str) -> &'s StoredStep {
    set.find(id).and_then(|at| set.get(at)).unwrap()
}

#[test]
fn children_come_after_their_parents_with_paths_and_ancestors() {
    let mut set = StepSet::empty(result(), 0);
    let mut tree = new("a", None);
    tree.children.push(new("b", None));
    tree.children.push(new("", Some("a")));
    tree.children[0].children.push(new("c", None));
    let made = set.create(tree).unwrap();
    let made: Vec<String> = made.into_iter().map(|at| set.get(at).unwrap().id(result())).collect();
    let generated = generated_id(result(), 3);
    assert_eq!(made, ["a", "b", "c", &generated]);
    assert_eq!(at(&set, "c").path, "name of a\nname of b\nname of c");
    assert_eq!(at(&set, "c").ancestor_ids, ["a", "b"]);
    assert_eq!(at(&set, &generated).parent_id.as_deref(), Some("a"));
    let has_children: Vec<bool> = set.steps().map(|step| step.has_children).collect();
    assert_eq!(has_children, [true, true, false, false]);
    assert_eq!(set.next_seq(), 4);
}

#[test]
fn an_entry_is_created_with_all_children_or_not_at_all() {
    let mut set = StepSet::empty(result(), 0);
    set.create(new("a", None)).unwrap();
    let before = format!("{set:?}");
    let with = |child: NewStep| {
        let mut tree = new("x", None);
        tree.children.push(child);
        tree
    };
    let mut deep = new("deepest", None);
    for level in 0..LEVELS {
        let mut above = new(&format!("{level}"), None);
        above.children.push(deep);
        deep = above;
    }
    for (tree, kind) in [
        (with(new("a", None)), ErrorKind::Conflict),
        (with(new("x", None)), ErrorKind::Conflict),
        (with(new("y", Some("a"))), ErrorKind::InvalidArgument),
        (new("s", Some("s")), ErrorKind::InvalidArgument),
        (new("a", None), ErrorKind::Conflict),
        (deep, ErrorKind::LimitExceeded),
    ] {
        assert_eq!(set.create(tree).unwrap_err().kind(), kind);
        assert_eq!(format!("{set:?}"), before);
    }
}

#[test]
fn a_parent_that_arrives_later_gives_its_descendants_their_paths() {
    let mut set = StepSet::empty(result(), 0);
    set.create(new("child", Some("parent"))).unwrap();
    set.create(new("grandchild", Some("child"))).unwrap();
    assert_eq!(at(&set, "child").path, "name of child");
    assert_eq!(at(&set, "grandchild").ancestor_ids, ["parent", "child"]);
    set.create(new("parent", Some("root"))).unwrap();
    assert!(at(&set, "parent").has_children);
    assert_eq!(at(&set, "grandchild").ancestor_ids, ["root", "parent", "child"]);
    assert_eq!(at(&set, "grandchild").path, "name of parent\nname of child\nname of grandchild");
}

#[test]
fn moved_steps_take_their_descendants_along_and_never_below_themselves() {
    let mut set = StepSet::empty(result(), 0);
    for (id, parent) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", None)] {
        set.create(new(id, parent)).unwrap();
    }
    let b = set.find("b").unwrap();
    for parent in ["b", "c"] {
        let error = set.update(b, Some(parent.to_owned()), |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    set.update(b, Some("d".to_owned()), |step| step.name = "new".to_owned()).unwrap();
    assert_eq!(at(&set, "c").path, "name of d\nnew\nname of c");
    assert_eq!(at(&set, "c").ancestor_ids, ["d", "b"]);
    assert!(!at(&set, "a").has_children && at(&set, "d").has_children);
    // A new name alone leaves the paths as they are.
    set.update(b, Some("d".to_owned()), |step| step.name = "newer".to_owned()).unwrap();
    assert_eq!(at(&set, "b").path, "name of d\nnew");
    // Children of a deleted step stay as they are.
    assert!(set.delete("b") && !set.delete("b"));
    assert_eq!(at(&set, "c").ancestor_ids, ["d", "b"]);
    assert!(!at(&set, "d").has_children);
}

#[test]
fn a_new_step_is_never_below_itself() {
    let mut set = StepSet::empty(result(), 0);
    set.create(new("x", Some("y"))).unwrap();
    set.create(new("below x", Some("x"))).unwrap();
    let before = format!("{set:?}");
    // Its child is the parent that it names.
    let mut around = new("top", Some("inside"));
    around.children.push(new("inside", None));
    // The parent of another step is a child of it.
    let mut far = new("far", Some("x"));
    far.children.push(new("y", None));
    for (tree, named) in [
        (new("y", Some("x")), "\"y\""),
        (new("y", Some("below x")), "\"y\""),
        (far, "\"y\""),
        (around, "\"inside\""),
    ] {
        let error = set.create(tree).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(named), "{error}");
        assert_eq!(format!("{set:?}"), before);
    }
    set.create(new("y", Some("z"))).unwrap();
    assert_eq!(at(&set, "below x").ancestor_ids, ["z", "y", "x"]);
}

#[test]
fn order_times_and_status_of_a_tree() {
    let mut set = StepSet::empty(result(), 0);
    let step = |id: &str, parent: Option<&str>, start: i64, time: f64, status: Option<&str>| {
        let mut new = new(id, parent);
        new.step.started_at_ms = start;
        new.step.total_time = time;
        new.step.status_type = status.map(str::to_owned);
        new.step.status_name = Some(id.to_owned());
        new
    };
    for new in [
        step("late", None, 9, 0.1, Some("FAILED")),
        step("early", None, 1, 0.0, Some("DONE")),
        step("second", Some("early"), 5, 0.2, Some("ERRORED")),
        step("first", Some("early"), 5, 0.0, Some("ERRORED")),
        step("deep", Some("first"), 0, 0.7, None),
    ] {
        set.create(new).unwrap();
    }
    let order: Vec<String> =
        set.in_step_order().into_iter().map(|at| set.get(at).unwrap().id(result())).collect();
    assert_eq!(order, ["early", "second", "first", "deep", "late"]);
    assert_eq!(set.total_time(), 1.0, "0.1 + 0.2 + 0.7, exactly");
    let worst = Some(("ERRORED".to_owned(), Some("second".to_owned())));
    assert_eq!(set.most_severe_status(), worst);
    assert_eq!(set.status_counts(), [0, 0, 0, 1, 0, 1, 0, 0, 0, 2, 0]);
}

/// A plain list of ids and parents, from which everything else follows.
#[derive(Default)]
struct Plain(BTreeMap<String, Option<String>>);

impl Plain {
    fn is_below(&self, id: &str, other: &str) -> bool {
        let (mut at, mut seen) = (Some(id.to_owned()), BTreeSet::new());
        while let Some(id) = at.filter(|id| seen.insert(id.clone())) {
            if id == other {
                return true;
            }
            at = self.0.get(&id).cloned().flatten();
        }
        false
    }

    fn check(&self, set: &StepSet) {
        assert_eq!(ids(set).into_iter().collect::<BTreeSet<_>>(), self.0.keys().cloned().collect());
        for (id, parent) in &self.0 {
            let step = at(set, id);
            assert_eq!(&step.parent_id, parent);
            let has_children = self.0.values().any(|other| other.as_ref() == Some(id));
            assert_eq!(step.has_children, has_children, "{id}");
        }
        let order = set.in_step_order();
        assert_eq!(order.len(), self.0.len());
    }
}

proptest::proptest! {
    #[test]
    fn random_changes_agree_with_a_plain_list(
        changes in proptest::collection::vec((0..3_u8, 0..8_u8, 0..9_u8), 1..60),
    ) {
        let (mut set, mut plain) = (StepSet::empty(result(), 0), Plain::default());
        for (what, one, other) in changes {
            let (id, other) = (one.to_string(), other.to_string());
            let parent = Some(other.clone()).filter(|other| other != "8");
            match what {
                0 => {
                    let is_circle =
                        parent.as_ref().is_some_and(|parent| plain.is_below(parent, &id));
                    let is_new = !plain.0.contains_key(&id) && !is_circle;
                    let made = set.create(new(&id, parent.as_deref()));
                    proptest::prop_assert_eq!(made.is_ok(), is_new);
                    if is_new {
                        plain.0.insert(id, parent);
                    }
                }
                1 => {
                    proptest::prop_assert_eq!(set.delete(&id), plain.0.remove(&id).is_some());
                }
                _ => {
                    let Some(at) = set.find(&id) else { continue };
                    let old = plain.0.get(&id).cloned().flatten();
                    let is_circle = parent.as_ref().is_some_and(|parent| {
                        Some(parent) != old.as_ref()
                            && (parent == &id
                                || plain.0.contains_key(parent) && plain.is_below(parent, &id))
                    });
                    let moved = set.update(at, parent.clone(), |_| {});
                    proptest::prop_assert_eq!(moved.is_err(), is_circle);
                    if let (false, Some(parent)) = (is_circle, parent) {
                        plain.0.insert(id, Some(parent));
                    }
                }
            }
            plain.check(&set);
        }
    }
}
