//! Limits as text and as JSON. Times are seconds, everything else is in its own unit.

use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_engine::{Amount, Cause, Enforced, Limits, Peaks, Resource};

/// The limit for which a session was ended; `null` if there was none.
pub(super) fn crossed(cause: Cause) -> Value {
    let Cause::Limit(crossed) = cause else { return Value::Null };
    json!({
        "resource": crossed.resource.name(),
        "scope": crossed.scope.name(),
        "limit": amount(crossed.resource, crossed.limit),
        "peak": amount(crossed.resource, crossed.peak),
        "means": crossed.means.name(),
    })
}

/// The peak usage of everything a session started, by name.
pub(super) fn peaks(peaks: &Peaks) -> Value {
    by_name(peaks.iter())
}

/// The limits that were in force, and the means of each.
pub(super) fn enforced(enforced: &[Enforced]) -> Value {
    let limit = |it: &Enforced| {
        json!({
            "resource": it.resource.name(),
            "scope": it.scope.name(),
            "limit": amount(it.resource, it.limit),
            "means": it.means.name(),
        })
    };
    enforced.iter().map(limit).collect()
}

/// Limits by name.
pub(crate) fn limits_json(limits: &Limits) -> Value {
    by_name(limits.iter())
}

/// Limits in a few words: `memory 512 MiB, processes 64`.
pub(crate) fn limits_words(limits: &Limits) -> String {
    let words =
        |(resource, amount): (Resource, Amount)| format!("{} {}", resource.name(), resource.shown(amount));
    let words: Vec<String> = limits.iter().map(words).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn by_name(amounts: impl Iterator<Item = (Resource, Amount)>) -> Value {
    let pair =
        |(resource, raw): (Resource, Amount)| (resource.name().replace('-', "_"), amount(resource, raw));
    Value::Object(amounts.map(pair).collect::<Map<_, _>>())
}

fn amount(resource: Resource, Amount(raw): Amount) -> Value {
    match resource {
        Resource::CpuTime => json!((Duration::from_nanos(raw).as_secs_f64() * 1e4).round() / 1e4),
        _ => json!(raw),
    }
}
