//! Approval of calls by rules: a command is judged before anything of it is started, and a person is asked where a rule
//! says so.
//!
//! Text that is typed into a session later is not judged: a shell or an interpreter that would read commands from its
//! input is itself a command that rules ask about.

use std::time::Duration;

use windlass_exec_policy::{Judgement, Rules, Verdict};

use crate::arguments::{Arguments, BadArgument};
use crate::call::{Approval, Call};
use crate::execution::Execution;
use crate::shims::{Pending, alive};
use crate::tool::ToolError;
use crate::toolbox::Toolbox;

/// The longest a call waits for a person's decision.
const LONGEST_ASKING: Duration = Duration::from_secs(300);

/// The command that a call is about to start.
struct Proposal {
    execution: Execution,
    judgement: Judgement,
}

impl Toolbox {
    /// Refuses a call that would start what rules forbid, or what a person did not approve. A call that a person approved
    /// runs in the directory that they saw. If its path leads to another one by then, the call is refused.
    pub(crate) async fn approve(&self, call: &mut Call) -> Result<(), ToolError> {
        let Some(rules) = self.options().rules.clone() else { return Ok(()) };
        // Refused here as the tool would: a call whose circumstances cannot be read must not continue without a
        // verdict.
        let Some(proposal) = self.proposal(&rules, call)? else { return Ok(()) };
        match proposal.judgement.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Forbid => Err(forbidden(&proposal.judgement)),
            Verdict::Ask => {
                ask(&proposal, &rules, call).await?;
                let pinned = proposal.execution.pin_directory(&mut call.arguments).map_err(ToolError)?;
                // What was approved before, for running without the sandbox, holds as well.
                call.directory.get_or_insert(pinned);
                Ok(())
            }
        }
    }

    fn proposal(&self, rules: &Rules, call: &Call) -> Result<Option<Proposal>, BadArgument> {
        let Some(execution) = self.read_execution(&call.tool, &call.arguments)? else { return Ok(None) };
        let mut arguments = Arguments::new(call.arguments.clone());
        let judgement = match call.tool.as_str() {
            "exec_command" => {
                let script = arguments.required_text("cmd")?;
                let judgement = self.judge_script(rules, &script, arguments.text("shell")?.as_deref());
                let variables = arguments.text_map("env")?;
                let set =
                    variables.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)));
                judgement.and(rules.judge_variables(set))
            }
            "shell_command" => self.judge_script(rules, &arguments.required_text("command")?, None),
            _ => {
                let argv = arguments.texts("command")?.unwrap_or_default();
                let words: Vec<&str> = argv.iter().map(String::as_str).collect();
                rules.judge_argv(&words)
            }
        };
        Ok(Some(Proposal { execution, judgement }))
    }

    /// A shell that is named by its path is judged like any other program.
    fn judge_script(&self, rules: &Rules, script: &str, asked: Option<&str>) -> Judgement {
        // A shell that is not allowed runs nothing: the call was refused when its circumstances were read.
        let (shell, _) = self.shell(asked).unwrap_or_else(|_| self.own_shell());
        let judgement = rules.judge_script(script, shell.dialect.into());
        match asked.filter(|shell| shell.contains('/')) {
            Some(shell) => judgement.and(rules.judge_argv(&[shell, "-c", script])),
            None => judgement,
        }
    }
}

async fn ask(proposal: &Proposal, rules: &Rules, call: &Call) -> Result<(), ToolError> {
    let reasons = Reasons::of(&proposal.judgement, rules);
    let Some(person) = &call.person else {
        return Err(unapproved("nobody can be asked through this client", &reasons));
    };
    let approval = Approval { execution: proposal.execution.clone(), reasons: reasons.explanation.clone() };
    // timer: the person may be absent.
    let asking: Pending<'_, _> = Box::pin(tokio::time::timeout(LONGEST_ASKING, person.approve(approval)));
    match alive(call, asking).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(unapproved("they declined or did not answer", &reasons)),
        Err(_) => Err(unapproved("they did not answer in time", &reasons)),
    }
}

fn forbidden(judgement: &Judgement) -> ToolError {
    ToolError(format!(
        "forbidden by the rules, nothing was run:\n{}\nDo not look for a way around; say what you need it for.",
        judgement.explanation()
    ))
}

/// Why a person is asked, and the remedy where none can be.
struct Reasons {
    explanation: String,
    remedy: String,
}

impl Reasons {
    fn of(judgement: &Judgement, rules: &Rules) -> Self {
        let files = rules.files().join(" or ");
        let place = if files.is_empty() { "the rules file".to_owned() } else { files };
        let remedy = if judgement.is_up_to_rules() {
            format!("The user, or the operator of this server, can allow it in {place}.")
        } else {
            "The rules do not allow this as it is written: leave out the part named above, or have a person run it."
                .to_owned()
        };
        Self { explanation: judgement.explanation(), remedy }
    }
}

fn unapproved(why: &str, reasons: &Reasons) -> ToolError {
    let Reasons { explanation, remedy } = reasons;
    ToolError(format!(
        "this command needs a person's approval, and {why}; nothing was run:\n{explanation}\n{remedy}"
    ))
}
