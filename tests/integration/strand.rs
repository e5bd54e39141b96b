//! The rule by which policies do not strand the cluster (`View::strands`).

use sched_distill::{
    dag::{
        Dag, Decision, StageRef, View,
        network::DecimaPolicy,
        simulator::Simulator,
        workload::{self, DagWorkload},
    },
    level::first_max,
    policy::Policy,
    rng::{Split, Stream, episode_seed},
    scenario::Said,
    simulation::Simulation as _,
};
use std::error::Error;

fn open(workload: &str) -> Result<DagWorkload, Box<dyn Error>> {
    Ok(workload::open(&workload.parse()?)?)
}

/// Whether a policy gets through a test episode, and never leaves most executors idle beside work until they are offered again.
fn finishes(
    workload: &DagWorkload,
    policy: &mut dyn Policy<Dag>,
    (seed, episode): (u64, u64),
) -> Result<bool, Box<dyn Error>> {
    let seed = episode_seed(seed, Split::Test, episode);
    let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
    let mut p = Said::default();
    policy.reset(seed);
    while let Some(seen) = sim.view() {
        p.clear();
        let decision = policy.decide(&seen, &mut p)?;
        sim.step(decision)?;
    }
    let is_idle = |longest_ms: Option<f64>| longest_ms.is_none_or(|ms| ms >= 300_000.0);
    Ok(sim.outcome().is_some_and(|outcome| !outcome.stalled() && !is_idle(outcome.longest_idle_ms)))
}

#[test]
fn the_network_that_ships_gets_through_where_what_it_prefers_strands() -> Result<(), Box<dyn Error>> {
    let workload = open("builtin")?;
    for episode in [(4242, 78), (13, 123)] {
        let as_it_is = finishes(&workload, &mut DecimaPolicy::builtin(false)?.may_strand(), episode)?;
        assert!(!as_it_is, "{episode:?} is no example any more");
        assert!(finishes(&workload, &mut DecimaPolicy::builtin(false)?, episode)?, "{episode:?}");
    }
    Ok(())
}

/// At every question of episodes that strand and of others, beside the network as it is.
#[test]
fn the_network_decides_otherwise_only_where_its_choice_strands() -> Result<(), Box<dyn Error>> {
    // By stages that cannot start, and by amounts for those that can.
    let (mut fired, mut decisions) = ([0; 2], 0);
    for (spec, sample, seed, episodes) in [
        ("builtin", false, 13, 121..125),
        ("builtin", false, 4242, 78..80),
        ("builtin", true, 13, 0..4),
        ("builtin,edge=chains,jobs=20", false, 777, 0..12),
        ("builtin,edge=chains,jobs=20", true, 777, 0..12),
    ] {
        let workload = open(spec)?;
        for episode in episodes {
            let seed = episode_seed(seed, Split::Test, episode);
            let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
            let (mut wary, mut free) = (DecimaPolicy::builtin(sample)?, DecimaPolicy::builtin(sample)?.may_strand());
            let (mut p, mut of_free) = (Said::default(), Said::default());
            wary.reset(seed);
            free.reset(seed);
            while let Some(seen) = sim.view() {
                p.clear();
                of_free.clear();
                let decision = wary.decide(&seen, &mut p)?;
                let preferred = free.decide(&seen, &mut of_free)?;
                decisions += 1;
                let Decision::Assign { stage, .. } = preferred else { panic!("a network always gives") };
                let likely = Decision::Assign { stage, executors: 1 + first_max(of_free.given.iter().copied()) as u32 };
                if seen.strands(preferred) || (seen.stage(stage).incomplete_parents() == 0 && seen.strands(likely)) {
                    fired[usize::from(seen.stage(stage).incomplete_parents() == 0)] += 1;
                    is_the_same_network_without_what_strands(&seen, (decision, stage), (&p, &of_free));
                    if sample {
                        // From here on they draw different numbers.
                        break;
                    }
                } else {
                    assert_eq!((decision, &p), (preferred, &of_free));
                }
                sim.step(decision)?;
            }
        }
    }
    assert!(fired[0] >= 3 && fired[1] >= 3 && decisions > 20_000, "fired {fired:?} times in {decisions} decisions");
    Ok(())
}

/// `preferred` is the stage that the network prefers.
fn is_the_same_network_without_what_strands(
    seen: &View<'_>,
    (decision, preferred): (Decision, StageRef),
    (p, of_free): (&Said, &Said),
) {
    assert!(!seen.strands(decision));
    if seen.stage(preferred).incomplete_parents() > 0 {
        let strands = |place: usize| seen.strands_all(seen.schedulable()[place]);
        is_the_same_without(&p.joint, &of_free.joint, strands);
        return;
    }
    // It is the amount alone that strands.
    let Decision::Assign { stage, .. } = decision else { panic!("a network always gives") };
    assert_eq!((stage, &p.joint), (preferred, &of_free.joint));
    let strands = |place: usize| seen.strands(Decision::Assign { stage, executors: 1 + place as u32 });
    match strands(first_max(of_free.given.iter().copied())) {
        true => is_the_same_without(&p.given, &of_free.given, strands),
        false => assert_eq!(p.given, of_free.given),
    }
}

fn is_the_same_without(p: &[f64], of_free: &[f64], strands: impl Fn(usize) -> bool) {
    let left: f64 = p.iter().map(|p| p.exp()).sum();
    assert!((left - 1.0).abs() < 1e-9, "{left}");
    let mut kept = Vec::new();
    for (place, (p, free)) in p.iter().zip(of_free).enumerate() {
        match strands(place) {
            true => assert_eq!(*p, f64::NEG_INFINITY),
            false => kept.push(p - free),
        }
    }
    // All by the same factor.
    assert!(!kept.is_empty() && kept.iter().all(|more| (more - kept[0]).abs() < 1e-9 && *more >= 0.0), "{kept:?}");
}

/// Takes anything, and often a stage that cannot start yet, or nothing.
fn anything(seen: &View<'_>, stream: &mut Stream) -> Decision {
    let stages = seen.schedulable();
    let waits = |place: &usize| seen.stage(stages[*place]).incomplete_parents() > 0;
    let places: Vec<usize> = match stream.uniform() {
        x if x < 0.1 => return Decision::Abstain,
        x if x < 0.5 && (0..stages.len()).any(|place| waits(&place)) => (0..stages.len()).filter(waits).collect(),
        _ => (0..stages.len()).collect(),
    };
    let executors = match stream.uniform() {
        x if x < 0.5 => seen.committable(),
        _ => 1 + stream.below(seen.committable() as usize) as u32,
    };
    Decision::Assign { stage: stages[places[stream.below(places.len())]], executors }
}

#[test]
fn whoever_never_strands_the_cluster_by_a_decision_never_stalls() -> Result<(), Box<dyn Error>> {
    for spec in [
        "builtin,jobs=20",
        "builtin,jobs=8,executors=3",
        "builtin,jobs=5,executors=1",
        "builtin,jobs=8,executors=20,rate=1e-3",
        "builtin,jobs=6,executors=5,edge=chains",
        "builtin,jobs=6,edge=wide",
    ] {
        let (workload, mut stalled) = (open(spec)?, [0, 0]);
        for episode in 0..40 {
            for wary in [false, true] {
                let seed = episode_seed(1, Split::Test, episode);
                let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
                let mut stream = Stream::new(seed, "anything");
                while let Some(seen) = sim.view() {
                    let mut decision = anything(&seen, &mut stream);
                    if wary && seen.strands(decision) {
                        let way_out = |&&stage: &&_| !seen.strands_all(stage);
                        assert!(
                            seen.schedulable().iter().any(|stage| way_out(&stage)),
                            "{spec}, {episode}: no way out"
                        );
                        while seen.strands(decision) {
                            decision = anything(&seen, &mut stream);
                        }
                    }
                    sim.step(decision)?;
                }
                stalled[usize::from(wary)] += u32::from(sim.outcome().is_some_and(|outcome| outcome.stalled()));
            }
        }
        assert!(stalled[0] >= 5, "{spec} is no test: {} stalled without the rule", stalled[0]);
        assert_eq!(stalled[1], 0, "{spec}");
    }
    Ok(())
}

/// Whatever a policy does that avoids stranding decisions, a job is started in every slot in which one can be.
#[test]
fn training_jobs_are_never_left_waiting_by_who_avoids_what_strands() -> Result<(), Box<dyn Error>> {
    use sched_distill::{
        scenario::{Questions, Scenario},
        simulation::Simulated,
        training::{Decision, Training, workload::TrainingWorkload},
    };
    let (mut avoided, mut slots) = (0, 0);
    for (spec, episodes) in [
        ("builtin,nodes=1,jobs=6,max=3", 0..40),
        ("builtin,nodes=2,jobs=10,max=16", 0..20),
        ("builtin,nodes=4,jobs=8,max=2,speed=analytic", 0..20),
    ] {
        let workload = TrainingWorkload::open(&spec.parse()?)?;
        for episode in episodes {
            let mut stream = Stream::new(episode, "random decisions");
            let mut sim = Training::start(&workload, workload.jobs(episode), episode);
            let mut questions = <Training as Scenario>::Questions::default();
            let mut trained = false;
            while let Some(seen) = sim.view() {
                questions.update(&seen);
                // A random path of candidates that do not strand; closing is as likely as going on.
                let (mut path, mut rows) = (Vec::new(), Vec::new());
                loop {
                    rows.clear();
                    let n = questions.rows(&seen, &path, false, &mut rows);
                    if n == 0 {
                        break;
                    }
                    let strands = |candidate: usize| questions.strands(&seen, &[&path[..], &[candidate]].concat());
                    let kept: Vec<usize> = (0..n).filter(|&candidate| !strands(candidate)).collect();
                    assert!(!kept.is_empty(), "there is always another");
                    avoided += n - kept.len();
                    path.push(kept[stream.below(kept.len())]);
                }
                let decision = questions.decision(&seen, &path);
                assert!(!seen.strands(decision));
                let trains = |&job: &u32| seen.job(job).workers() > 0 && seen.job(job).servers() > 0;
                trained |= seen.live_jobs().iter().any(trains);
                if decision == Decision::Close {
                    assert!(trained, "{spec}, episode {episode}: nothing trains in slot {}", seen.slot());
                    (trained, slots) = (false, slots + 1);
                }
                sim.step(decision)?;
            }
            assert!(sim.outcome().is_some_and(|outcome| !outcome.stalled()), "{spec}, episode {episode}");
        }
    }
    assert!(avoided > 1000 && slots > 1000, "{avoided} {slots}");
    Ok(())
}

/// The rule is what it says, decision by decision: what would come of it is tried out.
#[test]
fn what_strands_training_jobs_is_what_leaves_none_to_be_started() -> Result<(), Box<dyn Error>> {
    use sched_distill::{
        simulation::Simulated,
        training::{Decision, Task, Training, View, workload::TrainingWorkload},
    };
    let trains = |seen: &View<'_>| {
        seen.live_jobs().iter().any(|&job| seen.job(job).workers() > 0 && seen.job(job).servers() > 0)
    };
    let could_start = |seen: &View<'_>| {
        seen.live_jobs().iter().any(|&id| {
            let job = seen.job(id);
            let lacks = match (job.workers(), job.servers()) {
                (0, 0) => Task::Both,
                (0, _) => Task::Worker,
                (_, 0) => Task::Server,
                _ => return false,
            };
            job.can_take(lacks) && seen.fits(id, lacks)
        })
    };
    let (mut stranding, mut asked) = (0, 0);
    for spec in ["builtin,nodes=1,jobs=6", "builtin,nodes=2,jobs=8", "builtin,nodes=3,jobs=10"] {
        let workload = TrainingWorkload::open(&spec.parse()?)?;
        for episode in 0..60 {
            let mut stream = Stream::new(episode, "walk");
            let mut sim = Training::start(&workload, workload.jobs(episode), episode);
            for _ in 0..150 {
                let Some(seen) = sim.view() else { break };
                let (slot, before) = (seen.slot(), !trains(&seen) && could_start(&seen));
                let mut adds = Vec::new();
                for &job in seen.live_jobs() {
                    for task in Task::ALL {
                        let decision = Decision::Add { job, task, node: None };
                        if sim.check(decision).is_ok() {
                            let mut then = sim.clone();
                            then.step(decision)?;
                            // The slot goes on until it is closed.
                            let after = then.view().filter(|after| after.slot() == slot);
                            let expected = before && after.is_none_or(|after| !trains(&after) && !could_start(&after));
                            assert_eq!(seen.strands(decision), expected, "{spec}, {episode}: {decision:?}");
                            (stranding, asked) = (stranding + u32::from(expected), asked + 1);
                            adds.push((decision, task));
                        }
                    }
                }
                assert_eq!(seen.strands(Decision::Close), before);
                // Mostly single tasks of one sort, so that nodes fill up without a job that trains.
                let sort = if episode % 2 == 0 { Task::Server } else { Task::Worker };
                adds.retain(|(_, task)| *task == sort || stream.uniform() < 0.02);
                let decision = match adds.is_empty() {
                    true => Decision::Close,
                    false => adds[stream.below(adds.len())].0,
                };
                sim.step(decision)?;
            }
        }
    }
    assert!(stranding > 100 && asked > 20_000, "{stranding} of {asked}");
    Ok(())
}
