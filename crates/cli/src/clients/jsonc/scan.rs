//! A JSON scanner that keeps positions: every value and every comma has its byte range. It skips comments and trailing
//! commas if the dialect allows them.

use std::ops::Range;

use serde_json::Value;

use super::JsonDialect;
use crate::clients::Broken;

/// The deepest nesting that is accepted, more than any configuration has: the scanner recurses once per level.
const DEEPEST: usize = 128;

/// A value and its byte range.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

/// The type of a value.
#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

/// A name and its value in an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The offset at which the name begins.
    pub(super) start: usize,
    pub(super) value: Node,
    /// The offset of the comma behind the member.
    pub(super) comma: Option<usize>,
}

impl Node {
    /// The members of an object; none of anything else.
    pub(super) fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Object(members) => members,
            Kind::Array(_) | Kind::Scalar(_) => &[],
        }
    }

    /// The last member of this name, which is the one that JSON parsers take.
    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        self.members().iter().rfind(|member| member.name == name)
    }

    /// The value without positions.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                members.iter().map(|member| (member.name.clone(), member.value.value())).collect()
            }
            Kind::Array(items) => items.iter().map(Self::value).collect(),
            Kind::Scalar(value) => value.clone(),
        }
    }
}

/// Reads a whole text.
pub(super) fn scan(text: &str, dialect: JsonDialect) -> Result<Node, Broken> {
    let mut scanner = Scanner { text, at: 0, dialect };
    if text.starts_with('\u{feff}') {
        scanner.at = '\u{feff}'.len_utf8();
    }
    scanner.skip()?;
    let root = scanner.value(0)?;
    scanner.skip()?;
    match scanner.peek() {
        None => Ok(root),
        Some(_) => Err(scanner.broken("there is more after the end of the value")),
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    dialect: JsonDialect,
}

impl Scanner<'_> {
    fn value(&mut self, depth: usize) -> Result<Node, Broken> {
        let start = self.at;
        let kind = match self.peek() {
            _ if depth > DEEPEST => return Err(self.broken("too many levels")),
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::Scalar(self.string()?),
            Some(_) => Kind::Scalar(self.word()?),
            None => return Err(self.broken("the file ends too early: a value is missing")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, Broken> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        while !self.closes(b'}', members.last().and_then(|member| member.comma))? {
            if members.last().is_some_and(|member| member.comma.is_none()) {
                return Err(self.broken("a comma or } is missing before this"));
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.broken("a name in double quotes is missing here"));
            }
            let name = self.string()?.as_str().unwrap_or_default().to_owned();
            self.skip()?;
            if !self.take(b':') {
                return Err(self.broken("a colon is missing here"));
            }
            self.skip()?;
            let value = self.value(depth + 1)?;
            members.push(Member { name, start, value, comma: self.comma()? });
        }
        Ok(Kind::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Kind, Broken> {
        let (mut items, mut comma) = (Vec::new(), None);
        self.at += 1;
        while !self.closes(b']', comma)? {
            if !items.is_empty() && comma.is_none() {
                return Err(self.broken("a comma or ] is missing before this"));
            }
            items.push(self.value(depth + 1)?);
            comma = self.comma()?;
        }
        Ok(Kind::Array(items))
    }

    /// Whether the object or array ends here. If so, this skips its closing character.
    fn closes(&mut self, closing: u8, comma: Option<usize>) -> Result<bool, Broken> {
        self.skip()?;
        if self.peek() == Some(closing) && comma.is_some() && self.dialect == JsonDialect::Strict {
            return Err(self.broken("a comma before this is one too many"));
        }
        Ok(self.take(closing))
    }

    fn comma(&mut self) -> Result<Option<usize>, Broken> {
        self.skip()?;
        let at = self.at;
        Ok(self.take(b',').then_some(at))
    }

    fn string(&mut self) -> Result<Value, Broken> {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return self.decoded(start);
            }
            if byte == b'\n' {
                break;
            }
        }
        Err(Broken::at(self.text, start, "a string does not end"))
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, Broken> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte)) {
            self.at += 1;
        }
        if start == self.at {
            return Err(self.broken("this is no value"));
        }
        self.decoded(start)
    }

    fn decoded(&self, start: usize) -> Result<Value, Broken> {
        let word = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(word).map_err(|_| Broken::at(self.text, start, format!("{word} is no value")))
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), Broken> {
        loop {
            while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
                self.at += 1;
            }
            let start = self.at;
            let rest = &self.text[start..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let end = rest.find("*/").ok_or_else(|| self.broken("a comment does not end"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
            if self.dialect == JsonDialect::Strict {
                return Err(Broken::at(self.text, start, "this client reads no comments"));
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn broken(&self, what: &str) -> Broken {
        Broken::at(self.text, self.at, what)
    }
}
