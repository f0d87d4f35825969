//! The bytes of one simulated file, in shared pages, so that each of thousands of crash images
//! costs only the pages in which it differs.

use std::sync::Arc;

const PAGE_BYTES: usize = 4096;

type Page = [u8; PAGE_BYTES];

#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    len: u64,
    /// `None` reads as zeros. Invariant: all bytes from `len` on are zero.
    pages: Vec<Option<Arc<Page>>>,
}

/// Splits `[offset, offset + len)` at page boundaries: page number, start in the page, number of
/// bytes.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut at = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = at.saturating_add(len);
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (page, start) = (at / PAGE_BYTES, at % PAGE_BYTES);
        let count = (PAGE_BYTES - start).min(end - at);
        at += count;
        Some((page, start, count))
    })
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn set_len(&mut self, len: u64) {
        let pages = usize::try_from(len.div_ceil(PAGE_BYTES as u64)).unwrap_or(usize::MAX);
        if len < self.len {
            self.pages.truncate(pages);
            let tail = usize::try_from(len % PAGE_BYTES as u64).unwrap_or(0);
            if tail > 0
                && let Some(Some(page)) = self.pages.last_mut()
                && let Some(rest) = Arc::make_mut(page).get_mut(tail..)
            {
                rest.fill(0);
            }
        } else {
            self.pages.resize(pages, None);
        }
        self.len = len;
    }

    /// Writes `data`; grows the file to the end of `data` if needed.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let end = offset + data.len() as u64;
        if end > self.len {
            self.set_len(end);
        }
        let mut rest = data;
        for (page, start, count) in pieces(offset, data.len()) {
            let (piece, after) = rest.split_at(count);
            rest = after;
            if let Some(slot) = self.pages.get_mut(page) {
                let page = slot.get_or_insert_with(|| Arc::new([0; PAGE_BYTES]));
                if let Some(target) = Arc::make_mut(page).get_mut(start..start + count) {
                    target.copy_from_slice(piece);
                }
            }
        }
    }

    /// Fills `buffer` as far as the file goes, and says how far that is.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let there = usize::try_from(self.len.saturating_sub(offset))
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let mut rest = buffer.get_mut(..there).unwrap_or_default();
        for (page, start, count) in pieces(offset, there) {
            let (piece, after) = rest.split_at_mut(count);
            rest = after;
            match self
                .pages
                .get(page)
                .and_then(Option::as_ref)
                .and_then(|page| page.get(start..start + count))
            {
                Some(source) => piece.copy_from_slice(source),
                None => piece.fill(0),
            }
        }
        there
    }

    /// Feeds every byte to a hash, zeros included.
    pub(super) fn hash(&self, hasher: &mut xxhash_rust::xxh3::Xxh3) {
        hasher.update(&self.len.to_le_bytes());
        for page in &self.pages {
            match page {
                Some(page) => hasher.update(&page[..]),
                None => hasher.update(&[0; PAGE_BYTES]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_behave_as_one_vector_would() {
        let mut random = crate::disk::sim::random::Random::new(1);
        let (mut content, mut model) = (Content::default(), Vec::new());
        for step in 0..2000 {
            let offset = random.below(20_000);
            let start = usize::try_from(offset).unwrap();
            if random.percent(30) {
                content.set_len(offset);
                model.resize(start, 0);
            } else {
                let data = vec![
                    u8::try_from(step % 251).unwrap() + 1;
                    usize::try_from(random.below(9000)).unwrap()
                ];
                content.write(offset, &data);
                if !data.is_empty() {
                    model.resize(model.len().max(start + data.len()), 0);
                    model[start..start + data.len()].copy_from_slice(&data);
                }
            }
            assert_eq!(content.len(), model.len() as u64);
            let mut bytes = vec![1; model.len() + 10];
            assert_eq!(content.read(0, &mut bytes), model.len());
            assert_eq!(bytes[..model.len()], model[..]);
        }
    }
}
