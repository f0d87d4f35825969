//! Parses the lists in attributes, and derives names from the members in them.

use proc_macro2::Span;
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, Lit, LitStr, Result, Token, token};

/// One entry of a list: `name`, `name = literal`, `name(entry, …)` or a literal.
#[derive(Clone)]
pub enum Node {
    Literal(Lit),
    Item { name: Ident, value: Option<Lit>, children: Vec<Node> },
}

impl Parse for Node {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Lit) {
            let literal: Lit = input.parse()?;
            return match &literal {
                // A name that a macro passed as a string literal.
                Lit::Str(text) if input.peek(Token![=]) => {
                    input.parse::<Token![=]>()?;
                    let name = text.parse::<Ident>()?;
                    Ok(Self::Item { name, value: Some(input.parse()?), children: Vec::new() })
                }
                _ => Ok(Self::Literal(literal)),
            };
        }
        let name = input.call(Ident::parse_any)?;
        let (mut value, mut children) = (None, Vec::new());
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            value = Some(input.parse()?);
        } else if input.peek(token::Paren) {
            let inner;
            syn::parenthesized!(inner in input);
            children =
                Punctuated::<Self, Token![,]>::parse_terminated(&inner)?.into_iter().collect();
        }
        Ok(Self::Item { name, value, children })
    }
}

impl Node {
    pub fn span(&self) -> Span {
        match self {
            Self::Literal(literal) => literal.span(),
            Self::Item { name, .. } => name.span(),
        }
    }

    /// The name of an entry; an error for a literal.
    pub fn name(&self) -> Result<&Ident> {
        match self {
            Self::Item { name, .. } => Ok(name),
            Self::Literal(literal) => {
                Err(Error::new(literal.span(), "expected the name of a member"))
            }
        }
    }

    pub fn is(&self, text: &str) -> bool {
        matches!(self, Self::Item { name, .. } if name == text)
    }

    pub fn children(&self) -> &[Self] {
        match self {
            Self::Item { children, .. } => children,
            Self::Literal(_) => &[],
        }
    }

    /// The only entry in the brackets; an error for none or several.
    pub fn only(&self) -> Result<&Self> {
        match self.children() {
            [only] => Ok(only),
            _ => Err(Error::new(self.span(), "expected one entry in brackets")),
        }
    }

    pub fn value(&self) -> Option<&Lit> {
        match self {
            Self::Item { value, .. } => value.as_ref(),
            Self::Literal(literal) => Some(literal),
        }
    }

    pub fn text(&self) -> Result<&LitStr> {
        match self.value() {
            Some(Lit::Str(text)) => Ok(text),
            _ => Err(Error::new(self.span(), "expected a text, as in `name = \"text\"`")),
        }
    }

    pub fn number(&self) -> Result<u8> {
        match self.value() {
            Some(Lit::Int(number)) => number.base10_parse(),
            _ => Err(Error::new(self.span(), "expected a number from 1 to 255")),
        }
    }
}

/// The entries of all attributes called `name`, in order.
pub fn nodes(attributes: &[Attribute], name: &str) -> Result<Vec<Node>> {
    Ok(groups(attributes, name)?.into_iter().flatten().collect())
}

/// The entries of each attribute called `name`.
pub fn groups(attributes: &[Attribute], name: &str) -> Result<Vec<Vec<Node>>> {
    let called = attributes.iter().filter(|attribute| attribute.path().is_ident(name));
    called
        .map(|attribute| {
            let list =
                attribute.parse_args_with(Punctuated::<Node, Token![,]>::parse_terminated)?;
            Ok(list.into_iter().collect())
        })
        .collect()
}

/// The path of a member, or of a member inside a member.
#[derive(Clone)]
pub struct Path(pub Vec<Ident>);

impl Path {
    /// The path of an entry; nested members are in brackets: `timeline(due_date_time)`.
    pub fn of(node: &Node) -> Result<Self> {
        let mut path = vec![node.name()?.clone()];
        if !node.children().is_empty() {
            path.extend(Self::of(node.only()?)?.0);
        }
        Ok(Self(path))
    }

    pub fn head(&self) -> &Ident {
        &self.0[0]
    }

    pub fn span(&self) -> Span {
        self.0.last().map_or_else(Span::call_site, Ident::span)
    }

    /// The path in the wire form: `timeline.dueDateTime`.
    pub fn wire(&self) -> String {
        self.0.iter().map(camel_case).collect::<Vec<_>>().join(".")
    }

    /// The path in upper case: `TIMELINE_DUE_DATE_TIME`.
    pub fn upper_case(&self) -> String {
        self.0.iter().map(|name| plain(name).to_uppercase()).collect::<Vec<_>>().join("_")
    }

    /// An expression for the value at the path of `root`, as an optional reference.
    pub fn get(&self, root: &Ident) -> proc_macro2::TokenStream {
        let (head, rest) = (&self.0[0], &self.0[1..]);
        let rest = rest
            .iter()
            .map(|name| quote!(.and_then(|inner| crate::value::part::Part::part(&inner.#name))));
        quote!(crate::value::part::Part::part(&#root.#head) #(#rest)*)
    }
}

impl ToTokens for Path {
    fn to_tokens(&self, tokens: &mut proc_macro2::TokenStream) {
        let wire = self.wire();
        tokens.extend(quote!(#wire));
    }
}

pub fn plain(name: &Ident) -> String {
    name.unraw().to_string()
}

/// Converts `part_number` to `partNumber`.
pub fn camel_case(name: &Ident) -> String {
    let pascal = pascal_case(&plain(name));
    let mut letters = pascal.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Converts `part_number` and `PART_NUMBER` to `PartNumber`.
pub fn pascal_case(name: &str) -> String {
    name.split('_').map(|word| upper_first(&word.to_lowercase())).collect()
}

/// Converts `partNumber` to `PartNumber`.
pub fn upper_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The paths of a list in which brackets contain the members of a member: `timeline(start, end)`
/// gives two.
pub fn paths(nodes: &[Node], is_option: fn(&Node) -> bool) -> Result<Vec<(Path, Vec<Node>)>> {
    fn walk(
        node: &Node,
        before: &[Ident],
        is_option: fn(&Node) -> bool,
        found: &mut Vec<(Path, Vec<Node>)>,
    ) -> Result<()> {
        let mut path = before.to_vec();
        path.push(node.name()?.clone());
        let (options, nested): (Vec<_>, Vec<_>) =
            node.children().iter().partition(|child| is_option(child));
        if nested.is_empty() {
            let value = node.value().cloned().map(Node::Literal);
            found.push((Path(path), options.into_iter().cloned().chain(value).collect()));
            return Ok(());
        }
        if let Some(option) = options.first() {
            return Err(Error::new(
                option.span(),
                "this option applies to one field, but the brackets contain several; write them \
                 separately",
            ));
        }
        nested.into_iter().try_for_each(|child| walk(child, &path, is_option, found))
    }
    let mut found = Vec::new();
    nodes.iter().try_for_each(|node| walk(node, &[], is_option, &mut found))?;
    Ok(found)
}
