//! `windlass sandbox`: shows how this machine would enforce a policy, without running anything.

use anyhow::Result;
use serde_json::{Value, json};
use windlass_engine::sandbox::{
    Access, Explanation, MustNotExist, Network, Plan, Policy, Ruling, Summary, plan_for,
};
use windlass_tools::looks_secret;

use crate::args::{SandboxCommand, SandboxExplain};
use crate::config::Config;
use crate::confinement;
use crate::failure::{Exit, Usage};
use crate::printing::{print, print_text};

pub(crate) fn run(order: &SandboxCommand, config: &Config) -> Result<Exit> {
    match order {
        SandboxCommand::Explain(order) => explain(order, config),
    }
}

fn explain(order: &SandboxExplain, config: &Config) -> Result<Exit> {
    let here = Config::working_directory()?;
    if let Some(name) =
        order.command.first().and_then(|word| word.to_str()).filter(|it| Policy::named(it).is_some())
    {
        return Err(Usage(format!("`{name}` stands where the command goes; write --policy {name}")).into());
    }
    let directory = order.cwd.as_ref().map_or(here.clone(), |directory| here.join(directory));
    if !directory.is_dir() {
        return Err(Usage(format!("-C {}: there is no such directory", directory.display())).into());
    }
    let words = order.words();
    let text = match confinement::policy(&words)? {
        Policy::Confined(confined) => {
            let grounds = confinement::grounds_of(&words, config);
            let surroundings = confinement::surroundings(directory, config);
            let plan = plan_for(&confined, &surroundings, &grounds)?;
            // The remark about missing namespaces refers to this command, where the lines with `but` say more.
            let remarks = plan.remarks.iter().filter(|remark| !remark.contains("windlass sandbox explain"));
            if order.json {
                let mut value = plan_json(&plan);
                value["withheld_variables"] = json!(withheld(config));
                return print_json(&value);
            }
            let mut notes: String = remarks.map(|remark| format!("note        {remark}\n")).collect();
            if !windlass_sys::probe::lists_unix_sockets() {
                notes.push_str(&format!("differs     unix sockets: {}\n", confinement::NO_UNIX_SOCKETS));
            }
            notes.extend(withheld_words(config));
            match order.verbose {
                true => format!("{}{notes}", Explanation(&plan)),
                false => {
                    format!(
                        "{}{notes}\n--verbose lists every rule with its reason and the layers that enforce it.\n",
                        Summary(&plan)
                    )
                }
            }
        }
        open if order.json => {
            return print_json(&json!({ "policy": open.name(), "enforced_by": [] }));
        }
        open => format!(
            "policy      {}\nenforced by nothing: the command may do all that its user may\n",
            open.name()
        ),
    };
    print_text(&text)?;
    Ok(Exit::SUCCESS)
}

/// The variables that look like secrets. Only commands of models do not get them.
fn withheld(config: &Config) -> Vec<String> {
    let secret = config.environment.iter().filter(|(name, value)| looks_secret(name, value));
    let mut names: Vec<String> = secret.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn withheld_words(config: &Config) -> Option<String> {
    let names = withheld(config);
    let said = "commands of `windlass mcp` and of the agent do not get these; `windlass run` passes them on";
    (!names.is_empty()).then(|| format!("variables   withheld: {}  [{said}]\n", names.join(", ")))
}

fn print_json(value: &Value) -> Result<Exit> {
    print(format!("{value:#}\n"))?;
    Ok(Exit::SUCCESS)
}

/// A plan as JSON: the summary, and every rule.
fn plan_json(plan: &Plan) -> Value {
    let access = |access: Access| match access {
        Access::Deny => "deny",
        Access::Read => "read",
        Access::Write => "write",
    };
    let rule = |ruling: &Ruling| {
        json!({
            "path": ruling.path.display().to_string(),
            "access": access(ruling.access),
            "stays_in_place": ruling.pinned,
            "reason": ruling.origin,
        })
    };
    let protected =
        |name: &MustNotExist| json!({ "path": name.path.display().to_string(), "reason": name.origin });
    let network = match &plan.network {
        Network::Hosts(hosts) => json!(hosts),
        network => network.name().into(),
    };
    json!({
        "policy": plan.policy,
        "network": network,
        "enforced_by": plan.layers.iter().map(|layer| layer.name()).collect::<Vec<_>>(),
        "rules": plan.rulings.iter().map(rule).collect::<Vec<_>>(),
        "unchanged": plan.must_not_exist.iter().map(protected).collect::<Vec<_>>(),
        "judged": plan.judged_configurations().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "differs": plan.differences,
        "notes": plan.remarks,
    })
}
