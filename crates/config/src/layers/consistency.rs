//! Checks between the values of the merged layers: names must refer to something, and servers must have an address or a
//! program.

use crate::fault::{Fault, Problem};
use crate::tree::{Node, Tree, Value, ValueOrigin, dotted};

pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    faults.extend(chosen_provider(tree));
    for (name, provider) in tables(tree, "model_providers") {
        faults.extend(provider_without_address(name, provider));
    }
    for (name, server) in tables(tree, "mcp_servers") {
        faults.extend(unreachable_server(name, server));
    }
    faults
}

fn chosen_provider(tree: &Tree) -> Option<Fault> {
    let leaf = tree.leaf("model_provider")?;
    let Value::Text(name) = &leaf.value else { return None };
    let known: Vec<String> = tables(tree, "model_providers").map(|(name, _)| name.to_owned()).collect();
    let problem = Problem::NoSuch { what: "provider", name: name.clone(), known: known.clone() };
    (!known.contains(name)).then(|| fault(Some(&leaf.origin), "model_provider".to_owned(), problem))
}

fn provider_without_address(name: &str, provider: &Tree) -> Option<Fault> {
    let problem = Problem::Missing { what: "a `base_url`".to_owned() };
    let missing = provider.leaf("base_url").is_none();
    missing.then(|| fault(provider.origin.as_ref(), key("model_providers", name), problem))
}

fn unreachable_server(name: &str, server: &Tree) -> Option<Fault> {
    let problem = match (server.leaf("command"), server.leaf("url")) {
        (Some(_), Some(_)) => {
            Problem::Conflict { reason: "has both `command` and `url`; a server has one of them".to_owned() }
        }
        (None, None) => Problem::Missing { what: "a `command` or a `url`".to_owned() },
        _ => return None,
    };
    Some(fault(server.origin.as_ref(), key("mcp_servers", name), problem))
}

fn key(table: &str, name: &str) -> String {
    dotted(&[table.to_owned(), name.to_owned()])
}

fn fault(origin: Option<&ValueOrigin>, key: String, problem: Problem) -> Fault {
    let file = origin.and_then(|origin| origin.file.clone());
    Fault { file, line: origin.and_then(|origin| origin.line), key, problem }
}

fn tables<'t>(tree: &'t Tree, name: &str) -> impl Iterator<Item = (&'t str, &'t Tree)> {
    let nodes = tree.table(name).into_iter().flat_map(|table| &table.nodes);
    nodes.filter_map(|(name, node)| match node {
        Node::Table(table) => Some((name.as_str(), table)),
        Node::Leaf(_) => None,
    })
}
