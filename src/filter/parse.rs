//! Parses tokens to a tree. Recursion is bounded by [`limits::FILTER_DEPTH`]; flat chains of
//! operators do not recurse.

use super::fault::{Fault, FaultKind, FaultResult, Span};
use super::lex::{Lexer, Token, clip};
use super::syntax::{Arg, Arithmetic, Ast, Comparison, Items, Junction, Node};
use crate::value::limits;

/// Parses a filter. `brackets` allows the bracket lists of asset filters.
pub(super) fn parse(text: &str, brackets: bool) -> FaultResult<Box<Ast>> {
    if text.len() > limits::FILTER_BYTES {
        let cut = (0..=limits::FILTER_BYTES)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or_default();
        return Err(Fault::limit(Span::new(cut, cut), "bytes", limits::FILTER_BYTES));
    }
    let mut lexer = Lexer::new(text);
    let (token, span) = lexer.next()?;
    let mut parser = Parser { text, lexer, token, span, depth: 0, nodes: 0, brackets };
    let tree = parser.expression()?;
    if parser.token == Token::End {
        Ok(tree)
    } else {
        let is_like = parser.span.text(text).eq_ignore_ascii_case("like");
        Err(parser.unexpected(if is_like {
            "an operator (for parts of a text `Contains`, `StartsWith` or `EndsWith`)"
        } else {
            "an operator or the end of the filter"
        }))
    }
}

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    token: Token,
    span: Span,
    depth: usize,
    nodes: usize,
    brackets: bool,
}

/// Binary operators with their precedence.
#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Junction(Junction),
    In { negated: bool },
    Bits(Junction),
    Compare(Comparison),
    Arithmetic(Arithmetic),
}

impl Operator {
    fn level(self) -> u8 {
        match self {
            Self::Junction(Junction::Or) => 1,
            Self::Junction(Junction::And) => 2,
            Self::In { .. } => 3,
            Self::Bits(_) => 4,
            Self::Compare(_) => 5,
            Self::Arithmetic(operator) if operator.is_sum() => 6,
            Self::Arithmetic(_) => 7,
        }
    }
}

const LOOSEST: u8 = 1;

fn word_operator(word: &str) -> Option<Operator> {
    let is = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    Some(if is(&["and", "andalso"]) {
        Operator::Junction(Junction::And)
    } else if is(&["or", "orelse"]) {
        Operator::Junction(Junction::Or)
    } else if is(&["in"]) {
        Operator::In { negated: false }
    } else if is(&["not_in"]) {
        Operator::In { negated: true }
    } else if is(&["eq", "equal"]) {
        Operator::Compare(Comparison::Eq)
    } else if is(&["ne", "neq", "notequal"]) {
        Operator::Compare(Comparison::Ne)
    } else if is(&["lt", "lessthan"]) {
        Operator::Compare(Comparison::Lt)
    } else if is(&["le", "lessthanequal"]) {
        Operator::Compare(Comparison::Le)
    } else if is(&["gt", "greaterthan"]) {
        Operator::Compare(Comparison::Gt)
    } else if is(&["ge", "greaterthanequal"]) {
        Operator::Compare(Comparison::Ge)
    } else if is(&["mod"]) {
        Operator::Arithmetic(Arithmetic::Remainder)
    } else {
        return None;
    })
}

fn sign_operator(sign: &str) -> Option<Operator> {
    Some(match sign {
        "&&" => Operator::Junction(Junction::And),
        "||" => Operator::Junction(Junction::Or),
        "&" => Operator::Bits(Junction::And),
        "|" => Operator::Bits(Junction::Or),
        "=" | "==" => Operator::Compare(Comparison::Eq),
        "!=" | "<>" => Operator::Compare(Comparison::Ne),
        "<" => Operator::Compare(Comparison::Lt),
        "<=" => Operator::Compare(Comparison::Le),
        ">" => Operator::Compare(Comparison::Gt),
        ">=" => Operator::Compare(Comparison::Ge),
        "+" => Operator::Arithmetic(Arithmetic::Add),
        "-" => Operator::Arithmetic(Arithmetic::Subtract),
        "*" => Operator::Arithmetic(Arithmetic::Multiply),
        "/" => Operator::Arithmetic(Arithmetic::Divide),
        "%" => Operator::Arithmetic(Arithmetic::Remainder),
        _ => return None,
    })
}

fn is_word(word: &str, expected: &str) -> bool {
    word.eq_ignore_ascii_case(expected)
}

impl Parser<'_> {
    fn word(&self) -> &str {
        if self.token == Token::Word { self.span.text(self.text) } else { "" }
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign(found) if found == sign)
    }

    fn advance(&mut self) -> FaultResult<Span> {
        let span = self.span;
        (self.token, self.span) = self.lexer.next()?;
        Ok(span)
    }

    /// The token after the current one; `End` when it is faulty, because that fault is reported
    /// only when the token is reached.
    fn peek(&self) -> (Token, Span) {
        let mut ahead = self.lexer;
        ahead.next().unwrap_or((Token::End, self.span))
    }

    fn found(&self) -> String {
        match &self.token {
            Token::End => "the end of the filter".to_owned(),
            _ => format!("`{}`", clip(self.span.text(self.text))),
        }
    }

    fn unexpected(&self, expected: &str) -> Fault {
        Fault::new(
            FaultKind::Syntax,
            self.span,
            format!("expected {expected}, found {}", self.found()),
        )
    }

    fn close(&mut self, bracket: &'static str) -> FaultResult<()> {
        if self.is_sign(bracket) {
            self.advance()?;
            return Ok(());
        }
        let message = format!("expected `{bracket}`, found {}", self.found());
        Err(Fault::new(FaultKind::MissingBracket, self.span, message))
    }

    fn enter(&mut self) -> FaultResult<()> {
        self.depth += 1;
        if self.depth > limits::FILTER_DEPTH {
            return Err(Fault::limit(self.span, "levels of nesting", limits::FILTER_DEPTH));
        }
        Ok(())
    }

    fn make(&mut self, node: Node, span: Span, start: Span, below: usize) -> FaultResult<Box<Ast>> {
        self.nodes += 1;
        if self.nodes > limits::FILTER_NODES {
            return Err(Fault::limit(span, "nodes", limits::FILTER_NODES));
        }
        // `enter` bounds the nesting of the text, this check the depth of the tree: a chain of
        // methods is deep without any nesting in the text.
        if below >= 2 * limits::FILTER_DEPTH {
            return Err(Fault::limit(span, "levels of nesting", limits::FILTER_DEPTH));
        }
        Ok(Box::new(Ast { node, span, start, depth: below + 1 }))
    }

    /// Parses `??` and `? :`, which bind loosest.
    fn expression(&mut self) -> FaultResult<Box<Ast>> {
        let first = self.binary(LOOSEST)?;
        if self.is_sign("??") || self.is_sign("?") { self.optional_tail(first) } else { Ok(first) }
    }

    /// A function of its own, so that the stack frame of [`Self::expression`], which nesting
    /// repeats, stays small.
    fn optional_tail(&mut self, first: Box<Ast>) -> FaultResult<Box<Ast>> {
        let mut first = first;
        if self.is_sign("??") {
            let span = self.advance()?;
            self.enter()?;
            // The right side of `??` is an expression, so it takes a following `? :` too.
            let second = self.expression()?;
            self.depth -= 1;
            let (start, below) = (first.start, first.depth.max(second.depth));
            first = self.make(Node::Coalesce(first, second), span, start, below)?;
        }
        if !self.is_sign("?") {
            return Ok(first);
        }
        let span = self.advance()?;
        self.enter()?;
        let yes = self.expression()?;
        if !self.is_sign(":") {
            return Err(self.unexpected("`:`"));
        }
        self.advance()?;
        let no = self.expression()?;
        self.depth -= 1;
        let (start, below) = (first.start, first.depth.max(yes.depth).max(no.depth));
        self.make(Node::Conditional(first, yes, no), span, start, below)
    }

    /// The binary operator at the current token, if there is one, and how many tokens it takes.
    fn operator(&self) -> Option<(Operator, usize)> {
        match &self.token {
            Token::Sign("!") => self.negated_in(),
            Token::Sign(sign) => sign_operator(sign).map(|operator| (operator, 1)),
            Token::Word if is_word(self.word(), "not") => self.negated_in(),
            Token::Word => word_operator(self.word()).map(|operator| (operator, 1)),
            _ => None,
        }
    }

    fn negated_in(&self) -> Option<(Operator, usize)> {
        let (token, span) = self.peek();
        (token == Token::Word && is_word(span.text(self.text), "in"))
            .then_some((Operator::In { negated: true }, 2))
    }

    /// Parses operators of precedence `level` or higher, by precedence climbing. The right operand
    /// is parsed at the next higher level, so operators of one level associate to the left.
    fn binary(&mut self, level: u8) -> FaultResult<Box<Ast>> {
        let mut left = self.unary()?;
        while let Some((operator, tokens)) = self.operator() {
            if operator.level() < level {
                break;
            }
            let mut span = self.advance()?;
            if tokens == 2 {
                span.to = self.advance()?.to;
            }
            left = match operator {
                Operator::In { negated } => self.membership(left, negated, span)?,
                _ => {
                    let right = self.binary(operator.level() + 1)?;
                    self.join(operator, left, right, span)?
                }
            };
        }
        Ok(left)
    }

    /// Joins two operands; the terms of one flat chain go into one node.
    fn join(
        &mut self,
        operator: Operator,
        mut left: Box<Ast>,
        right: Box<Ast>,
        span: Span,
    ) -> FaultResult<Box<Ast>> {
        match (&mut left.node, operator) {
            // A parenthesised chain is one operand; it starts before its first term.
            (Node::Junction(kind, terms), Operator::Junction(found))
            | (Node::Bits(kind, terms), Operator::Bits(found))
                if *kind == found
                    && terms.first().is_some_and(|term| term.start.from == left.start.from) =>
            {
                left.depth = left.depth.max(right.depth + 1);
                terms.push(*right);
                return Ok(left);
            }
            (Node::Chain(first, rest), Operator::Arithmetic(found))
                if first.start.from == left.start.from
                    && rest
                        .first()
                        .is_some_and(|(operator, _)| operator.is_sum() == found.is_sum()) =>
            {
                left.depth = left.depth.max(right.depth + 1);
                rest.push((found, *right));
                return Ok(left);
            }
            _ => {}
        }
        let (start, below) = (left.start, left.depth.max(right.depth));
        let node = match operator {
            Operator::Junction(kind) => Node::Junction(kind, vec![*left, *right]),
            Operator::Bits(kind) => Node::Bits(kind, vec![*left, *right]),
            Operator::Compare(comparison) => Node::Compare(comparison, left, right),
            Operator::Arithmetic(arithmetic) => Node::Chain(left, vec![(arithmetic, *right)]),
            Operator::In { .. } => return Err(self.unexpected("a list")),
        };
        self.make(node, span, start, below)
    }

    fn membership(&mut self, value: Box<Ast>, negated: bool, span: Span) -> FaultResult<Box<Ast>> {
        let (items, below) = if self.is_sign("(") {
            self.enter()?;
            self.advance()?;
            let items = self.elements(")", |parser| parser.expression().map(|item| *item))?;
            self.depth -= 1;
            if items.is_empty() {
                return Err(Fault::new(FaultKind::Syntax, span, "the list of `in` is empty"));
            }
            let below = items.iter().map(|item| item.depth).max().unwrap_or_default();
            (Items::List(items), below)
        } else if self.is_sign("[") {
            return Err(self.unexpected("`(` and a list"));
        } else {
            let list = self.postfix()?;
            let below = list.depth;
            (Items::Of(list), below)
        };
        let (start, below) = (value.start, value.depth.max(below));
        self.make(Node::In { value, negated, items }, span, start, below)
    }

    /// Reads elements up to and including the closing bracket.
    fn elements<T>(
        &mut self,
        close: &'static str,
        read: impl Fn(&mut Self) -> FaultResult<T>,
    ) -> FaultResult<Vec<T>> {
        let mut elements = Vec::new();
        if self.is_sign(close) {
            self.advance()?;
            return Ok(elements);
        }
        loop {
            if elements.len() == limits::FILTER_LIST {
                return Err(Fault::limit(self.span, "elements in one list", limits::FILTER_LIST));
            }
            elements.push(read(self)?);
            if !self.is_sign(",") {
                self.close(close)?;
                return Ok(elements);
            }
            self.advance()?;
        }
    }

    fn unary(&mut self) -> FaultResult<Box<Ast>> {
        let negate = self.is_sign("-");
        if !negate && !self.is_sign("!") && !is_word(self.word(), "not") {
            return self.postfix();
        }
        self.prefixed(negate)
    }

    fn prefixed(&mut self, negate: bool) -> FaultResult<Box<Ast>> {
        self.enter()?;
        let span = self.advance()?;
        if negate && self.token == Token::Int(1 << 63) {
            let literal = self.advance()?;
            self.depth -= 1;
            return self.make(Node::Int(i64::MIN), Span::new(span.from, literal.to), span, 0);
        }
        let operand = self.unary()?;
        self.depth -= 1;
        let below = operand.depth;
        let whole = Span::new(span.from, operand.span.to);
        match operand.node {
            Node::Int(value) if negate && value != i64::MIN => {
                self.make(Node::Int(-value), whole, span, 0)
            }
            Node::Real(value) if negate => self.make(Node::Real(-value), whole, span, 0),
            _ if negate => self.make(Node::Negate(operand), span, span, below),
            _ => self.make(Node::Not(operand), span, span, below),
        }
    }

    fn postfix(&mut self) -> FaultResult<Box<Ast>> {
        let mut left = self.primary()?;
        loop {
            if self.is_sign(".") {
                self.advance()?;
                left = self.member(left)?;
            } else if self.is_sign("[") {
                left = self.index(left)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn member(&mut self, left: Box<Ast>) -> FaultResult<Box<Ast>> {
        if self.token != Token::Word {
            return Err(self.unexpected("a name after `.`"));
        }
        let name = self.word().to_owned();
        let span = self.advance()?;
        let start = left.start;
        let below = left.depth;
        if !self.is_sign("(") {
            return self.make(Node::Member(left, name), span, start, below);
        }
        let args = self.arguments()?;
        let below = args.iter().map(|arg| arg.body.depth).max().unwrap_or_default().max(below);
        self.make(Node::Method(left, name, args), span, start, below)
    }

    fn index(&mut self, left: Box<Ast>) -> FaultResult<Box<Ast>> {
        self.enter()?;
        let span = self.advance()?;
        let index = self.expression()?;
        self.depth -= 1;
        self.close("]")?;
        let (start, below) = (left.start, left.depth.max(index.depth));
        self.make(Node::Index(left, index), span, start, below)
    }

    fn arguments(&mut self) -> FaultResult<Vec<Arg>> {
        self.enter()?;
        self.advance()?;
        let args = self.elements(")", |parser| {
            let mut parameter = None;
            if parser.token == Token::Word && parser.peek().0 == Token::Sign("=>") {
                parameter = Some(parser.word().to_owned());
                parser.advance()?;
                parser.advance()?;
            }
            Ok(Arg { parameter, body: *parser.expression()? })
        })?;
        self.depth -= 1;
        Ok(args)
    }

    fn primary(&mut self) -> FaultResult<Box<Ast>> {
        if self.is_sign("(") {
            self.enter()?;
            let open = self.advance()?;
            let mut inner = self.expression()?;
            self.depth -= 1;
            self.close(")")?;
            inner.start = open;
            return Ok(inner);
        }
        if self.token == Token::Word {
            return self.word_primary();
        }
        if self.is_sign("[") && self.brackets {
            return self.bracket_list();
        }
        self.literal()
    }

    fn literal(&mut self) -> FaultResult<Box<Ast>> {
        let span = self.span;
        let node = match &mut self.token {
            Token::Text(text) => Node::Text(std::mem::take(text)),
            Token::Int(value) => match i64::try_from(*value) {
                Ok(value) => Node::Int(value),
                Err(_) => {
                    let message = format!("`{}` does not fit in 64 bits", span.text(self.text));
                    return Err(Fault::new(FaultKind::BadNumber, span, message));
                }
            },
            Token::Real(value) => Node::Real(*value),
            Token::Substitution(number) => Node::Substitution(*number),
            Token::Sign("$") => Node::It,
            Token::Sign("^") => Node::Parent,
            Token::Sign("~") => Node::Root,
            _ => return Err(self.unexpected("a value, a name or `(`")),
        };
        self.advance()?;
        let node = match node {
            Node::Text(text) => self.adjacent(text)?,
            node => node,
        };
        self.make(node, span, span, 0)
    }

    /// Concatenates adjacent string literals.
    fn adjacent(&mut self, mut text: String) -> FaultResult<Node> {
        while let Token::Text(more) = &self.token {
            text.push_str(more);
            self.advance()?;
        }
        Ok(Node::Text(text))
    }

    fn word_primary(&mut self) -> FaultResult<Box<Ast>> {
        let word = self.word();
        let is = |expected| is_word(word, expected);
        if is("and") || is("or") || is("in") || is("andalso") || is("orelse") || is("not_in") {
            return Err(self.unexpected("a value, a name or `(`"));
        }
        if is("new") {
            return self.array();
        }
        let literal = if is("true") {
            Some(Node::Bool(true))
        } else if is("false") {
            Some(Node::Bool(false))
        } else if is("null") {
            Some(Node::Null)
        } else if is("it") {
            Some(Node::It)
        } else {
            None
        };
        let name = word.to_owned();
        let span = self.advance()?;
        if let Some(node) = literal {
            return self.make(node, span, span, 0);
        }
        if !self.is_sign("(") {
            return self.make(Node::Name(name), span, span, 0);
        }
        let args = self.arguments()?;
        let below = args.iter().map(|arg| arg.body.depth).max().unwrap_or_default();
        self.make(Node::Call(name, args), span, span, below)
    }

    fn array(&mut self) -> FaultResult<Box<Ast>> {
        self.enter()?;
        let span = self.advance()?;
        for sign in ["[", "]", "{"] {
            if !self.is_sign(sign) {
                return Err(self.unexpected("`new[]{`, the only use of `new`"));
            }
            self.advance()?;
        }
        let elements = self.elements("}", |parser| parser.expression().map(|item| *item))?;
        self.depth -= 1;
        let below = elements.iter().map(|element| element.depth).max().unwrap_or_default();
        self.make(Node::Array(elements), span, span, below)
    }

    fn bracket_list(&mut self) -> FaultResult<Box<Ast>> {
        self.enter()?;
        let span = self.advance()?;
        let items = self.elements("]", |parser| {
            let key = parser.binary(LOOSEST)?;
            if !parser.is_sign(":") {
                return Ok((*key, None));
            }
            parser.advance()?;
            Ok((*key, Some(*parser.binary(LOOSEST)?)))
        })?;
        self.depth -= 1;
        let depth = |(key, value): &(Ast, Option<Ast>)| {
            key.depth.max(value.as_ref().map_or(0, |value| value.depth))
        };
        let below = items.iter().map(depth).max().unwrap_or_default();
        self.make(Node::Brackets(items), span, span, below)
    }
}
