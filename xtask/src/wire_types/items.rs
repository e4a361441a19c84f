//! The structs and enums of a Rust file, with their documentation and attributes, as text.
//!
//! Only items at the top of a file are read, and what is inside them is kept as it is written:
//! whoever needs an item judges whether it understands it.

use crate::rust_text::{is_word, line_at, literal_or_comment};

/// A piece of code; white space and plain comments are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A line of documentation, without its slashes.
    Doc(&'a str),
    Word(&'a str),
    /// What stands between quotes.
    Text(&'a str),
    Sign(char),
}

/// With the offset that each begins at.
pub(crate) fn tokens(source: &str) -> Vec<(usize, Token<'_>)> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(sign) = source[at..].chars().next() {
        if let Some((inside, next)) = literal_or_comment(bytes, at) {
            let text = &source[inside];
            match sign {
                '/' => {
                    let doc = text.strip_prefix("///").filter(|doc| !doc.starts_with('/'));
                    found.extend(doc.map(|doc| (at, Token::Doc(doc.trim()))));
                }
                _ => found.push((at, Token::Text(text))),
            }
            at = next;
        } else if is_word(bytes[at]) {
            let length = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
            found.push((at, Token::Word(&source[at..at + length])));
            at += length;
        } else {
            if !sign.is_whitespace() {
                found.push((at, Token::Sign(sign)));
            }
            at += sign.len_utf8();
        }
    }
    found
}

/// `#[name(key, key = "value")]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) arguments: Vec<(String, Option<String>)>,
}

/// What stands before an item, a field or a variant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) docs: Vec<String>,
    pub(crate) attributes: Vec<Attribute>,
}

impl Head {
    /// The arguments of every attribute of this name.
    pub(crate) fn arguments<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'a (String, Option<String>)> {
        let named = self.attributes.iter().filter(move |attribute| attribute.name == name);
        named.flat_map(|attribute| &attribute.arguments)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute.name == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) head: Head,
    pub(crate) name: String,
    /// As it is written, without spaces.
    pub(crate) of: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) head: Head,
    pub(crate) name: String,
    /// Where the macro `words!` names it.
    pub(crate) word: Option<String>,
    pub(crate) has_fields: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
    /// An enum of the macro `words!`.
    Words(Vec<Variant>),
    /// What it has that no body above can hold.
    Other(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) head: Head,
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) body: Body,
}

pub(crate) fn items(source: &str) -> Vec<Item> {
    let tokens = tokens(source);
    let mut reader = Reader { tokens: &tokens, at: 0 };
    let mut found = Vec::new();
    loop {
        let head = reader.head();
        let offset = reader.offset();
        let Some(token) = reader.next() else { return found };
        match token {
            Token::Word("struct") => {
                let (name, body) = reader.structure();
                found.push(Item { head, name, line: line_at(source, offset), body });
            }
            Token::Word("enum") => {
                let (name, body) = reader.enumeration();
                found.push(Item { head, name, line: line_at(source, offset), body });
            }
            Token::Word("words") if reader.takes('!') => {
                let mut inside = reader.group();
                while let Some((head, offset, name, body)) = inside.word_set() {
                    found.push(Item { head, name, line: line_at(source, offset), body });
                }
            }
            // What is inside functions, implementations and macros is nobody's item.
            Token::Sign('{') => {
                reader.at -= 1;
                reader.group();
            }
            _ => {}
        }
    }
}

struct Reader<'t, 's> {
    tokens: &'t [(usize, Token<'s>)],
    at: usize,
}

impl<'t, 's> Reader<'t, 's> {
    fn peek(&self) -> Option<Token<'s>> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    fn next(&mut self) -> Option<Token<'s>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |(offset, _)| *offset)
    }

    fn takes(&mut self, sign: char) -> bool {
        let is_there = self.peek() == Some(Token::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    fn name(&mut self) -> String {
        match self.next() {
            Some(Token::Word("r")) if self.takes('#') => self.name(),
            Some(Token::Word(name)) => name.to_owned(),
            _ => String::new(),
        }
    }

    /// What is between the bracket that comes next and the one that closes it.
    fn group(&mut self) -> Reader<'t, 's> {
        let begin = self.at + 1;
        let mut depth = 0usize;
        while let Some(token) = self.next() {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let end = (self.at - 1).min(self.tokens.len());
        Reader { tokens: &self.tokens[begin.min(end)..end], at: 0 }
    }

    /// Documentation, attributes and visibility, as many as there are.
    fn head(&mut self) -> Head {
        let mut head = Head::default();
        loop {
            match self.peek() {
                Some(Token::Doc(doc)) => {
                    head.docs.push(doc.to_owned());
                    self.at += 1;
                }
                Some(Token::Sign('#')) => {
                    self.at += 1;
                    self.takes('!');
                    head.attributes.push(self.group().attribute());
                }
                Some(Token::Word("pub")) => {
                    self.at += 1;
                    if self.peek() == Some(Token::Sign('(')) {
                        self.group();
                    }
                }
                _ => return head,
            }
        }
    }

    fn attribute(&mut self) -> Attribute {
        let name = self.name();
        let mut arguments = Vec::new();
        if self.peek() == Some(Token::Sign('(')) {
            let mut inside = self.group();
            while inside.peek().is_some() {
                let mut key = String::new();
                let mut value = None;
                while let Some(token) = inside.next() {
                    match token {
                        Token::Sign(',') => break,
                        Token::Sign('=') => {}
                        Token::Text(text) => value = Some(text.to_owned()),
                        token => key.push_str(&written(token)),
                    }
                }
                arguments.push((key, value));
            }
        }
        Attribute { name, arguments }
    }

    fn structure(&mut self) -> (String, Body) {
        let name = self.name();
        let body = match self.peek() {
            Some(Token::Sign('{')) => Body::Struct(self.group().fields()),
            Some(Token::Sign('<')) => Body::Other("has parameters"),
            _ => Body::Other("has no named fields"),
        };
        (name, body)
    }

    fn fields(&mut self) -> Vec<Field> {
        let mut found = Vec::new();
        while self.peek().is_some() {
            let head = self.head();
            let name = self.name();
            self.takes(':');
            found.push(Field { head, name, of: self.until_comma() });
        }
        found
    }

    /// A type as it is written, up to the comma after it.
    fn until_comma(&mut self) -> String {
        let mut text = String::new();
        let mut depth = 0usize;
        while let Some(token) = self.next() {
            match token {
                Token::Sign('(' | '[' | '<') => depth += 1,
                Token::Sign(')' | ']' | '>') => depth = depth.saturating_sub(1),
                Token::Sign(',') if depth == 0 => break,
                _ => {}
            }
            let joins = |byte: &u8| is_word(*byte);
            if matches!(token, Token::Word(_)) && text.as_bytes().last().is_some_and(joins) {
                text.push(' ');
            }
            text.push_str(&written(token));
        }
        text
    }

    fn enumeration(&mut self) -> (String, Body) {
        let name = self.name();
        let body = match self.peek() {
            Some(Token::Sign('{')) => Body::Enum(self.group().variants()),
            _ => Body::Other("has parameters"),
        };
        (name, body)
    }

    fn variants(&mut self) -> Vec<Variant> {
        let mut found = Vec::new();
        while self.peek().is_some() {
            let (head, name) = (self.head(), self.name());
            let has_fields = matches!(self.peek(), Some(Token::Sign('(' | '{')));
            let word = match self.takes('=') {
                true => match self.next() {
                    Some(Token::Text(word)) => Some(word.to_owned()),
                    _ => None,
                },
                false => None,
            };
            while self.peek().is_some_and(|token| token != Token::Sign(',')) {
                match self.peek() {
                    Some(Token::Sign('(' | '{')) => {
                        self.group();
                    }
                    _ => self.at += 1,
                }
            }
            self.takes(',');
            found.push(Variant { head, name, word, has_fields });
        }
        found
    }

    /// `Name { Variant = "word", … }`
    fn word_set(&mut self) -> Option<(Head, usize, String, Body)> {
        let head = self.head();
        self.peek()?;
        let (offset, name) = (self.offset(), self.name());
        Some((head, offset, name, Body::Words(self.group().variants())))
    }
}

fn written(token: Token<'_>) -> String {
    match token {
        Token::Word(word) => word.to_owned(),
        Token::Text(text) => format!("{text:?}"),
        Token::Sign(sign) => sign.to_string(),
        Token::Doc(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_read_with_its_documentation_attributes_and_types() {
        let source = "
//! A file.
use serde::Serialize;

/// A card.
/// On a board.
#[derive(Debug, Serialize)]
#[serde(default, rename_all = \"snake_case\")]
pub(crate) struct Card {
    // Not a word of documentation.
    #[serde(skip_serializing_if = \"Vec::is_empty\")]
    pub why: Vec<(u32, Box<dyn Send>)>,
    /// Its kind.
    r#type: std::string::String
}
";
        let [card] = items(source).try_into().unwrap();
        assert_eq!((card.name.as_str(), card.line), ("Card", 9));
        assert_eq!(card.head.docs, ["A card.", "On a board."]);
        let keys: Vec<_> = card.head.arguments("serde").map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["default", "rename_all"]);
        let Body::Struct(fields) = card.body else { panic!("{:?}", card.body) };
        let read: Vec<_> = fields.iter().map(|f| (f.name.as_str(), f.of.as_str())).collect();
        assert_eq!(read, [("why", "Vec<(u32,Box<dyn Send>)>"), ("type", "std::string::String")]);
        let said: Vec<_> = fields[0].head.arguments("serde").cloned().collect();
        let condition = Some("Vec::is_empty".to_owned());
        assert_eq!(said, [("skip_serializing_if".to_owned(), condition)]);
        assert_eq!(fields[1].head.docs, ["Its kind."]);
    }

    #[test]
    fn sets_of_words_and_enums_are_read_and_the_macro_itself_is_not() {
        let source = "
macro_rules! words { ($name:ident) => { pub enum $name { A } struct B { a: u8 } }; }
words! {
    /// A task.
    Status { Pending = \"pending\", /// It ended.
        Done = \"done\" }
    Stage { First = \"first\" }
}
impl Status { fn f() { struct Inner { a: u8 } } }
enum Mode { #[default] Normal, ReadOnly, Named(String), At { n: u8 } }
";
        let found = items(source);
        let names: Vec<_> = found.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["Status", "Stage", "Mode"]);
        let Body::Words(words) = &found[0].body else { panic!("{:?}", found[0]) };
        assert_eq!(words[1].word.as_deref(), Some("done"));
        assert_eq!(words[1].head.docs, ["It ended."]);
        let Body::Enum(variants) = &found[2].body else { panic!("{:?}", found[2]) };
        let read: Vec<_> = variants.iter().map(|v| (v.name.as_str(), v.has_fields)).collect();
        let (plain, full) =
            ([("Normal", false), ("ReadOnly", false)], [("Named", true), ("At", true)]);
        assert_eq!(read, [plain, full].concat());
    }

    #[test]
    fn what_has_another_form_is_said_to_have_it() {
        let source = "struct A(u8); struct B; struct C<'a> { a: &'a str } enum D<T> { A(T) }";
        let found: Vec<_> = items(source).into_iter().map(|item| item.body).collect();
        let (fields, parameters) = ("has no named fields", "has parameters");
        assert_eq!(found, [fields, fields, parameters, parameters].map(Body::Other));
    }
}
