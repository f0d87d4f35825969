//! The bytes of a file in shared pages, so that a copy costs what differs.

use std::sync::Arc;

const PAGE_BYTES: usize = 4096;

type Page = [u8; PAGE_BYTES];

#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    len: u64,
    /// `None` reads as zeros. What must hold: the bytes from `len` on are zero.
    pages: Vec<Option<Arc<Page>>>,
}

/// Splits `len` bytes from `offset` at the pages: page, start in it, number of bytes.
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
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of the pages that were written.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        self.pages.iter().flatten().count() as u64 * PAGE_BYTES as u64
    }

    pub(crate) fn set_len(&mut self, len: u64) {
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
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
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
            // Zeros where nothing was written need no page.
            if let Some(slot) = self.pages.get_mut(page)
                && (slot.is_some() || piece.iter().any(|byte| *byte != 0))
            {
                let page = slot.get_or_insert_with(|| Arc::new([0; PAGE_BYTES]));
                if let Some(target) = Arc::make_mut(page).get_mut(start..start + count) {
                    target.copy_from_slice(piece);
                }
            }
        }
    }

    /// At most `len` bytes from `offset`, as far as the file goes.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let there = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX).min(len);
        let mut out = Vec::with_capacity(there);
        for (page, start, count) in pieces(offset, there) {
            let page = self.pages.get(page).and_then(Option::as_ref);
            match page.and_then(|page| page.get(start..start + count)) {
                Some(bytes) => out.extend_from_slice(bytes),
                None => out.resize(out.len() + count, 0),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_behave_as_one_vector_would() {
        let mut random = crate::Random::new(1);
        let (mut content, mut model) = (Content::default(), Vec::new());
        for step in 0..2000 {
            let start = usize::try_from(random.below(20_000)).unwrap();
            if random.percent(30) {
                content.set_len(start as u64);
                model.resize(start, 0);
            } else {
                let byte = u8::try_from(step % 251).unwrap() + 1;
                let data = vec![byte; usize::try_from(random.below(9000)).unwrap()];
                content.write(start as u64, &data);
                if !data.is_empty() {
                    model.resize(model.len().max(start + data.len()), 0);
                    model[start..start + data.len()].copy_from_slice(&data);
                }
            }
            assert_eq!(content.len(), model.len() as u64);
            assert_eq!(content.read(0, model.len() + 10), model);
        }
    }
}
