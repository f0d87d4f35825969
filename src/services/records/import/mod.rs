//! Import of reference data from another store: as one commit, and never over what was changed
//! here.
//!
//! What must hold: the position of the source, what was agreed about each record and the records
//! themselves change together; see `session::imports`.

mod pass;
mod reference;

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ImportRecordsRequest, ImportRecordsResponse, Product, RecordKind, Resource as _, Specification,
    TestPlanTemplate, WorkItemTemplate,
};
use crate::services::lists;
use crate::session::feed::imports::ImportSource;
use crate::session::{Access, Draft, Visibility};
use crate::value::limits::{
    IMPORT_CONFLICTS, IMPORT_POSITION_BYTES, IMPORT_RECORDS, IMPORT_SOURCE_BYTES, IMPORT_SOURCES,
};
use crate::value::{Action, IdForm, RecordKey, Service};
use pass::{Import, KindRequest};

/// The kinds that are imported, in this order: a specification needs its product.
const KINDS: [RecordKind; 4] = [
    RecordKind::Product,
    RecordKind::Specification,
    RecordKind::WorkItemTemplate,
    RecordKind::TestPlanTemplate,
];

/// What a request asks for, by the place of the kind in [`KINDS`].
type ByKind = BTreeMap<usize, KindRequest>;

pub(super) fn run<A: Access>(
    access: &A,
    request: ImportRecordsRequest,
) -> Result<ImportRecordsResponse> {
    access.context().refuse_pinned("importing records")?;
    let asked = checked(&request)?;
    access.write(move |draft| import(draft, request, asked))
}

fn place_of(kind: RecordKind, member: &str) -> Result<(usize, IdForm)> {
    let at = KINDS.iter().position(|known| *known == kind).ok_or_else(|| {
        Error::unsupported(format!(
            "records of the kind {kind} are not imported; PRODUCT, SPECIFICATION, \
             WORK_ITEM_TEMPLATE and TEST_PLAN_TEMPLATE are"
        ))
        .at_member(member)
    })?;
    let form = match kind {
        RecordKind::Product => Product::KIND.id,
        RecordKind::Specification => Specification::KIND.id,
        RecordKind::WorkItemTemplate => WorkItemTemplate::KIND.id,
        _ => TestPlanTemplate::KIND.id,
    };
    Ok((at, form))
}

fn key_of(form: IdForm, id: &str, member: &str) -> Result<RecordKey> {
    RecordKey::parse(form, id).ok_or_else(|| {
        Error::invalid(format!("{id:?} is not an id of this kind")).at_member(member)
    })
}

fn at_most(what: &str, len: usize, most: usize) -> Result<()> {
    if len > most {
        return Err(Error::limit(format!(
            "{what} has {len}, and an import may have {most}; split the import at a position of \
             the source"
        ))
        .at_member(what));
    }
    Ok(())
}

/// The records and decisions of a request by kind, each record once.
fn checked(request: &ImportRecordsRequest) -> Result<ByKind> {
    if request.source.trim().is_empty() {
        return Err(Error::invalid("an import needs the name of its source").at_member("source"));
    }
    let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let texts = [
        ("source", request.source.len(), IMPORT_SOURCE_BYTES),
        ("position", bytes(&request.position), IMPORT_POSITION_BYTES),
    ];
    for (member, len, most) in texts {
        if len > most {
            return Err(Error::limit(format!("{member} has {len} bytes, more than {most}"))
                .at_member(member));
        }
    }
    let records = request.records.as_deref().unwrap_or_default();
    let choices = request.choices.as_deref().unwrap_or_default();
    let full = lists::distinct("full", request.full.as_deref().unwrap_or_default())?;
    at_most("records", records.len(), IMPORT_RECORDS)?;
    at_most("choices", choices.len(), IMPORT_RECORDS)?;
    if request.position.is_none() && !(records.is_empty() && full.is_empty()) {
        return Err(Error::invalid("records of a source need the position that they are of")
            .at_member("position"));
    }
    let mut asked: ByKind =
        KINDS.iter().enumerate().map(|(at, _)| (at, KindRequest::default())).collect();
    for kind in &full {
        let (at, _) = place_of(*kind, "full")?;
        asked.entry(at).or_default().is_full = true;
    }
    for (number, record) in records.iter().enumerate() {
        let member = |name: &str| format!("records[{number}].{name}");
        let (at, form) = place_of(record.kind, &member("kind"))?;
        let key = key_of(form, &record.id, &member("id"))?;
        let of_kind = asked.entry(at).or_default();
        if !full.is_empty() && !of_kind.is_full {
            return Err(Error::invalid(format!(
                "full does not name {}, so the import would miss its other changes",
                record.kind
            ))
            .at_member("full"));
        }
        let state = record.record.clone().map(|members| members.into_iter().collect());
        if of_kind.records.insert(key, state).is_some() {
            return Err(Error::invalid(format!(
                "the record {} is there twice; send its latest state",
                record.id
            ))
            .at_member(member("id")));
        }
    }
    for (number, choice) in choices.iter().enumerate() {
        let member = |name: &str| format!("choices[{number}].{name}");
        let (at, form) = place_of(choice.kind, &member("kind"))?;
        let key = key_of(form, &choice.id, &member("id"))?;
        let known = asked.entry(at).or_default().choices.insert(key, choice.decision);
        if known.is_some_and(|known| known != choice.decision) {
            return Err(Error::invalid(format!(
                "there are two decisions about the record {}",
                choice.id
            ))
            .at_member(member("decision")));
        }
    }
    Ok(asked)
}

/// A source belongs to no workspace, so only a grant for all workspaces counts: whoever moves the
/// position decides what everybody's next import has.
fn require_source(draft: &Draft<'_>) -> Result<()> {
    let context = draft.context();
    if context.visibility(Service::CHANGES, Action::Update) == Visibility::All {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::PermissionDenied,
        format!(
            "{:?} may not import records: that needs {:?} of {} in every workspace",
            context.user(),
            Action::Update,
            Service::CHANGES
        ),
    ))
}

fn import(
    draft: &mut Draft<'_>,
    request: ImportRecordsRequest,
    mut asked: ByKind,
) -> Result<ImportRecordsResponse> {
    require_source(draft)?;
    let source = ImportSource(request.source);
    let known = source.position(draft)?;
    let is_full = asked.values().any(|asked| asked.is_full);
    let is_applied = request.position.is_some() && request.position == known;
    if request.position.is_some() && !is_applied && !is_full && request.after != known {
        let named = |position: &Option<String>| match position {
            Some(position) => format!("{position:?}"),
            None => "none".to_owned(),
        };
        return Err(Error::conflict(format!(
            "the changes begin after the position {}, and {:?} was imported up to {}; import what \
             lies between, or all records of the source (full)",
            named(&request.after),
            source.0,
            named(&known)
        ))
        .with_name("Records.ImportGap", None)
        .at_member("after"));
    }
    let applies = request.position.is_some() && !is_applied;
    if known.is_none() && applies && ImportSource::count(draft)? >= IMPORT_SOURCES {
        return Err(Error::limit(format!(
            "the store has {IMPORT_SOURCES} sources of imports, and {:?} would be another",
            source.0
        )));
    }
    let mut answer = ImportRecordsResponse {
        position: if applies { request.position.clone() } else { known },
        applied: applies,
        ..ImportRecordsResponse::default()
    };
    let workspaces = request.workspaces.unwrap_or_default();
    let mut waiting = 0;
    for (at, kind) in KINDS.iter().enumerate() {
        let mut of_kind = asked.remove(&at).unwrap_or_default();
        if !applies {
            (of_kind.records, of_kind.is_full) = (BTreeMap::new(), false);
        }
        let mut import = Import {
            draft: &mut *draft,
            source: &source,
            workspaces: &workspaces,
            answer: &mut answer,
            waiting: &mut waiting,
        };
        match kind {
            RecordKind::Product => import.run::<Product>(of_kind)?,
            RecordKind::Specification => import.run::<Specification>(of_kind)?,
            RecordKind::WorkItemTemplate => import.run::<WorkItemTemplate>(of_kind)?,
            _ => import.run::<TestPlanTemplate>(of_kind)?,
        }
    }
    if waiting > IMPORT_CONFLICTS {
        return Err(Error::limit(format!(
            "{waiting} conflicts would wait, more than the {IMPORT_CONFLICTS} that may; map the \
             workspaces of the source, or settle conflicts"
        )));
    }
    if let Some(position) = request.position.filter(|_| applies) {
        source.set_position(draft, position)?;
    }
    Ok(answer)
}
