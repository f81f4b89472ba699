//! The scalars of YAML: bare, in single or double quotes, and as blocks after `|` and `>`.

use super::lines::{FrontMatterEntry, Lines};
use super::{FrontMatterError, error};

/// Reads the text of an entry, with the lines that belong to it.
pub(super) fn read(entry: &FrontMatterEntry<'_>, lines: &mut Lines<'_>) -> Result<String, FrontMatterError> {
    match entry.rest.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(entry, quote, lines),
        Some('|' | '>') => block(entry, lines),
        Some('[' | '{' | '&' | '*' | '!' | '%' | '@' | '`') => {
            Err(error(entry.line, format!("`{}` must be a text; put it in quotes", entry.key)))
        }
        _ => Ok(bare(entry, lines)),
    }
}

/// The rest of the line and all indented lines after it, joined to one line.
fn bare(entry: &FrontMatterEntry<'_>, lines: &mut Lines<'_>) -> String {
    let mut words = vec![without_comment(entry.rest).to_owned()];
    while let Some(line) = lines.indented() {
        words.push(without_comment(line.trim()).to_owned());
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// Removes a comment, which begins with a number sign after a space.
fn without_comment(text: &str) -> &str {
    if text.starts_with('#') {
        return "";
    }
    text.find(" #").map_or(text, |at| &text[..at]).trim_end()
}

fn quoted(
    entry: &FrontMatterEntry<'_>,
    quote: char,
    lines: &mut Lines<'_>,
) -> Result<String, FrontMatterError> {
    let mut text = entry.rest[1..].to_owned();
    loop {
        if let Some((value, rest)) = closed(&text, quote, entry.line)? {
            let rest = rest.trim();
            if !(rest.is_empty() || rest.starts_with('#')) {
                return Err(error(entry.line, format!("{rest:?} stands after the closing quote")));
            }
            return Ok(value);
        }
        let Some(line) = lines.indented() else {
            return Err(error(entry.line, format!("the quote {quote} is not closed")));
        };
        text = format!("{} {}", text.trim_end(), line.trim_start());
    }
}

/// The text up to the closing quote, and the rest after it; `None` if the quote is not closed yet.
fn closed(text: &str, quote: char, line: usize) -> Result<Option<(String, &str)>, FrontMatterError> {
    let mut value = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == quote {
            let doubled = quote == '\'' && rest.as_str().starts_with('\'');
            if !doubled {
                return Ok(Some((value, rest.as_str())));
            }
            rest.next();
            value.push('\'');
        } else if c == '\\' && quote == '"' {
            let escaped = escape(&mut rest);
            value.push(escaped.ok_or_else(|| error(line, "there is no such escape after `\\`".to_owned()))?);
        } else {
            value.push(c);
        }
    }
    Ok(None)
}

fn escape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let by_number = |rest: &mut std::str::Chars<'_>, digits: usize| {
        let number: String = rest.by_ref().take(digits).collect();
        let whole = number.len() == digits && number.bytes().all(|digit| digit.is_ascii_hexdigit());
        whole.then(|| u32::from_str_radix(&number, 16).ok()).flatten().and_then(char::from_u32)
    };
    match rest.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        'x' => by_number(rest, 2),
        'u' => by_number(rest, 4),
        'U' => by_number(rest, 8),
        c @ ('"' | '\\' | '/' | ' ') => Some(c),
        _ => None,
    }
}

/// A block after `|` keeps its lines, one after `>` joins them; the indicators `+`, `-` and a digit are supported.
fn block(entry: &FrontMatterEntry<'_>, lines: &mut Lines<'_>) -> Result<String, FrontMatterError> {
    let header = without_comment(entry.rest);
    let (style, indicators) = header.split_at(1);
    if !indicators.chars().all(|c| matches!(c, '+' | '-' | '1'..='9')) || indicators.len() > 2 {
        return Err(error(entry.line, format!("{indicators:?} cannot stand after `{style}`")));
    }
    let mut texts = Vec::new();
    while let Some(line) = lines.indented() {
        texts.push(line);
    }
    let said = indicators.chars().find_map(|c| c.to_digit(10)).and_then(|digit| usize::try_from(digit).ok());
    let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let found = texts.iter().find(|line| !line.trim().is_empty()).map(|line| blanks(line));
    let indent = said.or(found).unwrap_or_default();
    let cut = |line: &&str| line.get(indent.min(blanks(line))..).unwrap_or_default().trim_end().to_owned();
    let texts: Vec<String> = texts.iter().map(cut).collect();
    Ok(if style == ">" { folded(&texts) } else { texts.join("\n") })
}

/// Joins lines to one; blank lines become line breaks, and lines that are indented further stay lines.
fn folded(lines: &[String]) -> String {
    let mut text = String::new();
    let mut breaks = 0;
    let mut before_is_indented = false;
    for line in lines {
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        let indented = line.starts_with(' ');
        if breaks > 0 {
            text.push_str(&"\n".repeat(breaks));
        } else if !text.is_empty() {
            text.push(if indented || before_is_indented { '\n' } else { ' ' });
        }
        text.push_str(line);
        (breaks, before_is_indented) = (0, indented);
    }
    text
}
