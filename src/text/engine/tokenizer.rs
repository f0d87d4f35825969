//! The engine's tokenizer, over [`words`](crate::text::words).

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::text::folding::Folding;
use crate::text::words::{Word, Words, words};

/// Splits text into words of this folding.
#[derive(Clone)]
pub(crate) struct WordTokenizer(pub Folding);

/// The words of one text.
pub(crate) struct WordStream<'t> {
    words: Words<'t>,
    word: Word,
    token: Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'t> = WordStream<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> WordStream<'t> {
        let word = Word { text: String::new(), start: 0, end: 0 };
        WordStream { words: words(text, self.0), word, token: Token::default() }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        // The text of the token is the buffer of the next word: swapping avoids an allocation per
        // word.
        std::mem::swap(&mut self.word.text, &mut self.token.text);
        let found = self.words.next_into(&mut self.word);
        std::mem::swap(&mut self.word.text, &mut self.token.text);
        self.token.offset_from = self.word.start;
        self.token.offset_to = self.word.end;
        self.token.position = self.token.position.wrapping_add(1);
        found
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
