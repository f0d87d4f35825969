//! One text search over the index and the changes that it lacks, restricted to what the caller may
//! see.

use std::sync::Arc;

use super::feed::shown;
use crate::error::{Error, Result};
use crate::model::search::{
    SearchFacet, SearchFacets, SearchHit, SearchRequest, SearchResponse, SearchSnippet,
};
use crate::session::access::identity::Visibility;
use crate::session::access::sessions::Access;
use crate::session::token::{self, Fingerprint};
use crate::session::view::View;
use crate::text::{self, After, DocKey, Hits, Index, Request, Scope, Shape};
use crate::value::limits::SEARCH_TAKE;

/// Runs a search.
///
/// # Errors
/// `InvalidArgument` for a malformed query, an unknown kind or field, or a token of another query;
/// `LimitExceeded` above a bound;
/// `Unsupported` without the feature.
pub(crate) fn search(access: &impl Access, ask: &SearchRequest) -> Result<SearchResponse> {
    access.read(|view| {
        let outbox = &view.context().engine.search;
        let beginnings = outbox.beginnings();
        let found = search_at(view, access.is_transaction(), ask);
        match found {
            // The index is damaged, but not the records: build it again.
            Err(error) if error.is_damage() => {
                outbox.rebuild(view.context(), beginnings)?;
                search_at(view, access.is_transaction(), ask)
            }
            outcome => outcome,
        }
    })
}

fn search_at(view: &View<'_>, is_transaction: bool, ask: &SearchRequest) -> Result<SearchResponse> {
    let engine = &view.context().engine;
    let (index, newest) = engine.search.state_at(view)?;
    let (request, walk) = prepare(view, &index, ask)?;
    // A view with the writes of a transaction is not kept for further pages.
    let walk =
        walk.filter(|_| !is_transaction).and_then(|number| Some((index.walk(number)?, number)));
    let (state, walk) = walk.map_or((newest, None), |(state, number)| (state, Some(number)));
    let hits = state.search(&request)?;
    let mut page = answer(view, &index, ask, &request, &hits)?;
    if let (true, Some(last)) = (hits.has_more, hits.hits.last()) {
        let walk = match walk {
            Some(walk) => walk,
            None if is_transaction => 0,
            None => index.begin_walk(&state),
        };
        let position = position(walk, &After { score: last.score, key: last.key });
        page.continuation_token =
            Some(token::seal(&engine.token_key, &fingerprint(ask), &position)?);
    }
    Ok(page)
}

fn text_of(ask: &SearchRequest) -> &str {
    ask.text.as_deref().unwrap_or_default()
}

fn prepare(view: &View<'_>, index: &Index, ask: &SearchRequest) -> Result<(Request, Option<u64>)> {
    let take = ask.page_size()?;
    if take > SEARCH_TAKE {
        return Err(Error::invalid(format!("take is {take}; SEARCH_TAKE allows {SEARCH_TAKE}"))
            .at_member("take"));
    }
    let shape = index.shape();
    let mut request = Request::new(text::parse(text_of(ask), shape)?, take);
    request.count = ask.return_count.unwrap_or(true);
    request.facets = ask.facets.unwrap_or(false);
    if !ask.fields.is_empty() {
        let place = |(at, name): (usize, &String)| {
            shape.field(name).ok_or_else(|| {
                let known: Vec<&str> =
                    shape.fields.iter().map(|field| field.name.as_str()).collect();
                Error::invalid(format!(
                    "there is no text field {name:?}; expected one of {}",
                    known.join(", ")
                ))
                .at_member(format!("fields[{at}]"))
            })
        };
        let mut fields: Vec<usize> = Vec::new();
        for found in ask.fields.iter().enumerate().map(place) {
            let field = found?;
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        request.fields = Some(fields);
    }
    request.scopes = scopes(view, shape, ask)?;
    request.fixed_statistics =
        shape.kinds.iter().any(|kind| view.visibility(*kind) != Visibility::All);
    let key = &view.context().engine.token_key;
    let position = token::open(key, &fingerprint(ask), ask.continuation_token.as_deref())?;
    let walk = match position.map(|position| read_position(shape, &position)).transpose()? {
        Some((walk, after)) => {
            request.after = Some(after);
            Some(walk)
        }
        None => None,
    };
    Ok((request, walk))
}

/// The kinds and workspaces to search: those that are asked for and that the policy lets the caller
/// see. `None` means everything.
fn scopes(view: &View<'_>, shape: &Shape, ask: &SearchRequest) -> Result<Option<Vec<Scope>>> {
    let mut wanted = Vec::new();
    for (at, name) in ask.kinds.iter().enumerate() {
        let kind = shape.kind(name).ok_or_else(|| {
            let known: Vec<&str> = shape.kinds.iter().map(|kind| kind.event_name()).collect();
            Error::invalid(format!(
                "there is no kind {name:?} with text; expected one of {}",
                known.join(", ")
            ))
            .at_member(format!("kinds[{at}]"))
        })?;
        if !wanted.contains(&kind) {
            wanted.push(kind);
        }
    }
    let mut scopes: Vec<Scope> = Vec::new();
    let mut is_everything = ask.workspaces.is_empty();
    for kind in &shape.kinds {
        if !wanted.is_empty() && !wanted.contains(&kind.code) {
            is_everything = false;
            continue;
        }
        let workspaces: Option<Arc<[String]>> = match view.visibility(*kind) {
            Visibility::All if ask.workspaces.is_empty() => None,
            Visibility::All => Some(ask.workspaces.clone().into()),
            Visibility::None => Some(Vec::new().into()),
            Visibility::Workspaces(ids) if ask.workspaces.is_empty() => {
                Some(ids.iter().cloned().collect())
            }
            Visibility::Workspaces(ids) => {
                Some(ask.workspaces.iter().filter(|id| ids.contains(*id)).cloned().collect())
            }
        };
        is_everything &= workspaces.is_none();
        if workspaces.as_ref().is_some_and(|ids| ids.is_empty()) {
            continue;
        }
        match scopes.iter_mut().find(|scope| scope.workspaces == workspaces) {
            Some(scope) => scope.kinds.push(kind.code),
            None => scopes.push(Scope { kinds: vec![kind.code], workspaces }),
        }
    }
    Ok((!is_everything).then_some(scopes))
}

fn fingerprint(ask: &SearchRequest) -> Fingerprint {
    let mut fingerprint = Fingerprint::new("search").with(text_of(ask).as_bytes());
    for list in [&ask.kinds, &ask.workspaces, &ask.fields] {
        fingerprint = fingerprint.with(&(list.len() as u64).to_be_bytes());
        for item in list {
            fingerprint = fingerprint.with(item.as_bytes());
        }
    }
    fingerprint
}

/// The position of the next page: number of the walk, and score and key of the last hit.
fn position(walk: u64, after: &After) -> Vec<u8> {
    let mut bytes = walk.to_be_bytes().to_vec();
    bytes.extend_from_slice(&after.score.to_bits().to_be_bytes());
    bytes.extend_from_slice(&after.key.to_bytes());
    bytes
}

fn read_position(shape: &Shape, bytes: &[u8]) -> Result<(u64, After)> {
    let read = || {
        let (walk, rest) = bytes.split_first_chunk::<8>()?;
        let (score, key) = rest.split_first_chunk::<4>()?;
        let score = f32::from_bits(u32::from_be_bytes(*score));
        Some((u64::from_be_bytes(*walk), After { score, key: DocKey::from_bytes(shape, key)? }))
    };
    read().ok_or_else(|| {
        Error::invalid(
            "the continuation token is malformed or was made by another version; start the search \
             again without one",
        )
        .at_member("continuationToken")
    })
}

fn answer(
    view: &View<'_>,
    index: &Index,
    ask: &SearchRequest,
    request: &Request,
    hits: &Hits,
) -> Result<SearchResponse> {
    let engine = &view.context().engine;
    let shape = index.shape();
    let highlight = ask.highlight.unwrap_or(false);
    let mut answer = SearchResponse { total: hits.total, ..SearchResponse::default() };
    for hit in &hits.hits {
        // Deleted, or no longer visible, since the walk began.
        let Some((record, texts)) = shown(&engine.search, shape, view, hit.key, highlight)? else {
            continue;
        };
        let Some(kind) = shape.kinds.iter().find(|kind| kind.code == hit.key.kind).copied() else {
            continue;
        };
        // The scopes of the request are limited to what the caller may see now.
        if !request.admits(kind.code, &record.workspace) {
            continue;
        }
        let mut snippets = Vec::new();
        if highlight {
            view.context().check_deadline()?;
            for (field, text) in &texts {
                let name = shape.fields.get(*field).map(|field| field.name.clone());
                let snippet = text::highlight(
                    &request.query,
                    request.fields.as_deref(),
                    *field,
                    text,
                    shape.folding,
                );
                let named = name.zip(snippet);
                snippets.extend(named.map(|(field, snippet)| SearchSnippet { field, ..snippet }));
            }
        }
        answer.hits.push(SearchHit {
            kind: kind.event_name().to_owned(),
            id: record.id,
            name: record.name,
            workspace: record.workspace,
            score: f64::from(hit.score),
            snippets,
        });
    }
    if let Some(facets) = &hits.facets {
        let name = |code: u8| {
            let kind = shape.kinds.iter().find(|kind| kind.code == code)?;
            Some(kind.event_name().to_owned())
        };
        let facet = |value: String, count: &u64| SearchFacet { value, count: *count };
        let kinds = facets.kinds.iter();
        let workspaces = facets.workspaces.iter();
        answer.facets = Some(SearchFacets {
            kinds: kinds.filter_map(|(code, count)| Some(facet(name(*code)?, count))).collect(),
            workspaces: workspaces.map(|(id, count)| facet(id.clone(), count)).collect(),
        });
    }
    Ok(answer)
}
