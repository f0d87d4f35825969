//! Upload sessions: chunks arrive in any order, each durable when its call returns; one commit
//! makes the file visible.

use std::collections::BTreeMap;
use std::io::Read;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::{Error, Result};
use crate::model::{
    FileId, NAME, Resource, StoredContent, UploadChunk, UploadSession, UploadSessionId,
    UploadSessionRecord, UploadSessionState, UploadedChunk, Usage,
};
use crate::records::Space;
use crate::services::content::{self, Room};
use crate::services::files::create::{NewFile, create};
use crate::services::service_record::{ServiceRecord, found, get};
use crate::session::{Access, Draft, Session, What};
use crate::value::{Action, Control, limits};

const WHAT: &str = "an upload session";

impl ServiceRecord for UploadSessionRecord {
    const ABSENT: (&'static str, Option<i64>) = ("Files.UploadSessionNotFound", None);
}

pub(in crate::services) fn start<A: Access>(
    access: &A,
    workspace: Option<String>,
) -> Result<UploadSession> {
    access.refuse_in_transaction(WHAT)?;
    let workspace = workspace.unwrap_or_else(|| access.context().default_workspace().to_owned());
    access.write(move |draft| {
        let id = UploadSessionId::from(draft.new_key::<UploadSessionRecord>()?);
        let session = UploadSessionRecord { id, created_at: draft.now(), workspace };
        draft.put(&session, What::Created)?;
        Ok(UploadSession { id: session.id.to_string(), created_at: session.created_at })
    })
}

pub(in crate::services) fn append<A: Access>(
    access: &A,
    session_id: &str,
    chunk_index: u32,
    source: &mut dyn Read,
    close: bool,
    control: &Control,
) -> Result<()> {
    access.refuse_in_transaction(WHAT)?;
    if chunk_index == 0 || chunk_index > limits::UPLOAD_CHUNKS {
        return Err(Error::invalid(format!(
            "the chunk index {chunk_index} is not between 1 and {}",
            limits::UPLOAD_CHUNKS
        ))
        .at_member("chunkIndex"));
    }
    let session = get::<UploadSessionRecord>(access, session_id)?;
    // Chunks are not records, so no later step asks the policy.
    access.context().require(
        UploadSessionRecord::KIND.service,
        Action::Create,
        &session.workspace,
    )?;
    // Checked before the bytes are written, and again in the transaction below.
    let prefix = session_prefix(&session);
    let others = access.read(|view| {
        let chunks = view.raw_prefix(Space::UploadChunks, &prefix)?;
        let others = bytes_of_others(&prefix, &chunks, chunk_index)?;
        refuse_after_last(&prefix, chunks, chunk_index)?;
        Ok(others)
    })?;
    // The session has counted as a record since it began; its file counts with all chunks.
    let more = Usage { content_bytes: others, ..Usage::default() };
    let room = Room::new(access, &session.workspace, more)?;
    let new = content::store_chunk(access, source, room, &access.context().control(control))?;
    let size = new.content.size();
    if size > limits::UPLOAD_CHUNK_BYTES || (!close && size != limits::UPLOAD_CHUNK_BYTES) {
        return Err(Error::invalid(format!(
            "the chunk {chunk_index} has {} bytes; every chunk has exactly {}, only the one sent \
             with close has fewer",
            if size > limits::UPLOAD_CHUNK_BYTES {
                format!("more than {}", size - 1)
            } else {
                size.to_string()
            },
            limits::UPLOAD_CHUNK_BYTES
        ))
        .at_member("file"));
    }
    let draft_content = new.draft();
    let content = new.content.clone();
    let session_id = session_id.to_owned();
    let written = access.write(move |draft| {
        // Another caller may have finished the session while the bytes were written.
        let session = found(&session_id, draft.get::<UploadSessionRecord>(&session_id)?)?;
        let prefix = session_prefix(&session);
        refuse_after_last(&prefix, draft.raw_prefix(Space::UploadChunks, &prefix)?, chunk_index)?;
        let key = chunk_key(&session, chunk_index);
        if let Some(before) = draft.raw(Space::UploadChunks, &key)? {
            content::forget(draft, &content::open_chunk(&key, &before)?.content);
        }
        let chunk = UploadChunk { content, close, arrived_at: draft.now() };
        let value = content::seal_chunk(&key, &chunk)?;
        draft.put_raw(Space::UploadChunks, key, value);
        draft_content(draft);
        Ok(())
    });
    new.settle(written)
}

/// The bytes of the chunks of a session, without those of one chunk, which may replace others.
fn bytes_of_others(prefix: &[u8], chunks: &[(Vec<u8>, Vec<u8>)], index: u32) -> Result<u64> {
    let mut bytes = 0_u64;
    for (key, value) in chunks {
        if chunk_index(prefix, key)? != index {
            bytes = bytes.saturating_add(content::open_chunk(key, value)?.content.size());
        }
    }
    Ok(bytes)
}

/// Rejects a chunk after the one that was sent with close; `chunks` are the chunks of the session
/// that have arrived.
fn refuse_after_last(prefix: &[u8], chunks: Vec<(Vec<u8>, Vec<u8>)>, index: u32) -> Result<()> {
    for (key, value) in chunks {
        let arrived = chunk_index(prefix, &key)?;
        if arrived < index && content::open_chunk(&key, &value)?.close {
            return Err(Error::invalid(format!(
                "the chunk {arrived} was sent with close, so it is the last, and chunk {index} \
                 cannot follow it; send chunk {arrived} again without close to go on"
            ))
            .at_member("chunkIndex")
            .with_args([index.to_string()]));
        }
    }
    Ok(())
}

fn session_prefix(session: &UploadSessionRecord) -> Vec<u8> {
    session.key().map(|key| key.as_bytes().to_vec()).unwrap_or_default()
}

fn chunk_key(session: &UploadSessionRecord, index: u32) -> Vec<u8> {
    content::chunk_key(&session_prefix(session), index)
}

fn chunk_index(prefix: &[u8], key: &[u8]) -> Result<u32> {
    let index =
        key.get(prefix.len()..).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    index.ok_or_else(|| Error::corrupt("records.redb: the key of an upload chunk is damaged"))
}

/// The chunks of a session by index. Deletes their keys and the session in the draft.
fn take_chunks(
    draft: &mut Draft<'_>,
    session: &UploadSessionRecord,
) -> Result<Vec<(u32, UploadChunk)>> {
    let prefix = session_prefix(session);
    let mut chunks = Vec::new();
    for (key, value) in draft.raw_prefix(Space::UploadChunks, &prefix)? {
        chunks.push((chunk_index(&prefix, &key)?, content::open_chunk(&key, &value)?));
        draft.delete_raw(Space::UploadChunks, key);
    }
    if let Some(key) = session.key() {
        // Nobody saw the upload session as a record, so finishing or cancelling it needs no
        // permission to delete.
        draft.delete_by_store::<UploadSessionRecord>(key)?;
    }
    Ok(chunks)
}

pub(in crate::services) fn finish<A: Access>(
    access: &A,
    session_id: &str,
    name: &str,
    mut properties: BTreeMap<String, String>,
) -> Result<FileId> {
    access.refuse_in_transaction(WHAT)?;
    if !name.is_empty() {
        properties.insert(NAME.to_owned(), name.to_owned());
    }
    let session_id = session_id.to_owned();
    let bytes_max = access.context().settings().file_bytes_max;
    access.write(move |draft| {
        let session = found(&session_id, draft.get::<UploadSessionRecord>(&session_id)?)?;
        let chunks = take_chunks(draft, &session)?;
        check_complete(&chunks)?;
        let mut all = StoredContent::default();
        for (_, chunk) in chunks {
            if chunk.content.size() == 0 {
                content::forget(draft, &chunk.content);
            } else {
                all.parts.extend(chunk.content.parts);
            }
        }
        if let Some(max) = bytes_max.filter(|max| all.size() > *max) {
            return Err(Error::limit(format!(
                "the file has {} bytes, more than the {max} that the store's options allow",
                all.size()
            )));
        }
        create(
            draft,
            NewFile {
                id: None,
                properties,
                name: None,
                workspace: session.workspace,
                content: all,
            },
        )
    })
}

fn check_complete(chunks: &[(u32, UploadChunk)]) -> Result<()> {
    let Some((last, _)) = chunks.last() else {
        return Err(Error::invalid(
            "the upload session has no chunks; for an empty file send one with close",
        ));
    };
    for (expected, (index, chunk)) in (1u32..).zip(chunks) {
        if *index != expected {
            return Err(Error::invalid(format!("chunk {expected} of {last} has not arrived"))
                .with_args([expected.to_string()]));
        }
        if chunk.close && index != last {
            return Err(Error::invalid(format!(
                "the chunk {index} was sent with close, but chunk {last} follows it"
            ))
            .with_args([index.to_string()]));
        }
    }
    Ok(())
}

/// The unfinished sessions, in the order of their start.
pub(in crate::services) fn list<A: Access>(access: &A) -> Result<Vec<UploadSessionState>> {
    let lifetime = lifetime(access);
    access.read(|view| {
        let mut states = Vec::new();
        view.for_each::<UploadSessionRecord>(|session| {
            let prefix = session_prefix(&session);
            let mut chunks = Vec::new();
            let mut last = session.created_at;
            for (key, value) in view.raw_prefix(Space::UploadChunks, &prefix)? {
                let chunk = content::open_chunk(&key, &value)?;
                let index = chunk_index(&prefix, &key)?;
                last = last.max(chunk.arrived_at);
                chunks.push(UploadedChunk {
                    index,
                    size: chunk.content.size(),
                    close: chunk.close,
                });
            }
            states.push(UploadSessionState {
                expires_at: lifetime.and_then(|lifetime| last.checked_add_signed(lifetime)),
                id: session.id.to_string(),
                created_at: session.created_at,
                workspace: session.workspace,
                chunks,
            });
            Ok(true)
        })?;
        Ok(states)
    })
}

pub(in crate::services) fn cancel<A: Access>(access: &A, session_id: &str) -> Result<()> {
    access.refuse_in_transaction(WHAT)?;
    let session_id = session_id.to_owned();
    access.write(move |draft| {
        let session = found(&session_id, draft.get::<UploadSessionRecord>(&session_id)?)?;
        draft.context().require(
            UploadSessionRecord::KIND.service,
            Action::Create,
            &session.workspace,
        )?;
        for (_, chunk) in take_chunks(draft, &session)? {
            content::forget(draft, &chunk.content);
        }
        Ok(())
    })
}

fn lifetime<A: Access>(access: &A) -> Option<TimeDelta> {
    access
        .context()
        .settings()
        .upload_session_days
        .and_then(|days| TimeDelta::try_days(i64::from(days)))
}

/// Deletes the sessions whose last chunk, or start if there are no chunks, is older than the option
/// allows.
///
/// # Errors
/// The errors of a write.
pub(crate) fn expire(session: &Session) -> Result<u64> {
    let Some(lifetime) = lifetime(session) else { return Ok(0) };
    let mut old = Vec::new();
    session.read(|view| {
        let now = view.now();
        view.for_each_of_anyone::<UploadSessionRecord>(|upload| {
            if is_over(&upload, now, lifetime, || {
                view.raw_prefix(Space::UploadChunks, &session_prefix(&upload))
            })? {
                old.extend(upload.key());
            }
            Ok(true)
        })
    })?;
    let mut expired = 0;
    for key in old {
        expired += session.write(move |draft| {
            // Checked again in the write turn: a chunk may have arrived since, or the session may
            // be finished.
            let Some(upload) = draft.any_by_key::<UploadSessionRecord>(key)? else { return Ok(0) };
            let chunks = || draft.raw_prefix(Space::UploadChunks, &session_prefix(&upload));
            if !is_over(&upload, draft.now(), lifetime, chunks)? {
                return Ok(0);
            }
            for (_, chunk) in take_chunks(draft, &upload)? {
                content::forget(draft, &chunk.content);
            }
            Ok(1)
        })?;
    }
    Ok(expired)
}

fn is_over(
    upload: &UploadSessionRecord,
    now: DateTime<Utc>,
    lifetime: TimeDelta,
    chunks: impl FnOnce() -> Result<Vec<(Vec<u8>, Vec<u8>)>>,
) -> Result<bool> {
    let is_old = |time: DateTime<Utc>| now.signed_duration_since(time) > lifetime;
    // Most sessions are young. Their chunks need not be read.
    if !is_old(upload.created_at) {
        return Ok(false);
    }
    for (key, value) in chunks()? {
        if !is_old(content::open_chunk(&key, &value)?.arrived_at) {
            return Ok(false);
        }
    }
    Ok(true)
}
