//! The members of a record that must be decoded to read only some of its fields.

use crate::model::resource::Resource;
use crate::value::stored::{Member, Members};

/// The members from which the fields at these positions in [`Resource::fields`] are read, with id
/// and workspace. Returns all members for a kind whose fields are not read from the member that
/// their path starts with.
#[must_use]
pub(crate) fn members_of<R: Resource>(fields: impl IntoIterator<Item = usize>) -> Members {
    let path = |field: usize| R::fields().get(field).map(|field| field.path);
    members::<R>(&mut fields.into_iter().map(path).chain([Some("id"), Some("workspace")]))
}

/// The members of a record's id, name and workspace.
#[must_use]
pub(crate) fn summary_members<R: Resource>() -> Members {
    members::<R>(&mut identity::<R>())
}

/// The members of a record's id, name and workspace for a kind with [`Resource::HAS_STATE`], whose
/// id, name and workspace must be members of the record itself; all members for other kinds.
#[must_use]
pub(crate) fn members_beside_state<R: Resource>() -> Members {
    if R::HAS_STATE { places(R::members(), &mut identity::<R>()) } else { Members::ALL }
}

fn identity<R: Resource>() -> impl Iterator<Item = Option<&'static str>> {
    R::NAME_MEMBERS.iter().chain(&["id", "workspace"]).copied().map(Some)
}

/// Paths of fields; `None` for a field that is unknown.
pub(crate) type Paths<'p> = dyn Iterator<Item = Option<&'static str>> + 'p;

fn members<R: Resource>(paths: &mut Paths<'_>) -> Members {
    if !R::FIELDS_ARE_MEMBERS || R::HAS_STATE {
        return Members::ALL;
    }
    places(R::members(), paths)
}

/// The members that paths begin with; all for a path that begins with none of them.
pub(crate) fn places(members: &[Member], paths: &mut Paths<'_>) -> Members {
    let place = |path: &str| {
        let head = path.split('.').next().unwrap_or(path);
        members.iter().position(|member| member.name == head)
    };
    paths.fold(Members::NONE, |wanted, path| {
        path.and_then(place).map_or(Members::ALL, |place| wanted.with(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::work_items::work_item::WorkItem;
    use crate::value::stored;

    #[test]
    fn a_part_of_a_record_has_the_members_that_are_wanted_and_no_other() {
        let item: WorkItem = serde_json::from_str(
            r#"{"id":"1000","name":"n","type":"t","state":"IN_PROGRESS","description":"d","workspace":"w",
                "timeline":{"dueDateTime":"2024-01-02T03:04:05Z","estimatedDurationInSeconds":7},
                "resources":{"systems":{"selections":[{"id":"s"}],"filter":"f"}},
                "executionActions":[{"type":"MANUAL","action":"START"}],
                "properties":{"a":"b"},"fileIdsFromTemplate":["x","y"],"updatedAt":"2024-01-02T03:04:05Z"}"#,
        )
        .unwrap();
        let bytes = stored::to_bytes(&item).unwrap();
        let place =
            |path: &str| WorkItem::fields().iter().position(|field| field.path == path).unwrap();
        let wanted = members_of::<WorkItem>(["type", "timeline.dueDateTime"].map(place));
        let part_of = |bytes: &[u8], wanted| {
            let mut part = WorkItem::default();
            stored::fill(&mut part, stored::Payload::current(bytes), wanted).map(|()| part)
        };
        let part = part_of(&bytes, wanted).unwrap();
        let expected = WorkItem {
            id: item.id.clone(),
            r#type: item.r#type.clone(),
            workspace: item.workspace.clone(),
            timeline: item.timeline.clone(),
            ..WorkItem::default()
        };
        assert_eq!(part, expected);
        assert_eq!(part_of(&bytes, Members::ALL).unwrap(), item);
        assert_eq!(part_of(&bytes, Members::NONE).unwrap(), WorkItem::default());
        for len in 0..bytes.len() {
            assert!(part_of(&bytes[..len], wanted).is_err(), "{len}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(part_of(&longer, wanted).is_err());
    }
}
