//! Names of fields outside of filters: the paths and aliases that filters know, and entries of
//! maps.

use crate::error::{Error, Result};
use crate::value::nearest::did_you_mean;
use crate::value::{FieldDecl, FieldType, Ops};

/// A field, or an entry of the map in one.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The position of the field.
    pub field: usize,
    /// Its type.
    pub ty: FieldType,
    /// The key of the entry.
    pub key: Option<String>,
}

fn is(decl: &FieldDecl, name: &str) -> bool {
    let same = |path: &&str| path.eq_ignore_ascii_case(name);
    decl.ops != Ops::None && (same(&decl.path) || decl.aliases.iter().any(|alias| same(alias)))
}

/// Finds `partNumber`, `schedule.plannedStartDateTime` or `properties.lot`.
///
/// # Errors
/// `InvalidArgument`, with the nearest name.
pub(super) fn find(fields: &[FieldDecl], name: &str) -> Result<Path> {
    let at = |name: &str| {
        let found = fields.iter().enumerate().find(|(_, field)| is(field, name));
        found.map(|(at, field)| (at, field.ty))
    };
    if let Some((field, ty)) = at(name) {
        return Ok(Path { field, ty, key: None });
    }
    // The key of an entry may have dots of its own.
    for (dot, _) in name.match_indices('.') {
        let (path, key) = (name.get(..dot), name.get(dot + 1..));
        if let (Some((field, ty @ FieldType::Map)), Some(key)) = (path.and_then(at), key)
            && !key.is_empty()
        {
            return Ok(Path { field, ty, key: Some(key.to_owned()) });
        }
    }
    let known = fields.iter().filter(|field| field.ops != Ops::None);
    let near = did_you_mean(name, known.map(|field| field.path));
    Err(Error::invalid(format!("the kind of record has no field {name:?}{near}")).with_args([name]))
}
