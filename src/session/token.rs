//! Continuation tokens: opaque, signed with a key of the store, and bound to the query that made
//! them.
//!
//! Layout before base64url: version (1 byte), fingerprint of the query (8 bytes), position, and the
//! first 16 bytes of an HMAC-SHA-256 over all of it. The key is drawn when the store is created, so
//! tokens survive a reopening of the store and cannot be forged.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};
use crate::value::limits;

pub(crate) const VERSION: u8 = 1;
const TAG_BYTES: usize = 16;

/// A running hash over everything that must stay the same while a client reads page after page.
#[derive(Default)]
pub(crate) struct Fingerprint(Xxh3);

impl Fingerprint {
    /// A fingerprint that starts with the name of the query.
    pub(crate) fn new(query: &str) -> Self {
        Self::default().with(query.as_bytes())
    }

    /// Adds one part, with its length, so that different parts never give the same input.
    pub(crate) fn with(mut self, part: &[u8]) -> Self {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    fn finish(&self) -> u64 {
        self.0.digest()
    }
}

fn tag(key: &[u8; 32], body: &[u8]) -> Result<[u8; TAG_BYTES]> {
    let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(key).map_err(|_| {
        Error::corrupt(
            "records.redb: the token key of the store is damaged; restore it from a backup",
        )
    })?;
    mac.update(body);
    let full = mac.finalize().into_bytes();
    let mut tag = [0; TAG_BYTES];
    tag.iter_mut().zip(full).for_each(|(target, byte)| *target = byte);
    Ok(tag)
}

/// Encodes and signs the token for `position`.
///
/// # Errors
/// `LimitExceeded` when the position is too long for a token.
pub(crate) fn seal(key: &[u8; 32], query: &Fingerprint, position: &[u8]) -> Result<String> {
    let mut body = vec![VERSION];
    body.extend_from_slice(&query.finish().to_be_bytes());
    body.extend_from_slice(position);
    let tag = tag(key, &body)?;
    body.extend_from_slice(&tag);
    let token = URL_SAFE_NO_PAD.encode(body);
    // Refuses now: otherwise the client gets a page whose token the next call refuses.
    if token.len() > limits::TOKEN_BYTES {
        return Err(Error::limit(format!(
            "the sort values at the end of the page need a continuation token of {} bytes; \
             TOKEN_BYTES allows {}",
            token.len(),
            limits::TOKEN_BYTES
        )));
    }
    Ok(token)
}

/// The position in a token; `None` when there is no token (absent or empty).
///
/// # Errors
/// `InvalidArgument` when the token is malformed, forged, or belongs to another query.
pub(crate) fn open(
    key: &[u8; 32],
    query: &Fingerprint,
    token: Option<&str>,
) -> Result<Option<Vec<u8>>> {
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    let refused = |why: &str| {
        Err(Error::invalid(format!(
            "the continuation token {why}; start the query again without one"
        ))
        .at_member("continuationToken"))
    };
    if token.len() > limits::TOKEN_BYTES {
        return refused("is longer than any token of this store");
    }
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else {
        return refused("is malformed");
    };
    let Some(body_len) = bytes.len().checked_sub(TAG_BYTES).filter(|len| *len >= 9) else {
        return refused("is malformed");
    };
    let (body, given) = bytes.split_at(body_len);
    let expected = tag(key, body)?;
    // No early exit: the time of the comparison must reveal nothing about the tag.
    let difference =
        expected.iter().zip(given).fold(0u8, |difference, (a, b)| difference | (a ^ b));
    if difference != 0 {
        return refused("is malformed or was not made by this store");
    }
    let (head, position) = body.split_at(9);
    if head.first() != Some(&VERSION) {
        return refused("was made by another version");
    }
    if head.get(1..) != Some(query.finish().to_be_bytes().as_slice()) {
        return refused("belongs to a query with other arguments");
    }
    Ok(Some(position.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_only_for_its_own_query_and_untouched() {
        let key = [7; 32];
        let query = Fingerprint::new("a").with(b"b");
        let token = seal(&key, &query, b"position").unwrap();
        assert_eq!(
            open(&key, &query, Some(&token)).unwrap().as_deref(),
            Some(b"position".as_slice())
        );
        assert_eq!(open(&key, &query, None).unwrap(), None);
        assert_eq!(open(&key, &query, Some("")).unwrap(), None);
        assert!(open(&key, &Fingerprint::new("ab"), Some(&token)).is_err());
        assert!(open(&[8; 32], &query, Some(&token)).is_err());
        for index in 0..token.len() {
            let mut forged = token.clone().into_bytes();
            forged[index] = if forged[index] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            assert!(open(&key, &query, Some(&forged)).is_err(), "{index}");
        }
        assert!(open(&key, &query, Some(&"A".repeat(5000))).is_err());
    }

    #[test]
    fn each_refusal_says_what_is_wrong() {
        let key = [7; 32];
        let query = Fingerprint::new("a");
        let sealed_as = |version: u8| {
            let mut body = vec![version];
            body.extend_from_slice(&query.finish().to_be_bytes());
            body.extend_from_slice(b"position");
            let tag = tag(&key, &body).unwrap();
            URL_SAFE_NO_PAD.encode([body.as_slice(), &tag].concat())
        };
        let token = sealed_as(VERSION);
        assert!(open(&key, &query, Some(&token)).is_ok());
        let cut = &token[..token.len() - 4];
        for (token, query, key, why) in [
            (sealed_as(VERSION - 1), &query, key, "was made by another version"),
            (sealed_as(VERSION + 1), &query, key, "was made by another version"),
            (token.clone(), &Fingerprint::new("b"), key, "belongs to a query with other arguments"),
            (token.clone(), &query, [8; 32], "was not made by this store"),
            (cut.to_owned(), &query, key, "was not made by this store"),
            ("A".to_owned(), &query, key, "is malformed"),
            ("~~~~".to_owned(), &query, key, "is malformed"),
            ("A".repeat(limits::TOKEN_BYTES + 1), &query, key, "is longer than any token"),
        ] {
            let error = open(&key, query, Some(&token)).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
            assert_eq!(error.place(), Some(&crate::Place::Member("continuationToken".to_owned())));
            assert!(error.message().contains(why), "{error}");
        }
    }

    #[test]
    fn tokens_have_a_bound() {
        let query = Fingerprint::new("a");
        limits::holds_at(limits::TOKEN_BYTES, crate::ErrorKind::LimitExceeded, |len| {
            let refusal = open(&[7; 32], &query, Some(&"A".repeat(len))).unwrap_err();
            // Every token here is refused, but only a longer one before it is decoded.
            if refusal.message().contains("is longer than any token") {
                Err(Error::limit("longer"))
            } else {
                Ok(())
            }
        });
    }

    #[test]
    fn a_position_that_no_token_holds_is_refused_when_it_is_made() {
        let position = vec![0; limits::TOKEN_BYTES];
        let error = seal(&[7; 32], &Fingerprint::new("a"), &position).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::LimitExceeded);
        let query = Fingerprint::new("a");
        let token = seal(&[7; 32], &query, &position[..limits::TOKEN_POSITION_BYTES + 1]).unwrap();
        assert!(open(&[7; 32], &query, Some(&token)).is_ok());
    }
}
