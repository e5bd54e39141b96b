//! A scenario of one's own in one file, and a `distill` that has it (`docs/new-scenario.md` walks through it). Try
//! `cargo run --release --example new_scenario -- demo --scenario machine`.

use sched_distill::{cli, foreign, prelude::*, registry};
use serde::{Deserialize, Serialize};
use std::{error::Error, process::ExitCode, sync::LazyLock};

fn main() -> ExitCode {
    cli::main(registry::all().with(&MACHINE))
}

/// The entry in the registry.
pub(crate) static MACHINE: Entry<Machine> = Entry {
    teacher: "moore,temperature=0.2",
    baselines: &["edf", "fifo"],
    policies: || foreign::policies::beside(POLICIES),
    open: |spec| foreign::policies::open_beside(spec, POLICIES),
    attack: None,
};

/// A job as it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Job {
    arrival_ms: f64,
    length_ms: f64,
    deadline_ms: f64,
}

/// The machine is free: which of the waiting jobs runs next? `distill serve` reads it as JSON.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Moment {
    time_ms: f64,
    /// Those that have arrived.
    jobs: Vec<Job>,
    /// Numbers of the waiting jobs, ascending.
    waiting: Vec<u32>,
}

#[derive(Debug, thiserror::Error)]
#[error("job {0} does not wait")]
pub(crate) struct NotWaiting(u32);

impl Moment {
    fn place(&self, job: u32) -> Result<usize, NotWaiting> {
        self.waiting.binary_search(&job).map_err(|_| NotWaiting(job))
    }
}

impl Whole for Moment {
    type Scenario = Machine;
    fn is_open(&self) -> bool {
        self.waiting.is_sorted_by(|a, b| a < b) && self.waiting.last().is_some_and(|&job| job < self.jobs.len() as u32)
    }

    /// The machine is busy then: nothing follows.
    fn answer(&mut self, job: u32) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.place(job)?;
        self.waiting.clear();
        Ok(())
    }

    fn extent(&self) -> usize {
        self.jobs.len()
    }
}

/// One machine, jobs of known length with deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Machine;

const ON_TIME: &str = "Share of the jobs that are complete by their deadline.";

impl Scenario for Machine {
    const INFO: ScenarioInfo = ScenarioInfo {
        kinds: &["all-can", "some-late"],
        regime: "waiting",
        figures: &[Figure::difference("on_time", "share on time", "share").more(ON_TIME)],
        // What searches may try, and what teachers are compared with.
        catalogue: Catalogue {
            guards: &[guard("late-last", "late jobs wait for the others").is("job: late last", &[])],
            orders: &[("job", "length", false), ("job", "due", false)],
            borders: &[("job", "waiting", &[4.0, 8.0])],
            rules: &[
                rule("earliest-deadline", "earliest deadline first").is("job: smallest due"),
                rule("shortest-job", "shortest job first").is("job: smallest length"),
                rule("first-come", "in order of arrival").is("job: smallest arrival_rank"),
            ],
            ..Catalogue::EMPTY
        },
        ..ScenarioInfo::new("machine", "one machine, jobs of known length with deadlines", feature_set)
    };
    const LISTS: &'static [&'static str] = &["job"];
    /// What a scheduler may know is all that a moment has, and nothing of jobs to come.
    type View<'a> = &'a Moment;
    type State = Moment;
    type Decision = u32;
    type Questions = OneChoice<Self>;

    fn time_ms(seen: &&Moment) -> f64 {
        seen.time_ms
    }

    fn kind(seen: &&Moment) -> u8 {
        u8::from((0..seen.waiting.len()).any(|place| Self::candidate(seen, place).slack_ms < 0.0))
    }

    /// A policy may say how probable each waiting job is.
    fn items(seen: &&Moment) -> usize {
        seen.waiting.len()
    }

    fn item(seen: &&Moment, job: u32) -> Option<usize> {
        seen.place(job).ok()
    }
}

/// Schedulers of others see the features of the waiting jobs.
impl Tabular for Machine {
    type Tables = LevelTables<Self>;
}

/// A waiting job, its place among them, and how long it could still wait and be on time; below 0 it cannot be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    place: u32,
    job: Job,
    slack_ms: f64,
}

impl OneLevel for Machine {
    type Item = Waiting;
    fn candidate(seen: &Moment, place: usize) -> Waiting {
        let job = seen.jobs[seen.waiting[place] as usize];
        Waiting { place: place as u32, job, slack_ms: job.deadline_ms - seen.time_ms - job.length_ms }
    }

    fn decision(seen: &Moment, place: usize) -> u32 {
        seen.waiting[place]
    }

    fn entity(seen: &Moment, place: usize) -> u32 {
        seen.waiting[place]
    }
}

type Q = Described<Machine>;

impl Level for Machine {
    type Question<'a> = &'a Moment;
    type Candidate<'a> = Waiting;
    const NAME: &'static str = "job";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        Q::time(Measured, "length", "How long the job runs.").compared(&|_, c| c.job.length_ms),
        Q::time(Measured, "due", "Time until the deadline.").ranked(&|seen, c| c.job.deadline_ms - seen.time_ms),
        Q::time(Measured, "slack", "How long the job could still wait and be on time.").ranked(&|_, c| c.slack_ms),
        Q::flag(Measured, "late", "Whether the job cannot be on time any more.").value(&|_, c| c.slack_ms < 0.0),
        Q::count(Measured, "arrival_rank", "1", "Place among the waiting jobs in order of arrival.")
            .value(&|_, c| c.place),
        Q::count(Measured, "waiting", "jobs", "Jobs that wait.")
            .shared("jobs that wait", &|seen| seen.waiting.len() as f64),
    ];
}

fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| FeatureSet {
        scenario: "machine".into(),
        levels: vec![Machine::spec("Which job runs next?", &["job"]).of("Waiting jobs, by arrival.")],
    });
    &SET
}

/// Rules by their scores, in minutes.
static POLICIES: &[PolicyDef<Machine>] = &[
    PolicyDef::rule("fifo[,temperature=T]", "in order of arrival")
        .is(|args| least(args, |_, c: &Waiting| c.job.arrival_ms / 6e4)),
    PolicyDef::rule("edf[,temperature=T]", "earliest deadline first")
        .is(|args| least(args, |_, c: &Waiting| c.job.deadline_ms / 6e4)),
    PolicyDef::rule("moore[,temperature=T]", "as edf among those that can be on time; the others last")
        .is(|args| least(args, |_, c: &Waiting| c.job.deadline_ms / 6e4 + if c.slack_ms < 0.0 { 1e5 } else { 0.0 })),
    PolicyDef::new(SCORER, open_scorer),
    PolicyDef::student(),
];

fn open_builtin(spec: &Spec) -> Result<Workload<Machine>, WorkloadError> {
    spec.refuse_file()?;
    let mut args = spec.args();
    let (jobs, load) = (args.count("jobs", 60, 1..=100_000)?, args.number("load", 1.1, 0.01..=100.0)?);
    args.finish()?;
    Ok(Workload::drawn((), move |id| {
        let mut stream = Stream::new(id.seed, "jobs");
        let mut exponential = |mean_minutes: f64| -6e4 * mean_minutes * (1.0 - stream.uniform()).ln();
        let mut arrival_ms = 0.0;
        let draw = |_| {
            arrival_ms += exponential(1.0 / load);
            let length_ms = 1.0 + exponential(1.0);
            Job { arrival_ms, length_ms, deadline_ms: arrival_ms + length_ms + exponential(3.0) }
        };
        (0..jobs).map(draw).collect()
    }))
}

impl Simulated for Machine {
    type Cluster = ();
    type Job = Job;
    type Simulator = Run;

    const WORKLOADS: &'static [WorkloadDef<Self>] = &[WorkloadDef::new(
        "builtin[,jobs=60][,load=1.1]",
        "random arrivals, lengths and deadlines; load 1 is as much work as the machine can do",
        open_builtin,
    )];

    fn start(_: &Workload<Self>, jobs: Vec<Job>, _: u64) -> Run {
        let mut run = Run { ends_ms: vec![None; jobs.len()], jobs, ..Run::default() };
        run.until_free(0.0);
        run
    }
}

/// A running episode.
#[derive(Clone, Default)]
pub(crate) struct Run {
    now: Moment,
    /// All jobs, those to come as well, and when each was completed.
    jobs: Vec<Job>,
    ends_ms: Vec<Option<f64>>,
}

impl Run {
    /// Lets time pass to a moment, and on to the next arrival if no job waits then.
    fn until_free(&mut self, time_ms: f64) {
        self.now.time_ms = time_ms;
        while let Some(&job) = self.jobs.get(self.now.jobs.len())
            && (job.arrival_ms <= self.now.time_ms || self.now.waiting.is_empty())
        {
            self.now.time_ms = self.now.time_ms.max(job.arrival_ms);
            self.now.waiting.push(self.now.jobs.len() as u32);
            self.now.jobs.push(job);
        }
    }
}

impl Simulation for Run {
    type Scenario = Machine;
    type Error = NotWaiting;

    fn view(&self) -> Option<&Moment> {
        self.now.is_open().then_some(&self.now)
    }

    fn check(&self, job: u32) -> Result<(), NotWaiting> {
        self.now.place(job).map(|_| ())
    }

    fn step(&mut self, job: u32) -> Result<(), NotWaiting> {
        let place = self.now.place(job)?;
        self.now.waiting.remove(place);
        let end_ms = self.now.time_ms + self.jobs[job as usize].length_ms;
        self.ends_ms[job as usize] = Some(end_ms);
        self.until_free(end_ms);
        Ok(())
    }

    fn outcome(&self) -> Option<Outcome> {
        let (jobs, missed) = (self.jobs.len() as f64, self.cost(0.0, f64::INFINITY));
        self.now.waiting.is_empty().then(|| Outcome {
            jobs: self.ends_ms.iter().copied().flatten().map(JobEnd::Completed).collect(),
            figures: vec![("on_time", Some(1.0 - missed / jobs))],
            final_time_ms: self.now.time_ms,
            total_reward: -missed,
            events: 2 * self.jobs.len() as u64,
            decisions: self.jobs.len() as u64,
            ..Outcome::default()
        })
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.jobs.iter().map(|job| job.arrival_ms).collect()
    }

    fn completed_ms(&self, job: u32) -> Option<f64> {
        *self.ends_ms.get(job as usize)?
    }

    /// Jobs whose deadline passes without them: all jobs less those on time.
    fn cost(&self, from_ms: f64, to_ms: f64) -> f64 {
        let missed = |(job, end): &(&Job, &Option<f64>)| {
            let passes = job.deadline_ms > from_ms && job.deadline_ms <= to_ms;
            passes && end.is_none_or(|end| end > job.deadline_ms)
        };
        self.jobs.iter().zip(&self.ends_ms).filter(missed).count() as f64
    }
}
