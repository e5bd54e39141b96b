//! What a decision of each policy costs: `time_policies WORKLOAD EPISODES POLICY...`.
//!
//! Every policy runs the same episodes on one thread; each answer is timed by itself, features included. The last column
//! is the median of the first policy divided by that of the others, so name the teacher first:
//!
//! ```sh
//! cargo run --release --example time_policies -- tpch:tpch_profiles.json.gz,executors=50,jobs=200 3 \
//!     decima:model.pt student:student.json sjf
//! ```

use sched_distill::{
    dag::{Dag, Decision, View},
    policy::{Policy, PolicyError},
    recorder::{EpisodeId, run_episode},
    registry::Registered as _,
    rng::Split,
    scenario::Said,
    spec::Spec,
};
use std::{error::Error, time::Instant};

/// A policy that keeps the time of each of its answers.
struct Timed {
    policy: Box<dyn Policy<Dag>>,
    nanoseconds: Vec<u64>,
}

impl Policy<Dag> for Timed {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(Self { policy: self.policy.fresh(), nanoseconds: Vec::new() })
    }

    fn reset(&mut self, episode_seed: u64) {
        self.policy.reset(episode_seed);
    }

    fn decide(&mut self, seen: &View<'_>, p: &mut Said) -> Result<Decision, PolicyError> {
        let start = Instant::now();
        let decision = self.policy.decide(seen, p);
        self.nanoseconds.push(start.elapsed().as_nanos() as u64);
        decision
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [workload, episodes, policies @ ..] = &args[..] else {
        return Err("expected WORKLOAD EPISODES POLICY...".into());
    };
    let workload = sched_distill::dag::workload::open(&workload.parse::<Spec>()?)?;
    let episodes: u32 = episodes.parse()?;
    let mut first = None;
    println!("{:<48}{:>10}{:>12}{:>12}{:>12}{:>8}", "policy", "decisions", "median µs", "mean µs", "p99 µs", "ratio");
    for id in policies {
        let policy = Dag::open(&id.parse()?)?;
        let mut timed = Timed { policy, nanoseconds: Vec::new() };
        for episode in 0..episodes {
            let id = EpisodeId::new(0, Split::Test, episode);
            run_episode(&workload, &mut timed, id, |_, _, _| {})?;
        }
        let times = &mut timed.nanoseconds;
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1e3;
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64 / 1e3;
        let median = at(0.5);
        let ratio = *first.get_or_insert(median) / median;
        println!("{id:<48}{:>10}{median:>12.2}{mean:>12.2}{:>12.2}{ratio:>8.1}", times.len(), at(0.99));
    }
    Ok(())
}
