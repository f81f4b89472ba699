//! System call filters: a list of rules becomes a program that the kernel runs before every system call of a process
//! and all that it starts.
//!
//! Rules are tried in order and the first that fits decides; calls that no rule fits are allowed. Calls of a foreign
//! architecture end the process, because their numbers mean other things.

use super::call::{call, last_errno};
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::collections::BTreeMap;

/// The decision of the filter about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterAction {
    /// The call is carried out.
    Allow,
    /// The call fails with this error.
    Fail(Errno),
    /// The listener (`SECCOMP_RET_USER_NOTIF`) decides.
    Tell,
}

/// A condition on an argument. Arguments are compared as the kernel's 32-bit flags and numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The argument has one of these bits.
    HasAny {
        /// The index of the argument, from 0.
        argument: u8,
        /// The bits.
        bits: u32,
    },
    /// The argument is this number.
    Is {
        /// The index of the argument.
        argument: u8,
        /// The number.
        value: u32,
    },
    /// The argument is not this number.
    IsNot {
        /// The index of the argument.
        argument: u8,
        /// The number.
        value: u32,
    },
    /// The argument is not null.
    IsGiven {
        /// The index of the argument.
        argument: u8,
    },
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The number of the system call.
    pub number: i64,
    /// All of these must hold.
    pub tests: Vec<Test>,
    /// The decision if all tests fit.
    pub verdict: FilterAction,
}

impl Rule {
    /// A rule about a call, whatever its arguments.
    pub fn always(number: i64, verdict: FilterAction) -> Self {
        Self { number, tests: Vec::new(), verdict }
    }

    /// A rule about a call with such arguments.
    pub fn when(number: i64, tests: impl Into<Vec<Test>>, verdict: FilterAction) -> Self {
        Self { number, tests: tests.into(), verdict }
    }
}

/// Rules in the form that the kernel takes (BPF).
#[derive(Clone, Debug)]
pub struct Program {
    instructions: Vec<libc::sock_filter>,
}

/// Whether a listener decides about calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// No: there is no rule that asks one.
    No,
    /// Yes: the holder of the returned descriptor.
    Yes,
}

impl Program {
    /// Makes a program of rules.
    pub fn of(rules: &[Rule]) -> Self {
        let mut instructions = vec![
            load(ARCHITECTURE_AT),
            jump(IS, OWN_ARCHITECTURE, 1, 0),
            give(libc::SECCOMP_RET_KILL_PROCESS),
            load(NUMBER_AT),
            // The x32 numbers of x86-64, whose meanings the rules below do not check.
            jump(AT_LEAST, FIRST_FOREIGN_NUMBER, 0, 1),
            give(fail(Errno::NOSYS)),
        ];
        search(&ranges(rules), &mut instructions);
        Self { instructions }
    }

    /// How many instructions it has; the kernel takes 4096.
    pub fn length(&self) -> usize {
        self.instructions.len()
    }

    /// Puts this filter on this process and all that it becomes or starts. The process must have given up gaining
    /// privileges.
    pub fn enforce(&self, listening: Listening) -> Result<Option<OwnedFd>, Errno> {
        let length = u16::try_from(self.instructions.len()).map_err(|_| Errno::TOOBIG)?;
        let program = libc::sock_fprog { len: length, filter: self.instructions.as_ptr().cast_mut() };
        match listening {
            Listening::No => install(&program, 0).map(|_| None),
            Listening::Yes => {
                let wait = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
                let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
                // A kernel before 5.19 does not know how to let only a deadly signal interrupt a supervised call.
                let answer = match install(&program, listen | wait) {
                    Err(Errno::INVAL) => install(&program, listen),
                    answer => answer,
                };
                // SAFETY: with this flag the kernel returns a new descriptor that has no other owner.
                answer.map(|fd| Some(unsafe { OwnedFd::from_raw_fd(fd) }))
            }
        }
    }
}

fn install(program: &libc::sock_fprog, flags: libc::c_ulong) -> Result<i32, Errno> {
    let operation = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program and its instructions outlive the call, and the kernel only reads them.
    let answer = unsafe { call!(libc::SYS_seccomp, operation, flags, std::ptr::from_ref(program)) }?;
    i32::try_from(answer).map_err(|_| last_errno())
}

/// System call numbers from `first` on, up to the first of the next range, and the instructions that decide about them.
#[derive(Debug)]
struct Range {
    first: u32,
    decision: Vec<libc::sock_filter>,
}

/// Every number belongs to one range, in order. Neighbours with the same decision share a range.
fn ranges(rules: &[Rule]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut add = |first: u32, decision: Vec<libc::sock_filter>| match ranges.last() {
        Some(last) if same(&last.decision, &decision) => {}
        // An empty range: two ruled numbers follow each other.
        Some(last) if last.first == first => {
            ranges.pop();
            if !ranges.last().is_some_and(|before| same(&before.decision, &decision)) {
                ranges.push(Range { first, decision });
            }
        }
        _ => ranges.push(Range { first, decision }),
    };
    let allow = || vec![give(libc::SECCOMP_RET_ALLOW)];
    add(0, allow());
    for (number, decision) in by_number(rules) {
        add(number, decision);
        add(number + 1, allow());
    }
    ranges
}

fn same(one: &[libc::sock_filter], other: &[libc::sock_filter]) -> bool {
    let parts = |it: &libc::sock_filter| (it.code, it.jt, it.jf, it.k);
    one.iter().map(parts).eq(other.iter().map(parts))
}

fn by_number(rules: &[Rule]) -> BTreeMap<u32, Vec<libc::sock_filter>> {
    let mut ruled: BTreeMap<u32, Vec<&Rule>> = BTreeMap::new();
    for rule in rules {
        if let Ok(number) = u32::try_from(rule.number) {
            ruled.entry(number).or_default().push(rule);
        }
    }
    ruled.into_iter().map(|(number, rules)| (number, decision(&rules))).collect()
}

fn decision(rules: &[&Rule]) -> Vec<libc::sock_filter> {
    let mut instructions = Vec::new();
    for rule in rules {
        add_rule(rule, &mut instructions);
        // A rule without tests fits always, so no later one is reached.
        if rule.tests.is_empty() {
            return instructions;
        }
    }
    instructions.push(give(libc::SECCOMP_RET_ALLOW));
    instructions
}

/// Searches for the number by bisection. The kernel compiles the program when it is installed, and simulates it for
/// every number there is: the time for that grows with the number of instructions, and every confined command waits for
/// it.
fn search(ranges: &[Range], instructions: &mut Vec<libc::sock_filter>) {
    let middle = ranges.len() / 2;
    match ranges {
        [] => instructions.push(give(libc::SECCOMP_RET_ALLOW)),
        [only] => instructions.extend(&only.decision),
        _ => {
            let start = instructions.len();
            search(&ranges[..middle], instructions);
            let (left, right) = (instructions.len() - start, ranges[middle].first);
            match u8::try_from(left) {
                Ok(over_left) => instructions.insert(start, jump(AT_LEAST, right, over_left, 0)),
                Err(_) => {
                    let over_left = libc::sock_filter { code: GO, jt: 0, jf: 0, k: left as u32 };
                    instructions.splice(start..start, [jump(AT_LEAST, right, 0, 1), over_left]);
                }
            }
            search(&ranges[middle..], instructions);
        }
    }
}

fn add_rule(rule: &Rule, instructions: &mut Vec<libc::sock_filter>) {
    let tests: usize = rule.tests.iter().map(|test| test.length()).sum();
    let mut rest = tests + 1;
    for test in &rule.tests {
        rest -= test.length();
        test.add(instructions, short(rest));
    }
    instructions.push(give(match rule.verdict {
        FilterAction::Allow => libc::SECCOMP_RET_ALLOW,
        FilterAction::Fail(errno) => fail(errno),
        FilterAction::Tell => libc::SECCOMP_RET_USER_NOTIF,
    }));
}

/// A rule has a handful of instructions.
fn short(distance: usize) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}

fn fail(errno: Errno) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.raw_os_error().unsigned_abs() & libc::SECCOMP_RET_DATA
}

impl Test {
    fn length(self) -> usize {
        match self {
            Self::HasAny { .. } | Self::Is { .. } | Self::IsNot { .. } => 2,
            Self::IsGiven { .. } => 4,
        }
    }

    /// `past`: how many instructions of the rule come after this test, to be skipped when it does not hold.
    fn add(self, instructions: &mut Vec<libc::sock_filter>, past: u8) {
        match self {
            Self::HasAny { argument, bits } => {
                instructions.extend([load(low(argument)), jump(HAS_ANY, bits, 0, past)]);
            }
            Self::Is { argument, value } => {
                instructions.extend([load(low(argument)), jump(IS, value, 0, past)]);
            }
            Self::IsNot { argument, value } => {
                instructions.extend([load(low(argument)), jump(IS, value, past, 0)]);
            }
            Self::IsGiven { argument } => instructions.extend([
                load(low(argument)),
                jump(HAS_ANY, u32::MAX, 2, 0),
                load(low(argument) + 4),
                jump(HAS_ANY, u32::MAX, 0, past),
            ]),
        }
    }
}

/// The offset of the lower half of an argument: all our architectures are little-endian and store it first.
fn low(argument: u8) -> u32 {
    ARGUMENTS_AT + u32::from(argument) * 8
}

fn load(at: u32) -> libc::sock_filter {
    libc::sock_filter { code: LOAD, jt: 0, jf: 0, k: at }
}

fn jump(code: u16, value: u32, if_so: u8, if_not: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: if_so, jf: if_not, k: value }
}

fn give(answer: u32) -> libc::sock_filter {
    libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: answer }
}

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;
const LOAD: u16 = 0x20;
const IS: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const HAS_ANY: u16 = 0x45;
const RETURN: u16 = 0x06;
const GO: u16 = 0x05;
const FIRST_FOREIGN_NUMBER: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const OWN_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: u32 = 0xc000_00b7;

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's decision about a call: an interpreter of the few instructions that we use.
    fn judge(program: &Program, number: u32, arguments: [u64; 6]) -> u32 {
        let word = |at: u32| match at {
            NUMBER_AT => number,
            ARCHITECTURE_AT => OWN_ARCHITECTURE,
            at => {
                let argument = arguments[((at - ARGUMENTS_AT) / 8) as usize];
                if at % 8 == 0 { argument as u32 } else { (argument >> 32) as u32 }
            }
        };
        let (mut place, mut loaded) = (0, 0);
        loop {
            let instruction = program.instructions[place];
            place += 1;
            let holds = match instruction.code {
                LOAD => {
                    loaded = word(instruction.k);
                    continue;
                }
                RETURN => return instruction.k,
                GO => {
                    place += instruction.k as usize;
                    continue;
                }
                IS => loaded == instruction.k,
                AT_LEAST => loaded >= instruction.k,
                _ => loaded & instruction.k != 0,
            };
            place += usize::from(if holds { instruction.jt } else { instruction.jf });
        }
    }

    #[test]
    fn every_number_is_found_among_many() {
        let rules: Vec<Rule> = (0..100)
            .map(|number| {
                Rule::always(number * 3, FilterAction::Fail(Errno::from_raw_os_error(1 + number as i32)))
            })
            .collect();
        let program = Program::of(&rules);
        for number in 0..310_u32 {
            let expected = match number {
                ruled if ruled % 3 == 0 && ruled < 300 => libc::SECCOMP_RET_ERRNO | (1 + ruled / 3),
                _ => libc::SECCOMP_RET_ALLOW,
            };
            assert_eq!(judge(&program, number, [0; 6]), expected, "{number}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let program = Program::of(&[
            Rule::when(7, [Test::Is { argument: 0, value: 1 }], FilterAction::Allow),
            Rule::when(
                7,
                [Test::HasAny { argument: 1, bits: 6 }, Test::IsGiven { argument: 2 }],
                FilterAction::Tell,
            ),
            Rule::when(7, [Test::IsNot { argument: 0, value: 3 }], FilterAction::Fail(Errno::PERM)),
            Rule::always(9, FilterAction::Fail(Errno::NOSYS)),
        ]);
        let check = |number, arguments, expected| {
            assert_eq!(judge(&program, number, arguments), expected, "{number} {arguments:?}");
        };
        let refused = fail(Errno::PERM);
        check(7, [1, 2, 1, 0, 0, 0], libc::SECCOMP_RET_ALLOW);
        check(7, [0, 2, 1, 0, 0, 0], libc::SECCOMP_RET_USER_NOTIF);
        check(7, [0, 4, 1 << 40, 0, 0, 0], libc::SECCOMP_RET_USER_NOTIF);
        check(7, [0, 2, 0, 0, 0, 0], refused);
        check(7, [0, 1, 1, 0, 0, 0], refused);
        check(7, [3, 1, 1, 0, 0, 0], libc::SECCOMP_RET_ALLOW);
        check(9, [0; 6], fail(Errno::NOSYS));
        check(8, [0; 6], libc::SECCOMP_RET_ALLOW);
        check(FIRST_FOREIGN_NUMBER + 8, [0; 6], fail(Errno::NOSYS));
    }
}
