//! `windlass sandbox`: says what a policy comes to on this machine, without running anything.

use anyhow::Result;
use windlass_engine::sandbox::{Explanation, Policy, Summary, plan_for};

use crate::args::{SandboxCommand, SandboxExplain};
use crate::config::Config;
use crate::confinement;
use crate::failure::Exit;
use crate::printing::print;

pub(crate) fn run(order: &SandboxCommand, config: &Config) -> Result<Exit> {
    match order {
        SandboxCommand::Explain(order) => explain(order, config),
    }
}

fn explain(order: &SandboxExplain, config: &Config) -> Result<Exit> {
    let here = Config::working_directory()?;
    let directory = order.cwd.as_ref().map_or(here.clone(), |directory| here.join(directory));
    let words = order.words();
    let text = match confinement::policy(&words)? {
        Policy::Confined(confined) => {
            let grounds = confinement::grounds_of(&words, config);
            let surroundings = confinement::surroundings(directory, config);
            let plan = plan_for(&confined, &surroundings, &grounds)?;
            // The one about missing namespaces sends its reader here, where the lines with `but` say more.
            let remarks = plan.remarks.iter().filter(|remark| !remark.contains("windlass sandbox explain"));
            let mut notes: String = remarks.map(|remark| format!("note      {remark}\n")).collect();
            if !windlass_sys::probe::lists_unix_sockets() {
                notes.push_str(&format!("but       unix sockets: {}\n", confinement::NO_UNIX_SOCKETS));
            }
            match order.verbose {
                true => format!("{}{notes}", Explanation(&plan)),
                false => {
                    format!("{}{notes}\n--verbose lists every rule, and what enforces it.\n", Summary(&plan))
                }
            }
        }
        open => format!(
            "policy    {}\nnothing is enforced: the command may do all that its user may\n",
            open.name()
        ),
    };
    print(text)?;
    Ok(Exit::SUCCESS)
}
