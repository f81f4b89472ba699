//! Questions of MCP servers: the person is asked for the fields of a form one by one, and the answers are converted to
//! the types of the server's schema. An answer that does not fit is asked for again.

use serde_json::{Map, Value, json};
use windlass_agent::{Choice, UserQuestion};
use windlass_mcp_client::{Elicitation, ElicitationAnswer, ElicitationFuture, Elicitor};

use super::person::TerminalPrompter;

impl Elicitor for TerminalPrompter {
    fn elicit(&self, question: Elicitation) -> ElicitationFuture<'_> {
        Box::pin(fill_in(self, question))
    }
}

async fn fill_in(person: &TerminalPrompter, asked: Elicitation) -> ElicitationAnswer {
    let fields = fields(&asked.schema);
    let mut header = format!("The MCP server {} asks: {}", asked.server, asked.message);
    if fields.is_empty() {
        return confirmed(person, header, asked.url.as_deref()).await;
    }
    let mut content = Map::new();
    for field in fields {
        let value = loop {
            let Some(said) = person.field(field.question(&header)).await else {
                return ElicitationAnswer::Decline;
            };
            match field.value(&said) {
                Ok(value) => break value,
                Err(why) => header = format!("{why} The MCP server {} asks again.", asked.server),
            }
        };
        header = format!("The MCP server {} also asks:", asked.server);
        content.extend(value.map(|value| (field.name, value)));
    }
    ElicitationAnswer::Accept(content)
}

/// Asks a question without fields, to be answered with yes or no.
async fn confirmed(person: &TerminalPrompter, header: String, url: Option<&str>) -> ElicitationAnswer {
    let question = match url {
        Some(url) => format!("Visit {url} and come back. Did you?"),
        None => "Is that all right?".to_owned(),
    };
    let options = YES_OR_NO.map(|word| choice(word, "")).to_vec();
    let said = person.field(UserQuestion { id: String::new(), header, question, options }).await;
    match said.as_deref().and_then(truth) {
        Some(true) => ElicitationAnswer::Accept(Map::new()),
        _ => ElicitationAnswer::Decline,
    }
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    title: String,
    about: String,
    kind: Kind,
    required: bool,
    default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    Number { whole: bool, least: Option<f64>, most: Option<f64> },
    Truth,
    One(Vec<Named>),
    Many(Vec<Named>),
}

/// A value that can be chosen, and its title.
#[derive(Clone, Debug, PartialEq)]
struct Named {
    value: String,
    title: String,
}

const YES_OR_NO: [&str; 2] = ["yes", "no"];

/// The fields of a flat schema, in its order.
fn fields(schema: &Value) -> Vec<Field> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(name, about)| field(name, about, is_required(name))).collect()
}

fn field(name: &str, schema: &Value, required: bool) -> Field {
    let text = |key: &str| schema[key].as_str().map(str::to_owned);
    Field {
        name: name.to_owned(),
        title: text("title").unwrap_or_else(|| name.to_owned()),
        about: text("description").unwrap_or_default(),
        kind: kind(schema),
        required,
        default: schema.get("default").cloned(),
    }
}

fn kind(schema: &Value) -> Kind {
    let choices = choices(schema);
    match schema["type"].as_str() {
        Some("array") => Kind::Many(self::choices(&schema["items"])),
        Some("boolean") => Kind::Truth,
        Some(number @ ("number" | "integer")) => Kind::Number {
            whole: number == "integer",
            least: schema["minimum"].as_f64(),
            most: schema["maximum"].as_f64(),
        },
        _ if !choices.is_empty() => Kind::One(choices),
        _ => Kind::Text,
    }
}

/// Reads the three ways in which schemas list choices.
fn choices(schema: &Value) -> Vec<Named> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(values) = schema["enum"].as_array() {
        let title = |at: usize| schema["enumNames"][at].as_str().map(str::to_owned);
        let named = |(at, value): (usize, &Value)| Named {
            value: text(value),
            title: title(at).unwrap_or_else(|| text(value)),
        };
        return values.iter().enumerate().map(named).collect();
    }
    let listed = ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array()).into_iter().flatten();
    let named = |one: &Value| Named {
        value: text(&one["const"]),
        title: one["title"].as_str().map_or_else(|| text(&one["const"]), str::to_owned),
    };
    listed.map(named).collect()
}

fn choice(label: &str, description: &str) -> Choice {
    Choice { label: label.to_owned(), description: description.to_owned() }
}

impl Field {
    fn question(&self, header: &str) -> UserQuestion {
        let options = match &self.kind {
            Kind::Truth => YES_OR_NO.map(|word| choice(word, "")).to_vec(),
            Kind::One(all) | Kind::Many(all) => all.iter().map(|one| choice(&one.title, "")).collect(),
            Kind::Text | Kind::Number { .. } => Vec::new(),
        };
        let about = Some(&self.about).filter(|about| !about.is_empty());
        let mut question = about.map_or(self.title.clone(), |about| format!("{}: {about}", self.title));
        if let Kind::Many(_) = self.kind {
            question.push_str(" (several, with commas between)");
        }
        match &self.default {
            Some(default) => question.push_str(&format!(" [{}]", plain(default))),
            None if !self.required => question.push_str(" (may stay empty)"),
            None => {}
        }
        UserQuestion { id: self.name.clone(), header: header.to_owned(), question, options }
    }

    /// Converts the text of the person to the type in the schema; an empty text gives the default, or `None` if the
    /// field is optional. The error says what is wrong with the text.
    fn value(&self, said: &str) -> Result<Option<Value>, String> {
        let said = said.trim();
        if said.is_empty() {
            return match (&self.default, self.required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err(format!("{} is needed.", self.title)),
            };
        }
        match &self.kind {
            Kind::Text => Ok(json!(said)),
            Kind::Number { whole, least, most } => number(said, *whole, (*least, *most)),
            Kind::Truth => {
                truth(said).map(|yes| json!(yes)).ok_or_else(|| "Please say yes or no.".to_owned())
            }
            Kind::One(all) => chosen(all, said).map(|value| json!(value)),
            Kind::Many(all) if all.is_empty() => {
                Ok(json!(said.split(',').map(str::trim).collect::<Vec<_>>()))
            }
            Kind::Many(all) => {
                let values: Result<Vec<_>, _> =
                    said.split(',').map(|part| chosen(all, part.trim())).collect();
                values.map(|values| json!(values))
            }
        }
        .map(Some)
    }
}

fn number(said: &str, whole: bool, (least, most): (Option<f64>, Option<f64>)) -> Result<Value, String> {
    let value = if whole {
        said.parse::<i64>().ok().map(|n| json!(n))
    } else {
        said.parse::<f64>().ok().map(|n| json!(n))
    };
    let kind = if whole { "a whole number" } else { "a number" };
    let value = value.filter(|value| !value.is_null()).ok_or_else(|| format!("{said} is not {kind}."))?;
    let amount = value.as_f64().unwrap_or_default();
    match (least, most) {
        (Some(least), _) if amount < least => Err(format!("It must be at least {least}.")),
        (_, Some(most)) if amount > most => Err(format!("It must be at most {most}.")),
        _ => Ok(value),
    }
}

/// A truth value as a word, or as a number of [`YES_OR_NO`].
fn truth(said: &str) -> Option<bool> {
    match said.trim().to_lowercase().as_str() {
        "yes" | "y" | "true" | "1" => Some(true),
        "no" | "n" | "false" | "2" => Some(false),
        _ => None,
    }
}

/// Finds a choice by its number, its title or its value.
fn chosen(all: &[Named], said: &str) -> Result<String, String> {
    let number = said.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?));
    let named = || all.iter().find(|one| one.title == said || one.value == said);
    match named().or(number) {
        Some(one) => Ok(one.value.clone()),
        None => {
            let titles: Vec<_> = all.iter().map(|one| one.title.as_str()).collect();
            Err(format!("{said} is not one of: {}.", titles.join(", ")))
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(yes) => YES_OR_NO[usize::from(!yes)].to_owned(),
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::person::PendingPrompt;
    use super::*;
    use windlass_agent::UserAnswer;

    /// Answers one question after the other; returns the reply to the server, and the questions.
    async fn answered(schema: Value, said: &[&str]) -> (ElicitationAnswer, Vec<UserQuestion>) {
        let (person, mut asked) = TerminalPrompter::new();
        let question = Elicitation { server: "s".into(), message: "Who are you?".into(), schema, url: None };
        let answering = async {
            let mut questions = Vec::new();
            for text in said {
                let Some(PendingPrompt::Field(question, reply)) = asked.recv().await else {
                    panic!("nothing is asked")
                };
                let id = question.id.clone();
                questions.push(question);
                let _ = reply.send(Some(vec![UserAnswer { id, text: (*text).to_owned() }]));
            }
            drop(asked);
            questions
        };
        tokio::join!(person.elicit(question), answering)
    }

    fn accepted(value: &Value) -> ElicitationAnswer {
        ElicitationAnswer::Accept(value.as_object().expect("an object").clone())
    }

    #[tokio::test]
    async fn fields_are_asked_for_one_by_one_and_typed_as_the_schema_says() {
        let schema = json!({
            "type": "object",
            "properties": {
                "age": { "type": "integer", "minimum": 1 },
                "colours": { "type": "array", "items": { "anyOf": [
                    { "const": "r", "title": "red" }, { "const": "g", "title": "green" } ] } },
                "fast": { "type": "boolean", "default": true },
                "name": { "type": "string", "title": "Name", "description": "as on the door" },
                "note": { "type": "string" },
                "size": { "type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"] },
            },
            "required": ["age", "name", "size"],
        });
        let said = ["41", "red, 2", "", "Ada", "", "large"];
        let (answer, asked) = answered(schema, &said).await;
        let expected = json!({ "age": 41, "colours": ["r", "g"], "fast": true, "name": "Ada", "size": "l" });
        assert_eq!(answer, accepted(&expected));
        assert_eq!(asked[0].header, "The MCP server s asks: Who are you?");
        let questions: Vec<_> = asked.iter().map(|one| one.question.as_str()).collect();
        let colours = "colours (several, with commas between) (may stay empty)";
        assert_eq!(
            questions,
            ["age", colours, "fast [yes]", "Name: as on the door", "note (may stay empty)", "size"]
        );
        assert_eq!(asked[5].options, [choice("small", ""), choice("large", "")]);
    }

    #[tokio::test]
    async fn what_does_not_fit_is_asked_for_again() {
        let schema = json!({
            "properties": { "n": { "type": "number", "maximum": 5 }, "c": { "oneOf": [{ "const": "x" }] } },
            "required": ["n", "c"],
        });
        let (answer, asked) = answered(schema, &["", "y", "x", "many", "9", "4.5"]).await;
        assert_eq!(answer, accepted(&json!({ "c": "x", "n": 4.5 })));
        let headers: Vec<_> = asked.iter().skip(1).map(|one| one.header.as_str()).collect();
        let expected = [
            "c is needed. The MCP server s asks again.",
            "y is not one of: x. The MCP server s asks again.",
            "The MCP server s also asks:",
            "many is not a number. The MCP server s asks again.",
            "It must be at most 5. The MCP server s asks again.",
        ];
        assert_eq!(headers, expected);
    }

    #[tokio::test]
    async fn a_number_that_is_itself_a_choice_is_that_choice() {
        let schema = json!({ "properties": {
            "a": { "type": "string", "enum": ["1", "2", "4", "8"] },
            "b": { "type": "array", "items": { "type": "string" } },
        } });
        let (answer, _) = answered(schema, &["4", "x, y"]).await;
        assert_eq!(answer, accepted(&json!({ "a": "4", "b": ["x", "y"] })));
    }

    #[tokio::test]
    async fn a_question_without_fields_is_a_yes_or_a_no() {
        assert_eq!(answered(json!({}), &["yes"]).await.0, accepted(&json!({})));
        assert_eq!(answered(json!({}), &["1"]).await.0, accepted(&json!({})));
        assert_eq!(answered(json!({}), &["no"]).await.0, ElicitationAnswer::Decline);
        assert_eq!(
            answered(json!({ "properties": { "a": { "type": "string" } } }), &[]).await.0,
            ElicitationAnswer::Decline
        );
    }
}
