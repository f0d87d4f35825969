//! Builds a column of a table from the text of each of its rows.

use std::sync::Arc;

use crate::arrow::array::{ArrayRef, BooleanBufferBuilder, StringBuilder};
use crate::arrow::buffer::NullBuffer;
use crate::columnar::column_slice::array_of_words;
use crate::error::{Error, Result};
use crate::model::tables::data::{Column, ColumnType};

/// The texts of a column.
#[allow(missing_debug_implementations, reason = "it has functions")]
pub struct TextColumn<'a, 't> {
    /// The column.
    pub column: &'a Column,
    /// The number of rows.
    pub rows: usize,
    /// The text of a row; `None` is null.
    pub text: &'a dyn Fn(usize) -> Option<&'t str>,
    /// The error of a row with a text that is no value of the column, or with a null that the
    /// column cannot have.
    pub fault: &'a dyn Fn(usize, Option<&str>) -> Error,
}

impl TextColumn<'_, '_> {
    /// Bytes of all texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let lengths = (0..self.rows).filter_map(self.text).map(str::len);
        lengths.fold(0, usize::saturating_add)
    }

    fn each(&self, take: &mut dyn FnMut(Option<&str>) -> bool) -> Result<()> {
        let is_nullable = self.column.column_type == ColumnType::Nullable;
        for row in 0..self.rows {
            let text = (self.text)(row);
            if text.is_none() && !is_nullable || !take(text) {
                return Err((self.fault)(row, text));
            }
        }
        Ok(())
    }

    /// The array of a column of texts, whose bytes are known.
    ///
    /// # Errors
    /// The first fault.
    pub fn texts(&self, bytes: usize) -> Result<ArrayRef> {
        let mut texts = StringBuilder::with_capacity(self.rows, bytes);
        self.each(&mut |text| {
            texts.append_option(text);
            true
        })?;
        Ok(Arc::new(texts.finish()))
    }

    /// The array of a column of no texts; `word` reads the word of a cell.
    ///
    /// # Errors
    /// The first fault.
    pub fn words(&self, word: &dyn Fn(&str) -> Option<u64>) -> Result<ArrayRef> {
        let mut words = Vec::with_capacity(self.rows);
        let mut valid = BooleanBufferBuilder::new(self.rows);
        self.each(&mut |text| {
            let word = text.map_or(Some(0), word);
            words.push(word.unwrap_or_default());
            valid.append(text.is_some());
            word.is_some()
        })?;
        let nulls = Some(NullBuffer::new(valid.finish())).filter(|nulls| nulls.null_count() > 0);
        array_of_words(self.column.data_type, words, nulls)
            .ok_or_else(|| Error::corrupt("internal error: a column of texts has words; report it"))
    }
}
