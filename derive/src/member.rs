//! The members of a struct, and what their types say.

use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Result, Type};

use crate::node::{Node, nodes};

/// A member of a struct.
pub struct Member {
    pub name: Ident,
    pub ty: Type,
    pub since: Option<u8>,
    pub doc: Vec<Attribute>,
    pub serde: Vec<Attribute>,
}

pub fn members(input: &DeriveInput) -> Result<Vec<Member>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "this derive works only on a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(
            &input.ident,
            "the derive needs a struct with named members",
        ));
    };
    fields.named.iter().map(member).collect()
}

fn member(field: &Field) -> Result<Member> {
    let called = |name: &str| {
        field.attrs.iter().filter(|attribute| attribute.path().is_ident(name)).cloned().collect()
    };
    let name = field
        .ident
        .clone()
        .ok_or_else(|| Error::new_spanned(field, "the derive needs a struct with named members"))?;
    let since = nodes(&field.attrs, "since")?.first().map(Node::number).transpose()?;
    Ok(Member { name, ty: field.ty.clone(), since, doc: called("doc"), serde: called("serde") })
}

/// The type without the invisible group of a macro that passed it.
pub fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        ty => ty,
    }
}

/// For `Option<T>`: `Option` and `T`.
pub fn generic(ty: &Type) -> Option<(&Ident, &Type)> {
    let Type::Path(path) = bare(ty) else { return None };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(inner) if arguments.args.len() == 1 => {
            Some((&last.ident, bare(inner)))
        }
        _ => None,
    }
}

/// Whether a member takes the names of the members that the JSON does not have.
pub fn is_absent(ty: &Type) -> bool {
    let Type::Path(path) = bare(ty) else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Absent")
}
