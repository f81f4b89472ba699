//! The processor time that the threads of a job use, and whether it is little enough to call the job idle.
//!
//! The kernel counts for each thread how long it ran and how long it was ready to run and got no processor. A starved
//! thread uses no time and is not idle, so the share is taken of the time in which it could have slept: all of the
//! window except its run delay. That makes the share the same on an idle machine and on a crowded one.
//!
//! Output counts as work where a job's own clock may be what prints it: see [`Sample::with_output`].
//!
//! A thread that wakes up every few milliseconds must have done so twice before its share says anything: where a
//! virtual machine gets no processor itself, the clock goes on and nothing in it runs.

use super::family::{ProcessStat, for_each_thread};
use super::file::{Small, decimal, words};
use crate::process::Pid;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A thread that runs more than one part in so many of the time works.
const IDLE_SHARE: u64 = 32;

/// How often a thread that wakes up every few milliseconds must have done so before it is called idle.
const TICKS: u64 = 2;

/// The times of all threads of a job at one moment.
#[derive(Clone)]
pub(super) struct Sample {
    at: Instant,
    threads: Vec<ThreadTime>,
    /// How much the session had printed, if the caller said so.
    printed: u64,
}

/// One line of `/proc/PID/task/TID/schedstat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadTime {
    thread: u32,
    /// Nanoseconds on a processor.
    run: u64,
    /// Nanoseconds ready to run, without a processor.
    delay: u64,
    /// How often it was given a processor.
    turns: u64,
    /// How often it was preempted, if the caller needs that: a preempted thread wanted to run on.
    preempted: Option<u64>,
}

impl ThreadTime {
    fn of(pid: Pid, thread: u32) -> Option<Self> {
        let line = Small::<128>::read(format_args!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
        Self::parse(thread, line.bytes())
    }

    fn parse(thread: u32, line: &[u8]) -> Option<Self> {
        let mut words = words(line);
        let mut number = || decimal(words.next()?);
        Some(Self { thread, run: number()?, delay: number()?, turns: number()?, preempted: None })
    }
}

impl Sample {
    pub(super) fn of(members: &[(Pid, ProcessStat)]) -> Self {
        let mut threads = Vec::new();
        for (pid, facts) in members {
            if facts.threads == 1 {
                threads.extend(ThreadTime::of(*pid, pid.get()));
                continue;
            }
            for_each_thread(*pid, |thread| {
                threads.extend(ThreadTime::of(*pid, thread));
                ControlFlow::Continue(())
            });
        }
        threads.sort_unstable_by_key(|time| time.thread);
        Self { at: Instant::now(), threads, printed: 0 }
    }

    /// Adds how much the session has printed, in bytes: output within a window is then work.
    pub(super) fn with_output(mut self, printed: u64) -> Self {
        self.printed = printed;
        self
    }

    /// Adds how often these threads were preempted, which is in a longer file.
    pub(super) fn with_preemptions(mut self, ticking: &[(Pid, u32)]) -> Self {
        for (pid, thread) in ticking {
            let time = self.threads.iter_mut().find(|time| time.thread == *thread);
            if let Some((time, count)) = time.zip(preemptions(*pid, *thread)) {
                time.preempted = Some(count);
            }
        }
        self
    }

    /// Whether there are no numbers, because this kernel does not count.
    pub(super) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Whether any thread had a turn between the two samples, was started or ended.
    pub(super) fn differs_from(&self, earlier: &Self) -> bool {
        let turns = |time: &ThreadTime| (time.thread, time.turns);
        !self.threads.iter().map(turns).eq(earlier.threads.iter().map(turns))
    }

    fn earlier_time(&self, thread: u32) -> Option<&ThreadTime> {
        let index = self.threads.binary_search_by_key(&thread, |time| time.thread).ok()?;
        self.threads.get(index)
    }
}

/// The verdict of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// No thread used more than a trace of processor time.
    Quiet,
    /// A thread used more, or was started.
    Works,
    /// The window is not over; it may be after this time.
    TooEarly(Duration),
}

/// The time over which the job around one reader is measured. It moves with the looks: its beginning is not much longer
/// ago than a verdict takes, so that an hour of silence does not outweigh the work of this moment.
pub(super) struct Window {
    pub(super) reader: (Pid, u32),
    begin: Sample,
    next_begin: Sample,
}

impl Window {
    pub(super) fn new(reader: (Pid, u32), sample: Sample) -> Self {
        Self { reader, begin: sample.clone(), next_begin: sample }
    }

    /// Measures from the window's beginning to this sample, which must be at least a span later for a verdict. These
    /// threads wake up every few milliseconds.
    pub(super) fn measure(&mut self, now: Sample, span: Duration, ticking: &[(Pid, u32)]) -> Activity {
        let is_ticking = |thread| ticking.iter().any(|(_, ticking)| *ticking == thread);
        let activity = compare(&self.begin, &now, span, is_ticking);
        match activity {
            Activity::Works => *self = Self::new(self.reader, now),
            // The later beginning takes over once it could decide as well.
            Activity::Quiet if compare(&self.next_begin, &now, span, is_ticking) == Activity::Quiet => {
                self.begin = std::mem::replace(&mut self.next_begin, now);
            }
            Activity::Quiet | Activity::TooEarly(_) => {}
        }
        activity
    }
}

fn compare(begin: &Sample, now: &Sample, span: Duration, is_ticking: impl Fn(u32) -> bool) -> Activity {
    if now.printed != begin.printed {
        return Activity::Works;
    }
    let wall = now.at - begin.at;
    let span_nanos = nanos(span);
    let mut activity = if wall < span { Activity::TooEarly(span - wall) } else { Activity::Quiet };
    for time in &now.threads {
        let Some(earlier) = begin.earlier_time(time.thread) else { return Activity::Works };
        let run = time.run.saturating_sub(earlier.run);
        let awake = nanos(wall).saturating_sub(time.delay.saturating_sub(earlier.delay));
        // Before the window is over, the share is one of the whole window: it can only grow.
        if run * IDLE_SHARE > awake.max(span_nanos) {
            return Activity::Works;
        }
        let is_ticking = is_ticking(time.thread);
        if is_ticking && time.preempted.zip(earlier.preempted).is_some_and(|(now, then)| now > then) {
            return Activity::Works;
        }
        // It had too little of the processor to show anything, or it did not wake up yet.
        let is_unseen = awake < span_nanos / 2 || (is_ticking && time.turns < earlier.turns + TICKS);
        if activity == Activity::Quiet && is_unseen {
            activity = Activity::TooEarly(span);
        }
    }
    activity
}

fn preemptions(pid: Pid, thread: u32) -> Option<u64> {
    let text = Small::<4096>::read(format_args!("/proc/{pid}/task/{thread}/status")).ok()?;
    let mut lines = text.bytes().split(|byte| *byte == b'\n');
    lines.find_map(|line| decimal(line.strip_prefix(b"nonvoluntary_ctxt_switches:")?.trim_ascii()))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_millis(100);

    fn sample(begin: Instant, wall_ms: u64, run_ms: u64, delay_ms: u64) -> Sample {
        let nanos = |ms| ms * 1_000_000;
        let time =
            ThreadTime { thread: 7, run: nanos(run_ms), delay: nanos(delay_ms), turns: 1, preempted: None };
        Sample { at: begin + Duration::from_millis(wall_ms), threads: vec![time], printed: 0 }
    }

    #[test]
    fn a_line_of_the_scheduler_has_three_numbers() {
        let expected = ThreadTime { thread: 7, run: 12, delay: 34, turns: 5, preempted: None };
        assert_eq!(ThreadTime::parse(7, b"12 34 5\n"), Some(expected));
        assert_eq!(ThreadTime::parse(7, b"12 34"), None);
    }

    #[test]
    fn work_is_a_share_of_the_time_in_which_a_thread_could_have_slept() {
        let start = Instant::now();
        let check = |wall, run, delay, expected: Activity| {
            let (begin, now) = (sample(start, 0, 0, 0), sample(start, wall, run, delay));
            assert_eq!(
                compare(&begin, &now, SPAN, |_| false),
                expected,
                "{wall} ms, {run} on, {delay} delayed"
            );
        };
        check(100, 0, 0, Activity::Quiet);
        check(100, 2, 0, Activity::Quiet);
        check(100, 30, 0, Activity::Works);
        // A crowded machine: it woke up once and was let run late.
        check(100, 0, 40, Activity::Quiet);
        // It had a tenth of the time it wanted, and slept for another tenth.
        check(1000, 90, 810, Activity::Works);
        check(100, 0, 95, Activity::TooEarly(SPAN));
        check(40, 0, 0, Activity::TooEarly(Duration::from_millis(60)));
        check(40, 10, 0, Activity::Works);
    }

    #[test]
    fn a_thread_that_ticks_is_idle_once_it_has_ticked_and_wanted_no_more() {
        let start = Instant::now();
        let check = |turns, preempted, expected| {
            let (mut begin, mut now) = (sample(start, 0, 0, 0), sample(start, 100, 0, 0));
            begin.threads[0].preempted = Some(1);
            (now.threads[0].turns, now.threads[0].preempted) = (turns, Some(preempted));
            assert_eq!(
                compare(&begin, &now, SPAN, |_| true),
                expected,
                "{turns} turns, {preempted} preempted"
            );
        };
        check(1, 1, Activity::TooEarly(SPAN));
        check(2, 1, Activity::TooEarly(SPAN));
        check(3, 1, Activity::Quiet);
        check(3, 2, Activity::Works);
    }

    #[test]
    fn output_within_a_window_is_work_and_begins_the_next_one() {
        let start = Instant::now();
        let mut window = Window::new((Pid::new(7), 7), sample(start, 0, 0, 0).with_output(9));
        let mut measure =
            |wall, printed| window.measure(sample(start, wall, 0, 0).with_output(printed), SPAN, &[]);
        assert_eq!(measure(100, 9), Activity::Quiet);
        assert_eq!(measure(150, 14), Activity::Works);
        assert_eq!(measure(200, 14), Activity::TooEarly(Duration::from_millis(50)));
        assert_eq!(measure(250, 14), Activity::Quiet);
    }

    #[test]
    fn a_window_moves_on_and_a_started_thread_is_work() {
        let start = Instant::now();
        let mut window = Window::new((Pid::new(7), 7), sample(start, 0, 0, 0));
        for round in 1..100 {
            assert_eq!(window.measure(sample(start, round * 100, 0, 0), SPAN, &[]), Activity::Quiet);
        }
        assert_eq!(window.measure(sample(start, 10_000, 10, 0), SPAN, &[]), Activity::Works);
        let mut more = sample(start, 10_200, 10, 0);
        more.threads.push(ThreadTime { thread: 8, run: 0, delay: 0, turns: 0, preempted: None });
        assert_eq!(window.measure(more, SPAN, &[]), Activity::Works);
    }
}
