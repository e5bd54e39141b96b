//! What holds of the questions of every scenario: paths lead to decisions and decisions have paths, and what a policy says comes to the
//! same by item and level by level.

use sched_distill::{
    dag::Dag,
    deadlines::Deadlines,
    preemption::Preemption,
    registry::{Registered, all},
    rng::Stream,
    scenario::{Answer, ChoiceRows, Questions as _, Said, Scenario},
    serving::Serving,
    simulation::Simulation as _,
    training::Training,
};

#[test]
fn laws_of_questions_hold_in_every_scenario() {
    for scenario in all().iter() {
        match scenario.info().name {
            "dag" => {
                laws::<Dag>("sjf-cp", &["builtin,jobs=6,executors=8,rate=1e-3"]);
                laws::<Dag>("fair", &["builtin,jobs=6,executors=8,rate=1e-3"]);
            }
            "training" => laws::<Training>(
                "optimus",
                &["builtin,nodes=6,jobs=12,max=4", "builtin,nodes=3,jobs=8,max=3,speed=analytic"],
            ),
            "deadlines" => {
                let workloads = [
                    "builtin,jobs=20,node-cores=16",
                    "builtin,jobs=15,nodes=3,node-cores=8,edge=hopeless,refuse=1",
                    "builtin,jobs=15,arrivals=poisson",
                ];
                ["qos", "fifo", "edf-test,refuse=1"].iter().for_each(|policy| laws::<Deadlines>(policy, &workloads));
            }
            "preemption" => {
                let workloads = ["builtin,jobs=40,nodes=2,load=2", "builtin,jobs=30,nodes=3,arrivals=batch,mtbf=4"];
                ["srtf", "pickyman"].iter().for_each(|policy| laws::<Preemption>(policy, &workloads));
            }
            "serving" => {
                let workloads = ["builtin,seconds=0.3"];
                ["dybatch", "triton,delay=4"].iter().for_each(|policy| laws::<Serving>(policy, &workloads));
            }
            other => panic!("{other}: a scenario without workloads here"),
        }
    }
}

/// One question with its answer, and all its paths.
struct Asked<'a, 'v, S: Scenario> {
    seen: &'a S::View<'v>,
    questions: &'a mut S::Questions,
    decision: S::Decision,
    /// Those of choices, and those of decisions.
    choices: Vec<Vec<usize>>,
    decisions: Vec<Vec<usize>>,
}

fn laws<S: Registered>(policy: &str, workloads: &[&str]) {
    let (mut asked, mut stream) = (0, Stream::new(1, "laws"));
    for spec in workloads {
        let workload = S::open_workload(&spec.parse().unwrap()).unwrap();
        let mut policy = S::open(&policy.parse().unwrap()).unwrap();
        let (mut sim, mut questions) = (S::start(&workload, workload.jobs(3), 3), S::Questions::default());
        policy.reset(3);
        while let Some(seen) = sim.view() {
            let decision = policy.decide(&seen, &mut Said::default()).unwrap();
            questions.update(&seen);
            let mut question = Asked::<S> {
                seen: &seen,
                questions: &mut questions,
                decision,
                choices: Vec::new(),
                decisions: Vec::new(),
            };
            question.walk(&mut Vec::new());
            for path in &question.decisions {
                let legal = question.questions.decision(&seen, path);
                assert!(sim.check(legal).is_ok(), "{path:?}: {legal:?}");
            }
            question.paths_lead_to_decisions();
            question.levels_multiply_to_what_was_said(&mut stream);
            question.who_is_sure_is_sure_at_every_level();
            sim.step(decision).unwrap();
            asked += 1;
        }
    }
    assert!(asked > 50, "{policy}: {asked} questions");
}

impl<S: Registered> Asked<'_, '_, S> {
    /// Collects the paths, and checks what is said of candidates on the way.
    fn walk(&mut self, path: &mut Vec<usize>) {
        let (level, mut rows, mut entity) = (path.len(), Vec::new(), Vec::new());
        let count = self.questions.count(self.seen, path, false);
        assert_eq!(self.questions.rows(self.seen, path, false, &mut rows), count, "{path:?}");
        if count == 0 {
            return self.decisions.push(path.clone());
        }
        let spec = &(S::INFO.feature_set)().levels[level];
        assert_eq!(rows.len(), count * spec.features.len());
        assert!(rows.iter().all(|value| value.is_finite()), "{path:?}: {rows:?}");
        self.choices.push(path.clone());
        for candidate in 0..count {
            path.push(candidate);
            entity.clear();
            self.questions.entity(self.seen, path, &mut entity);
            assert_eq!(entity.len(), spec.entities.len(), "{path:?}");
            self.walk(path);
            path.pop();
        }
    }

    fn paths_lead_to_decisions(&self) {
        let mut found = Vec::new();
        for path in &self.decisions {
            let decision = self.questions.decision(self.seen, path);
            assert!(self.questions.path(self.seen, decision, &mut found), "{path:?}: {decision:?}");
            assert!(S::same(self.seen, self.questions.decision(self.seen, &found), decision), "{path:?}: {found:?}");
            assert_eq!(&found, path, "{decision:?}");
        }
    }

    /// Items that paths lead to, with these.
    fn items(&self) -> Vec<(usize, Vec<usize>)> {
        let below = |path: &Vec<usize>| {
            let candidates = 0..self.questions.count(self.seen, path, false);
            candidates.map(|candidate| [&path[..], &[candidate]].concat()).collect::<Vec<_>>()
        };
        let paths = self.choices.iter().flat_map(below);
        paths.filter_map(|path| Some((self.questions.item(self.seen, &path)?, path))).collect()
    }

    /// Something that a policy could say: some items impossible, and not all of a sum of 1 used where some is left over.
    fn said(&self, stream: &mut Stream) -> Said {
        let mut said = Said { joint: vec![f64::NEG_INFINITY; S::items(self.seen)], given: Vec::new() };
        let normal = |weights: Vec<f64>| {
            let total: f64 = weights.iter().sum();
            weights.into_iter().map(|weight| (weight / total).ln()).collect::<Vec<_>>()
        };
        let items = self.items();
        let mut weights: Vec<f64> = items.iter().map(|_| f64::max(0.0, stream.uniform() - 0.1)).collect();
        *weights.last_mut().unwrap() += 0.1;
        for ((item, _), log_prob) in items.iter().zip(normal(weights)) {
            said.joint[*item] = log_prob;
        }
        if let Some((_, entries)) = S::given_place(self.seen, self.decision) {
            said.given = normal((0..*entries.end()).map(|_| 0.01 + stream.uniform()).collect());
        }
        said
    }

    fn levels_multiply_to_what_was_said(&self, stream: &mut Stream) {
        let (said, mut rows, mut told) = (self.said(stream), ChoiceRows::default(), Said::default());
        for list in said.told::<S>(self.seen, self.decision) {
            let (sum, count) = (list.log_prob.iter().map(|p| p.exp()).sum::<f64>(), list.log_prob.len());
            assert!(list.entries.contains(&count), "{}: {count} of {:?}", list.of, list.entries);
            assert!(count == 0 || (sum - 1.0).abs() < 1e-9, "{}: {sum}", list.of);
        }
        let answer = Answer { decision: self.decision, said: &said };
        let mut cells = std::collections::BTreeMap::new();
        for path in &self.choices {
            if self.questions.choice(self.seen, path, &answer, false, &mut rows) {
                let sum: f64 = rows.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
                assert!((sum - 1.0).abs() < 1e-5, "{path:?}: {sum}");
                let above = (0..path.len()).map(|level| cells[&path[..=level]]).sum();
                let log_prob: Vec<f64> = rows.log_prob.iter().map(|&p| f64::from(p)).collect();
                self.questions.tell(self.seen, path, above, &log_prob, &mut told);
                for (candidate, log_prob) in log_prob.into_iter().enumerate() {
                    cells.insert([&path[..], &[candidate]].concat(), log_prob);
                }
            }
        }
        // A probability is written no smaller than e⁻⁵⁰, and what others leave over of 1 may be what rounding has left.
        let near = |a: f64, b: f64| (a - b).abs() < 1e-4 || (a < -30.0 && b < -30.0);
        for (item, path) in self.items() {
            let total = (0..path.len()).map(|level| cells[&path[..=level]]).sum();
            assert!(near(total, said.joint[item]), "{path:?}: {total} {}", said.joint[item]);
        }
        let mut path = Vec::new();
        if self.questions.path(self.seen, self.decision, &mut path)
            && let (Some(item), Some((place, _))) =
                (S::item(self.seen, self.decision), S::given_place(self.seen, self.decision))
        {
            let total: f64 = (0..path.len()).map(|level| cells[&path[..=level]]).sum();
            // What is more than can be used counts for the last candidate.
            let candidates = self.questions.count(self.seen, &path[..path.len() - 1], false);
            let given: f64 = match place + 1 < candidates {
                true => said.given[place],
                false => said.given[candidates - 1..].iter().map(|p| p.exp()).sum::<f64>().ln(),
            };
            let expected = said.joint[item] + given;
            assert!(near(total, expected), "{path:?}: {total} {expected}");
        }
        assert_eq!(told.joint.len(), said.joint.len());
        for (place, (a, b)) in told.joint.iter().zip(&said.joint).enumerate() {
            assert!(a == b || near(*a, *b), "item {place}: {a} {b}");
        }
    }

    fn who_is_sure_is_sure_at_every_level(&self) {
        let (mut sure, mut rows) = (Said::default(), ChoiceRows::default());
        sure.be_sure::<S>(self.seen, self.decision, self.decision);
        let abstains = S::gives_nothing(self.decision);
        assert!(!sure.is_silent());
        for said in [&sure, &Said::default()] {
            let (answer, mut path) = (Answer { decision: self.decision, said }, Vec::new());
            while self.questions.choice(self.seen, &path, &answer, abstains, &mut rows) {
                let chosen = rows.chosen.expect("what was carried out is a candidate");
                let log_prob = rows.log_prob[chosen];
                assert_eq!(log_prob.is_nan(), said.is_silent());
                assert!(log_prob.is_nan() || log_prob > -1e-6, "{path:?}: {log_prob}");
                path.push(chosen);
            }
            assert!(S::same(self.seen, self.questions.decision(self.seen, &path), self.decision), "{path:?}");
        }
        // Of choices that do not come about it still says something that is a distribution.
        let answer = Answer { decision: self.decision, said: &sure };
        for path in &self.choices {
            if self.questions.choice(self.seen, path, &answer, abstains, &mut rows) {
                let sum: f64 = rows.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
                assert!((sum - 1.0).abs() < 1e-5, "{path:?}: {sum}");
            }
        }
    }
}
