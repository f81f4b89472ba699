//! What a made-up dialect looks like in each language, and what must hold of the real ones.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

/// Where to go.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its shape is looked at")]
struct Journey {
    /// The first place.
    from: u64,
    /// How to get there.
    means: Means,
    /// What to carry, by name.
    #[serde(default)]
    luggage: BTreeMap<String, Option<u32>>,
    /// Whom to take along.
    company: Option<Vec<String>>,
    /// Where to sleep.
    stay: Option<Stay>,
}

/// A way of travelling.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Means {
    /// Slow.
    OnFoot,
    /// Fast.
    Train,
}

/// A bed.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
#[expect(dead_code, reason = "only its shape is looked at")]
enum Stay {
    /// Under the sky.
    Tent,
    /// Under a roof.
    Inn {
        /// Which room.
        room: u8,
    },
}

/// How it went.
#[derive(Deserialize, JsonSchema)]
struct Report {}

fn sample() -> Dialect {
    Dialect::new("sample", "Journeys.")
        .method::<Journey, Report>("journey/start")
        .sent_by_client("ready")
        .sent_by_server::<Journey>("journey/changed")
}

/// Every dialect there is.
fn dialects() -> [Dialect; 2] {
    [app_server(), exec_server()]
}

const TYPESCRIPT: &str = r#"// Made by `windlass sample generate-ts`; do not edit.

/** Journeys. */
export const DIALECT = "sample";

/** Where to go. */
export interface Journey {
  /** The first place. */
  from: number;
  /** How to get there. */
  means: Means;
  /** Whom to take along. */
  company?: string[] | null;
  /** What to carry, by name. Default: `{}`. */
  luggage?: { [key: string]: number | null };
  /** Where to sleep. */
  stay?: Stay | null;
}

/** A way of travelling. */
export type Means =
  /** Slow. */
  | "onFoot"
  /** Fast. */
  | "train";

/** How it went. */
export interface Report {}

/** A bed. */
export type Stay =
  /** Under the sky. */
  | {
    type: "tent";
  }
  /** Under a roof. */
  | {
    /** Which room. */
    room: number;
    type: "inn";
  };

/** What each method takes and gives. */
export interface Methods {
  "journey/start": { params: Journey; result: Report };
}

/** What a client may tell, and what each carries. */
export interface ClientNotifications {
  "ready": undefined;
}

/** What a server may tell, and what each carries. */
export interface ServerNotifications {
  "journey/changed": Journey;
}
"#;

const PYTHON: &str = r#"# Made by windlass from the shapes of its sample dialect; do not edit.
"""Journeys."""
from __future__ import annotations

from typing import Any, Dict, List, Literal, TypeAlias, TypedDict, Union


_JourneyWords = TypedDict(
    "_JourneyWords",
    {
        # The first place.
        "from": "int",
    },
)


class _JourneyRequired(_JourneyWords):
    means: Means
    """How to get there."""


class Journey(_JourneyRequired, total=False):
    """Where to go."""
    company: Union[List[str], None]
    """Whom to take along."""
    luggage: Dict[str, Union[int, None]]
    """What to carry, by name. Default: `{}`."""
    stay: Union[Stay, None]
    """Where to sleep."""


Means: TypeAlias = "Literal['onFoot', 'train']"
"""A way of travelling.

- `Literal['onFoot']`: Slow.

- `Literal['train']`: Fast.
"""


class Report(TypedDict):
    """How it went."""


class StayTent(TypedDict):
    type: Literal['tent']


class StayInn(TypedDict):
    room: int
    """Which room."""
    type: Literal['inn']


Stay: TypeAlias = "Union[StayTent, StayInn]"
"""A bed.

- `StayTent`: Under the sky.

- `StayInn`: Under a roof.
"""


Method: TypeAlias = Literal[
    "journey/start",
]
"""Every method."""


ClientNotification: TypeAlias = Literal[
    "ready",
]
"""Every notification of a client."""


ServerNotification: TypeAlias = Literal[
    "journey/changed",
]
"""Every notification of a server."""

__all__ = [
    "ClientNotification",
    "Journey",
    "Means",
    "Method",
    "Report",
    "ServerNotification",
    "Stay",
    "StayInn",
    "StayTent",
]
"#;

#[test]
fn a_dialect_reads_like_a_module_written_by_hand() {
    let dialect = sample();
    assert_eq!(dialect.typescript(), TYPESCRIPT, "{}", dialect.typescript());
    assert_eq!(dialect.python(), PYTHON, "{}", dialect.python());
}

#[test]
fn the_document_says_which_shapes_belong_to_which_method() {
    let document = sample().document();
    assert_eq!(document["$schema"], DRAFT);
    assert_eq!(document["x-methods"]["journey/start"]["params"]["$ref"], "#/$defs/Journey");
    assert_eq!(document["x-notifications"]["journey/changed"]["sentBy"], "server");
    assert_eq!(document["x-notifications"]["ready"]["params"], Value::Null);
    let request = &document["$defs"]["ClientRequest"]["oneOf"][0]["properties"];
    assert_eq!(request["method"]["const"], "journey/start");
    assert_eq!(request["params"]["$ref"], "#/$defs/Journey");
}

#[test]
fn a_field_without_a_description_is_found() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape is looked at")]
    struct Silent {
        secret: u8,
    }
    let document = sample().sent_by_server::<Silent>("silent").document();
    assert_eq!(undescribed(&document), ["$defs/Silent/properties/secret"]);
}

#[test]
fn every_field_of_every_dialect_is_described() {
    for dialect in dialects() {
        assert_eq!(undescribed(&dialect.document()), [""; 0], "{}", dialect.name());
    }
}

#[test]
fn every_method_of_the_app_server_is_in_its_document() {
    let dialect = app_server();
    let mut listed: Vec<&str> = dialect.methods().collect();
    let mut there = crate::app::Method::ALL.map(crate::app::Method::name);
    listed.sort_unstable();
    there.sort_unstable();
    assert_eq!(listed, there);
}

#[test]
fn every_reference_of_every_dialect_leads_to_a_shape() {
    for dialect in dialects() {
        let document = dialect.document();
        let mut references = Vec::new();
        collect_references(&document, &mut references);
        for reference in references {
            let path = reference.strip_prefix('#').expect("a place in the same document");
            assert!(document.pointer(path).is_some(), "{}: {reference}", dialect.name());
        }
    }
}

#[test]
fn lines_are_broken_between_words_and_paragraphs_stay() {
    assert_eq!(wrapped("one two\nthree\n\nfour", 9), ["one two", "three", "", "four"]);
    assert_eq!(wrapped("  ", 9), [""; 0]);
}

/// The properties that say nothing of themselves, by where they stand. A constant is its own description.
fn undescribed(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    find_undescribed(document, "", &mut found);
    found
}

fn find_undescribed(value: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(properties) = value.get("properties").and_then(Value::as_object) {
        for (name, schema) in properties {
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            if text.is_empty() && schema.get("const").is_none() {
                found.push(format!("{place}/properties/{name}").trim_start_matches('/').to_owned());
            }
        }
    }
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                find_undescribed(value, &format!("{place}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                find_undescribed(value, &format!("{place}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn collect_references(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| collect_references(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, references)),
        _ => {}
    }
}
