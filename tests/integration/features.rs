//! What features say of themselves, against what is recorded.

use sched_distill::{
    dag::Dag,
    level::{FLAG, Scope},
    policy::Policy,
    recorder::{ChoiceLog, EpisodeId, run_episode},
    registry::Registered as _,
    rng::Split,
    simulation::{Simulated, Workload},
    training::{Training, workload::TrainingWorkload},
};
use std::collections::BTreeSet;

/// Features that are whole wherever they are recorded without saying so, of all that are quantities.
fn whole_by_chance<S: Simulated>(workloads: &[&Workload<S>], mut policy: Box<dyn Policy<S>>) -> BTreeSet<String> {
    let mut log = ChoiceLog::<S>::new(policy.abstains());
    for (episode, &workload) in (0..).zip(workloads) {
        let (mut step, id) = (0, EpisodeId::new(5, Split::Train, episode));
        run_episode(workload, &mut *policy, id, |seen, decision, p| {
            log.push(episode, step, seen, decision, p);
            step += 1;
        })
        .unwrap();
    }
    let mut by_chance = BTreeSet::new();
    for table in log.into_tables() {
        assert!(table.choices.len() > 100, "{}", table.spec.name);
        for (column, feature) in table.spec.features.iter().enumerate() {
            let mut values = table.iter().flat_map(|c| c.x.chunks(c.width)).map(|row| row[column]);
            let fraction = values.find(|value| value.fract() != 0.0);
            match (feature.whole, fraction) {
                (true, Some(value)) => panic!("{} {} is {value}", table.spec.name, feature.name),
                (false, None) if feature.scope == Scope::Absolute => drop(by_chance.insert(feature.name.clone())),
                _ => {}
            }
            assert!(feature.whole || (feature.scope != Scope::Rank && feature.unit != FLAG), "{}", feature.name);
        }
    }
    by_chance
}

#[test]
fn features_that_are_whole_say_so() {
    let open = |name: &str| sched_distill::dag::workload::open(&name.parse().unwrap()).unwrap();
    let (even, uneven) = (open("builtin,jobs=40"), open("builtin,jobs=40,edge=mix,executors=7"));
    let fair = Dag::open(&"fair".parse().unwrap()).unwrap();
    assert_eq!(whole_by_chance::<Dag>(&[&even, &uneven], fair), BTreeSet::new());

    let open = |name: &str| TrainingWorkload::open(&name.parse().unwrap()).unwrap();
    let (even, uneven) = (open("builtin"), open("builtin,nodes=9,dips=0.3"));
    let optimus = Training::open(&"optimus".parse().unwrap()).unwrap();
    assert_eq!(whole_by_chance::<Training>(&[&even, &uneven], optimus), BTreeSet::new());
}
