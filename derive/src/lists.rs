//! Generates the enumerations of orders and projections from lists of members.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Ident, LitStr, Result};

use crate::node::{Node, Path, nodes, pascal_case, paths, upper_first};

/// A named list.
struct List {
    name: Ident,
    entries: Vec<Node>,
}

/// The lists of one attribute. Lists with the same name are joined.
fn lists(input: &DeriveInput, attribute: &str) -> Result<Vec<List>> {
    let mut lists: Vec<List> = Vec::new();
    for node in nodes(&input.attrs, attribute)? {
        let name = node.name()?.clone();
        let entries = node.children().to_vec();
        match lists.iter_mut().find(|list| list.name == name) {
            Some(list) => list.entries.extend(entries),
            None => lists.push(List { name, entries }),
        }
    }
    Ok(lists)
}

/// One variant of the enumeration.
struct Value {
    variant: Ident,
    text: String,
    doc: String,
    /// The member that it stands for; `None` for a variant that code of the record handles.
    path: Option<Path>,
}

fn value(path: Option<Path>, text: Option<&LitStr>) -> Result<Value> {
    let span =
        text.map(LitStr::span).or(path.as_ref().map(Path::span)).unwrap_or_else(Span::call_site);
    let default = path.as_ref().map(Path::upper_case).unwrap_or_default();
    let text = text.map_or(default, LitStr::value);
    // The text is in the form `NUMBER_OF_ROWS` or `lastUpdatedTimestamp`.
    let name =
        if text.chars().any(char::is_lowercase) { upper_first(&text) } else { pascal_case(&text) };
    let variant = LitStr::new(&name, span).parse::<Ident>()?;
    let doc =
        path.as_ref().map_or_else(|| format!("`{text}`."), |path| format!("`{}`.", path.wire()));
    Ok(Value { variant, text, doc, path })
}

fn values(list: &List) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    for entry in list.entries.iter().filter(|entry| !entry.is("then")) {
        if let Node::Literal(_) = entry {
            values.push(value(None, Some(entry.text()?))?);
            continue;
        }
        for (path, options) in
            paths(std::slice::from_ref(entry), |node| matches!(node, Node::Literal(_)))?
        {
            let text = options.first().map(Node::text).transpose()?;
            values.push(value(Some(path), text)?);
        }
    }
    Ok(values)
}

fn enumeration(name: &Ident, doc: &str, values: &[Value]) -> TokenStream {
    let values = values
        .iter()
        .map(|Value { variant, text, doc, .. }| quote!(#[doc = #doc] #variant = #text));
    quote!(crate::value::wire::wire_enum! { #[doc = #doc] wire pub enum #name { #(#values),* } })
}

/// The enumerations of orders; each variant has the path of its field.
pub fn orders(input: &DeriveInput, kind: &str, fields: &[String]) -> Result<TokenStream> {
    let orders = lists(input, "order")?.into_iter().map(|list| {
        let values = values(&list)?;
        let mut arms = Vec::new();
        for Value { variant, path, .. } in &values {
            let path = path.as_ref().ok_or_else(|| {
                Error::new(
                    variant.span(),
                    "an order needs a field; `\"TEXT\"` alone works only in #[projection]",
                )
            })?;
            let wire = path.wire();
            if !fields.contains(&wire) {
                return Err(Error::new(path.span(), format!("`{wire}` is not one of #[fields]")));
            }
            arms.push(quote!(Self::#variant => #wire));
        }
        let name = &list.name;
        let enumeration = enumeration(
            name,
            &format!("Fields that a query of the kind `{kind}` can be ordered by."),
            &values,
        );
        Ok(quote! {
            #enumeration

            impl #name {
                /// The path of the field.
                #[allow(dead_code)]
                pub(crate) const fn path(self) -> &'static str {
                    match self { #(#arms),* }
                }
            }
        })
    });
    orders.collect()
}

/// The enumeration of the projection, and the method that reduces a record to the listed members.
pub fn projections(input: &DeriveInput, kind: &str) -> Result<TokenStream> {
    let record = &input.ident;
    let lists = lists(input, "projection")?;
    if let Some(second) = lists.get(1) {
        return Err(Error::new(second.name.span(), "a resource has one projection"));
    }
    let projections = lists.into_iter().map(|list| {
        let values = values(&list)?;
        let name = &list.name;
        let enumeration = enumeration(
            name,
            &format!("Members that a query of the kind `{kind}` can be restricted to."),
            &values,
        );
        let copies = values.iter().map(|Value { variant, path, .. }| match path {
            Some(path) => {
                let copy = copy(path);
                quote!(#name::#variant => { #copy })
            }
            None => quote!(#name::#variant => {}),
        });
        let wires = values.iter().map(|Value { variant, path, .. }| {
            let wire = path.as_ref().map(Path::wire).unwrap_or_default();
            quote!(Self::#variant => #wire)
        });
        let then = list.entries.iter().filter(|entry| entry.is("then")).map(|then| {
            let method = then.only()?.name()?;
            Ok(quote!(self.#method(&mut kept, projection);))
        });
        let then = then.collect::<Result<Vec<_>>>()?;
        Ok(quote! {
            #enumeration

            impl #name {
                /// The path of the member; empty for a variant that is not a member.
                #[allow(dead_code)]
                pub(crate) const fn path(self) -> &'static str {
                    match self { #(#wires),* }
                }
            }

            impl #record {
                /// The record with only the members of `projection`, or with all members if it is
                /// empty.
                #[must_use]
                pub fn project(self, projection: &[#name]) -> Self {
                    if projection.is_empty() {
                        return self;
                    }
                    let mut kept = Self::default();
                    for member in projection {
                        match member { #(#copies)* }
                    }
                    #(#then)*
                    kept
                }
            }
        })
    });
    projections.collect()
}

/// Copies a member from `self` to `kept`. Creates the members that contain it, if `self` has them.
fn copy(path: &Path) -> TokenStream {
    let (last, above) =
        path.0.split_last().map_or((path.head(), &[][..]), |(last, above)| (last, above));
    let Some((inner, outer)) = above.split_last() else {
        return quote!(kept.#last.clone_from(&self.#last););
    };
    let nest = quote!(crate::value::part::Nest::nest);
    let (from, to) = (format_ident!("from"), format_ident!("to"));
    let mut copy = quote!(#to.#last.clone_from(&#from.#last););
    copy = match outer {
        [] => quote!(#nest(&self.#inner, &mut kept.#inner, |#from, #to| { #copy });),
        _ => quote!(#nest(&#from.#inner, &mut #to.#inner, |#from, #to| { #copy });),
    };
    for (depth, member) in outer.iter().enumerate().rev() {
        copy = match depth {
            0 => quote!(#nest(&self.#member, &mut kept.#member, |#from, #to| { #copy });),
            _ => quote!(#nest(&#from.#member, &mut #to.#member, |#from, #to| { #copy });),
        };
    }
    copy
}
