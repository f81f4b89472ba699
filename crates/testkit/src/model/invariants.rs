//! Invariants that must hold over all requests of an agent, whatever it was asked and whatever went wrong.

use std::collections::BTreeMap;

use serde_json::Value;

use super::request::{Request, RequestDialect};

/// The rules: a conversation only grows, byte for byte; every call has exactly one answer, behind it; and no call is
/// answered in two ways, which would mean that it was carried out twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Invariants {
    compactions: usize,
}

impl Invariants {
    /// All of them.
    pub fn strict() -> Self {
        Self::default()
    }

    /// So many times a conversation may begin anew, all conversations together.
    pub fn with_compactions(compactions: usize) -> Self {
        Self { compactions }
    }

    /// Holds the requests against the rules.
    ///
    /// # Panics
    /// When one of them is broken, with all that are.
    pub fn check(&self, requests: &[Request]) {
        let faults = self.faults(requests);
        assert!(faults.is_empty(), "over {} requests:\n{}", requests.len(), faults.join("\n"));
    }

    /// The violations, in words.
    pub fn faults(&self, requests: &[Request]) -> Vec<String> {
        let mut faults = self.beginnings(requests);
        faults.extend(requests.iter().enumerate().flat_map(|(index, request)| pairs(request, index + 1)));
        faults.extend(repeated(requests));
        faults
    }

    fn beginnings(&self, requests: &[Request]) -> Vec<String> {
        let mut earlier: BTreeMap<&str, (usize, Vec<String>)> = BTreeMap::new();
        let mut anew = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let said = request.said();
            if let Some((number, before)) = earlier.get(request.thread())
                && !said.starts_with(before)
            {
                let same = said.iter().zip(before).take_while(|(now, then)| now == then).count();
                anew.push(format!(
                    "request {} does not begin like request {number} of the same conversation: item {} was {}, is {}",
                    index + 1,
                    same + 1,
                    before.get(same).map_or("-", String::as_str),
                    said.get(same).map_or("-", String::as_str),
                ));
            }
            earlier.insert(request.thread(), (index + 1, said));
        }
        if anew.len() > self.compactions { anew } else { Vec::new() }
    }
}

/// A call, or an answer to one.
enum CallStep {
    Called(String),
    Answered(String, String),
}

fn pairs(request: &Request, number: usize) -> Vec<String> {
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for step in steps(request) {
        match step {
            CallStep::Called(id) => {
                if open.insert(id.clone(), 0).is_some() {
                    faults.push(format!("request {number} holds the call {id} twice"));
                }
            }
            CallStep::Answered(id, _) => match open.get_mut(&id) {
                Some(answers) => *answers += 1,
                None => {
                    faults.push(format!("request {number} answers {id} before it is called, or it never is"));
                }
            },
        }
    }
    let uneven = open.iter().filter(|(_, answers)| **answers != 1);
    faults.extend(uneven.map(|(id, answers)| format!("request {number} answers {id} {answers} times")));
    faults
}

fn repeated(requests: &[Request]) -> Vec<String> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut faults = Vec::new();
    for step in requests.iter().flat_map(steps) {
        if let CallStep::Answered(id, answer) = step {
            let first = known.entry(id.clone()).or_insert_with(|| answer.clone());
            if *first != answer {
                faults.push(format!(
                    "{id} was carried out twice: it is answered with {first}, and with {answer}"
                ));
            }
        }
    }
    faults.dedup();
    faults
}

fn steps(request: &Request) -> Vec<CallStep> {
    let items = request.said();
    let items = items.iter().filter_map(|item| serde_json::from_str::<Value>(item).ok());
    match request.dialect() {
        RequestDialect::Responses => items.filter_map(|item| step(&item)).collect(),
        RequestDialect::Chat => items.flat_map(|message| message_steps(&message)).collect(),
    }
}

fn step(item: &Value) -> Option<CallStep> {
    let id = item["call_id"].as_str()?.to_owned();
    match item["type"].as_str()? {
        "function_call" | "custom_tool_call" => Some(CallStep::Called(id)),
        "function_call_output" | "custom_tool_call_output" => {
            Some(CallStep::Answered(id, item["output"].to_string()))
        }
        _ => None,
    }
}

fn message_steps(message: &Value) -> Vec<CallStep> {
    if let Some(id) = message["tool_call_id"].as_str() {
        return vec![CallStep::Answered(id.to_owned(), message["content"].to_string())];
    }
    let calls = super::request::list(&message["tool_calls"]).iter();
    calls.filter_map(|call| call["id"].as_str()).map(|id| CallStep::Called(id.to_owned())).collect()
}
