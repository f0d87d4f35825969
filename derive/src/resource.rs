//! Generates the implementation of a resource from its declaration.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Ident, LitStr, Result};

use crate::form::{self, RecordForm};
use crate::member::{Member, generic, members};
use crate::node::{Node, Path, camel_case, groups, nodes, paths, plain};
use crate::{lists, requests};

/// Options of an entry of `#[fields]`. Any other name in its brackets is a nested member.
const OPTIONS: [&str; 9] =
    ["also", "equality", "hidden", "of", "within", "get", "at", "from", "or_empty"];
/// Names of field types, for fields whose type cannot be inferred from a member.
const TYPES: [&str; 12] = [
    "Bool",
    "String",
    "DecimalId",
    "Reference",
    "Int",
    "Double",
    "Time",
    "Strings",
    "Map",
    "Object",
    "WorkspaceName",
    "ProductName",
];

/// A field that filters can use.
struct Field {
    path: Path,
    aliases: Vec<LitStr>,
    ops: Ident,
    ty: TokenStream,
    value: TokenStream,
    /// Whether its value is read only from the member that its path starts with.
    is_member: bool,
}

fn fields(input: &DeriveInput) -> Result<Vec<Field>> {
    let nodes = nodes(&input.attrs, "fields")?;
    let is_option = |node: &Node| OPTIONS.iter().any(|option| node.is(option));
    paths(&nodes, is_option)?
        .into_iter()
        .map(|(path, options)| field(&input.ident, path, &options))
        .collect()
}

fn field(record: &Ident, path: Path, options: &[Node]) -> Result<Field> {
    let part = quote!(crate::value::part);
    let root = Ident::new("record", Span::call_site());
    let (mut aliases, mut ops) = (Vec::new(), Ident::new("All", Span::call_site()));
    let (mut ty, mut own, mut or_empty) = (None, None, false);
    let mut is_object = false;
    let mut source = path.clone();
    for option in options {
        let name = option.name()?;
        match plain(name).as_str() {
            "also" => {
                aliases = option
                    .children()
                    .iter()
                    .map(|alias| alias.text().cloned())
                    .collect::<Result<_>>()?
            }
            "equality" => ops = Ident::new("Equality", name.span()),
            "hidden" => ops = Ident::new("None", name.span()),
            "of" => {
                let of = option.only()?.name()?;
                is_object = of == "Object";
                let is_known = TYPES.iter().any(|known| of == known);
                ty =
                    Some(if is_known { quote!(crate::value::FieldType::#of) } else { quote!(#of) });
            }
            "within" => {
                source = Path::of(option.only()?)?;
                ty = Some(quote!(crate::value::FieldType::Within));
            }
            "from" => source = Path::of(option.only()?)?,
            "get" => own = Some((option.only()?.name()?, false)),
            "at" => own = Some((option.only()?.name()?, true)),
            _ => or_empty = true,
        }
    }
    let is_member = own.is_none() && source.head() == path.head();
    let (inferred, value) = match own {
        Some((method, false)) => (
            quote!(#part::type_of_value(|record: &#record| record.#method())),
            quote!(crate::value::Val::from(record.#method())),
        ),
        Some((method, true)) => (
            quote!(#part::type_of_value_at(|record: &#record, env| record.#method(env))),
            quote!(crate::value::Val::from(record.#method(env))),
        ),
        None => {
            let get = source.get(&root);
            // Filters see of an object only whether it is present.
            let value = match (or_empty, is_object) {
                (true, _) => quote!(#part::rows_or_none(#get)),
                (false, true) => quote!(crate::value::Val::from(#get.map(|_| true))),
                (false, false) => quote!(crate::value::Val::from(#get)),
            };
            (quote!(#part::type_of(|record: &#record| #get)), value)
        }
    };
    Ok(Field { path, aliases, ops, ty: ty.unwrap_or(inferred), value, is_member })
}

impl Field {
    fn declaration(&self) -> TokenStream {
        let Self { path, aliases, ops, ty, .. } = self;
        quote! {
            crate::value::FieldDecl::new(#path, #ty)
                .alias(&[#(#aliases),*])
                .ops(crate::value::Ops::#ops)
        }
    }
}

/// Generates the fields that filters see of an element of a list of records.
pub fn rows(input: &DeriveInput) -> Result<TokenStream> {
    let fields = fields(input)?;
    if fields.is_empty() {
        return Ok(TokenStream::new());
    }
    let record = &input.ident;
    let declarations = fields.iter().map(Field::declaration);
    let value = value_at(&fields);
    Ok(quote! {
        impl crate::value::part::Rows for #record {
            const FIELDS: &'static [crate::value::FieldDecl] = &[#(#declarations),*];
        }

        impl crate::value::Row for #record {
            fn val(&self, place: usize) -> crate::value::Val<'_> {
                #value
            }
        }
    })
}

/// The value of the field of `self` at `place`.
fn value_at(fields: &[Field]) -> TokenStream {
    let values = fields.iter().enumerate().map(|(place, field)| {
        let value = &field.value;
        quote!(#place => #value)
    });
    quote! {
        let record = self;
        match place {
            #(#values,)*
            _ => crate::value::Val::Null,
        }
    }
}

/// The first entry with this name.
fn find<'n>(nodes: &'n [Node], name: &str) -> Option<&'n Node> {
    nodes.iter().find(|node| node.is(name))
}

fn needed<'n>(nodes: &'n [Node], name: &str, example: &str) -> Result<&'n Node> {
    let missing = || Error::new(Span::call_site(), format!("#[resource(…)] needs `{example}`"));
    find(nodes, name).ok_or_else(missing)
}

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let members = members(input)?;
    let wire = form::wire(input, &members, RecordForm::Stored)?;
    let stored = form::stored(input, &members);
    let options = nodes(&input.attrs, "resource")?;
    let fields = fields(input)?;
    let paths: Vec<String> = fields.iter().map(|field| field.path.wire()).collect();
    for (place, field) in fields.iter().enumerate() {
        if paths[..place].contains(&paths[place]) {
            return Err(Error::new(
                field.path.span(),
                format!("the field `{}` is listed twice", paths[place]),
            ));
        }
    }
    let kind_name = needed(&options, "name", "name = \"fixture\"")?.text()?.value();
    let resource = resource(&members, &options, &fields)?;
    let Indexes { numbers, indexes, computed } = indexes(input, &paths)?;
    let computed = (!computed.is_empty()).then(|| {
        quote! {
            fn computed_entries(&self, number: u8) -> ::std::vec::Vec<::std::vec::Vec<u8>> {
                match number {
                    #(#computed)*
                    _ => ::std::vec::Vec::new(),
                }
            }
        }
    });
    let texts = texts(input)?;
    let state = state(input)?;
    let orders = lists::orders(input, &kind_name, &paths)?;
    let projections = lists::projections(input, &kind_name)?;
    let requests = requests::requests(input, &members)?;
    let stamps = stamps(input, &members);
    let answer = crate::answers::plain(&input.ident);
    let record = &input.ident;
    let declarations = fields.iter().map(Field::declaration);
    let value = value_at(&fields);
    let model = quote!(crate::model::resource);
    Ok(quote! {
        #wire
        #stored
        #orders
        #projections
        #requests
        #stamps
        #answer

        impl #record { #numbers }

        impl #model::Resource for #record {
            #resource

            fn fields() -> &'static [crate::value::FieldDecl] {
                const FIELDS: &[crate::value::FieldDecl] = &[#(#declarations),*];
                FIELDS
            }

            fn value<'a>(&'a self, place: usize, env: &crate::value::Env) -> crate::value::Val<'a> {
                let _ = env;
                #value
            }

            fn indexes() -> &'static [#model::Index] {
                &[#(#indexes),*]
            }

            #computed

            #texts

            #state
        }
    })
}

/// Generates kind, id, workspace and name.
fn resource(members: &[Member], options: &[Node], fields: &[Field]) -> Result<TokenStream> {
    let number = needed(options, "kind", "kind = 14")?.number()?;
    let name = needed(options, "name", "name = \"fixture\"")?.text()?;
    let service = match needed(options, "service", "service(ASSETS)")? {
        node if node.value().is_some() => {
            let text = node.text()?;
            quote!(crate::value::Service(#text))
        }
        node => {
            let service = node.only()?.name()?;
            quote!(crate::value::Service::#service)
        }
    };
    let form = needed(options, "id", "id(Guid)")?.only()?.name()?;
    let root = format_ident!("self");
    let at = |option: &str, default: &str| match find(options, option) {
        Some(node) => Path::of(node.only()?),
        None => Ok(Path(vec![Ident::new(default, Span::call_site())])),
    };
    let text = |path: &Path| {
        let get = path.get(&root);
        quote!(#get.map_or("", |text| ::core::convert::AsRef::<str>::as_ref(text)))
    };
    let (id, workspace) = (text(&at("id_at", "id")?), text(&at("workspace_at", "workspace")?));
    let title = find(options, "title").map(Node::children).unwrap_or_default();
    let mut names = Vec::new();
    let mut title_of = quote!(::core::option::Option::<&str>::None);
    for (place, node) in title.iter().enumerate() {
        let next = if node.is("get") {
            let method = node.only()?.name()?;
            names.push(String::from("name"));
            quote!(::core::option::Option::Some(self.#method()))
        } else {
            let path = Path::of(node)?;
            names.push(path.wire());
            let get = path.get(&root);
            quote!(#get.map(|text| ::core::convert::AsRef::<str>::as_ref(text)))
        };
        title_of = if place == 0 { next } else { quote!(#title_of.or_else(|| #next)) };
    }
    let never_null = find(options, "never_null").map(Node::children).unwrap_or_default();
    let never_null = never_null.iter().map(Path::of).collect::<Result<Vec<_>>>()?;
    let is_member = |name: &Ident| members.iter().any(|member| member.name == *name);
    let are_members = fields.iter().all(|field| field.is_member || !is_member(field.path.head()));
    Ok(quote! {
        const KIND: crate::value::id::Kind = crate::value::id::Kind {
            code: #number,
            name: #name,
            service: #service,
            id: crate::value::IdForm::#form,
        };
        const FIELDS_ARE_MEMBERS: bool = #are_members;
        const NAME_MEMBERS: &'static [&'static str] = &[#(#names),*];
        const NEVER_NULL: &'static [&'static str] = &[#(#never_null),*];

        fn id(&self) -> &str {
            #id
        }

        fn workspace(&self) -> &str {
            #workspace
        }

        fn name(&self) -> &str {
            #title_of.unwrap_or_default()
        }
    })
}

struct Indexes {
    /// The constants `BY_…`.
    numbers: TokenStream,
    indexes: Vec<TokenStream>,
    /// The arms of `computed_entries`.
    computed: Vec<TokenStream>,
}

/// Generates a constant for the number of each index, such as `BY_PART_NUMBER`, and the indexes.
fn indexes(input: &DeriveInput, fields: &[String]) -> Result<Indexes> {
    let mut numbers = TokenStream::new();
    let (mut indexes, mut computed) = (Vec::new(), Vec::new());
    let known = |path: Path| {
        if fields.contains(&path.wire()) {
            Ok(path)
        } else {
            Err(Error::new(path.span(), format!("`{}` is not one of #[fields]", path.wire())))
        }
    };
    for group in groups(&input.attrs, "index")? {
        let Some((number, rest)) = group.split_first() else {
            return Err(Error::new_spanned(
                &input.ident,
                "an index needs a number and a member: `#[index(1, member)]`",
            ));
        };
        let code = number.number()?;
        let (mut paths, mut beside, mut unique, mut since) = (Vec::new(), Vec::new(), false, 1);
        let (mut on, mut called) = (None, None);
        for node in rest {
            if node.is("since") {
                since = node.number()?;
            } else if node.is("include") {
                beside = node
                    .children()
                    .iter()
                    .map(|node| known(Path::of(node)?))
                    .collect::<Result<_>>()?;
            } else if node.is("unique") {
                unique = true;
                paths = node
                    .children()
                    .iter()
                    .map(|node| known(Path::of(node)?))
                    .collect::<Result<_>>()?;
            } else if node.is("called") {
                called = Some(node.only()?.name()?);
            } else if node.is("on") {
                on = Some(node.only()?.name()?);
            } else {
                paths.push(known(Path::of(node)?)?);
            }
        }
        let what = match (called, on) {
            (Some(name), _) => plain(name),
            (None, Some(method)) => plain(method).trim_end_matches("_entries").to_uppercase(),
            (None, None) => paths.iter().map(Path::upper_case).collect::<Vec<_>>().join("_"),
        };
        let name = Ident::new(&format!("BY_{what}"), number.span());
        let doc = format!("Number of the index by {}.", what.to_lowercase().replace('_', " "));
        numbers
            .extend(quote!(#[doc = #doc] #[allow(dead_code)] pub(crate) const #name: u8 = #code;));
        let is_computed = on.is_some();
        computed.extend(on.map(|method| quote!(#code => self.#method(),)));
        indexes.push(quote! {
            crate::model::resource::Index {
                number: #code,
                since: #since,
                fields: &[#(#paths),*],
                unique: #unique,
                include: &[#(#beside),*],
                computed: #is_computed,
            }
        });
    }
    Ok(Indexes { numbers, indexes, computed })
}

/// Generates the text fields of `name = 4.0`, `comments(1.0, from(external_calibration(comments)))`
/// or `name(2.0, get(add_name))`.
fn texts(input: &DeriveInput) -> Result<TokenStream> {
    let root = format_ident!("self");
    let texts = nodes(&input.attrs, "text")?.into_iter().map(|node| {
        let name = node.name()?;
        let wire = camel_case(name);
        let weight = node.value().or_else(|| node.children().iter().find_map(Node::value));
        let weight = weight
            .ok_or_else(|| Error::new(node.span(), "a text field needs a weight: `name = 2.0`"))?;
        let get = match (find(node.children(), "get"), find(node.children(), "from")) {
            (Some(get), _) => {
                let method = get.only()?.name()?;
                quote!(self.#method(out))
            }
            (None, from) => {
                let path = from
                    .map_or_else(|| Ok(Path(vec![name.clone()])), |from| Path::of(from.only()?))?;
                let value = path.get(&root);
                quote!(if let ::core::option::Option::Some(value) = #value {
                    crate::value::part::Words::add(value, out);
                })
            }
        };
        Ok((quote!(crate::model::resource::TextField { name: #wire, weight: #weight }), get))
    });
    let (fields, texts): (Vec<_>, Vec<_>) = texts.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    if fields.is_empty() {
        return Ok(TokenStream::new());
    }
    let places = 0..fields.len();
    Ok(quote! {
        fn text() -> &'static [crate::model::resource::TextField] {
            &[#(#fields),*]
        }

        fn add_text(&self, place: usize, out: &mut ::std::string::String) {
            match place {
                #(#places => #texts,)*
                _ => {}
            }
        }
    })
}

/// Generates the separate record of `#[state(Part(member, …))]`.
fn state(input: &DeriveInput) -> Result<TokenStream> {
    let nodes = nodes(&input.attrs, "state")?;
    let Some(node) = nodes.first() else { return Ok(TokenStream::new()) };
    let part = node.name()?;
    let members = node.children().iter().map(Node::name).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        const HAS_STATE: bool = true;

        fn state(&self) -> crate::error::Result<::std::vec::Vec<u8>> {
            crate::value::stored::to_bytes(&#part { #(#members: self.#members.clone()),* })
        }

        fn set_state(
            &mut self,
            state: crate::value::stored::Payload<'_>,
        ) -> crate::error::Result<()> {
            let state: #part = crate::value::stored::read(state)?;
            #(self.#members = state.#members;)*
            Ok(())
        }

        fn without_state(&self) -> Self {
            Self { #(#members: ::core::default::Default::default(),)* ..self.clone() }
        }
    })
}

/// Generates `Stamped` for a record that has the members for its author and times.
fn stamps(input: &DeriveInput, members: &[Member]) -> TokenStream {
    let needed = ["id", "workspace", "created_by", "created_at", "updated_by", "updated_at"];
    let has = |name: &str| {
        let mut named = members.iter().filter(|member| member.name == name);
        named.any(|member| generic(&member.ty).is_some_and(|(option, _)| option == "Option"))
    };
    if !needed.into_iter().all(has) {
        return TokenStream::new();
    }
    let record = &input.ident;
    quote! {
        impl crate::model::resource::Stamped for #record {
            fn set_key(&mut self, key: crate::value::RecordKey) {
                self.id = ::core::option::Option::Some(key.into());
            }

            fn workspace_mut(&mut self) -> &mut ::core::option::Option<::std::string::String> {
                &mut self.workspace
            }

            fn stamp(&mut self) -> crate::model::resource::Stamp<'_> {
                crate::model::resource::Stamp {
                    created_by: &mut self.created_by,
                    created_at: &mut self.created_at,
                    updated_by: &mut self.updated_by,
                    updated_at: &mut self.updated_at,
                }
            }
        }
    }
}
