//! What networks of others see of a question of the `training` scenario, and what comes of their scores
//! (`docs/foreign-policies.md`).

use crate::{
    scenario::Training,
    state::{Decision, Task, View},
};
use sched_distill_core::{
    contract::{
        Column, Contract, Dtype, Input, Inputs, Output, Scores, Size, SizeInfo, Tables, Tabular,
        Values::{Bool, F32, I64},
        column,
    },
    policy::pick::{Picker, log_softmax},
    scenario::Said,
};
use std::ops::Range;

/// Columns of `jobs`.
const JOB_COLUMNS: [Column; 14] = [
    column("age_slots", "slots", "slots since the job arrived"),
    column("epochs", "epochs", "epochs that it is believed to take"),
    column("remaining_epochs", "epochs", "those that are left; negative if it takes longer than believed"),
    column("workers", "workers", "workers that it has in this slot"),
    column("servers", "servers", "parameter servers that it has in this slot"),
    column("dominant_share", "1", "the larger of its shares of the cluster's CPU and GPU slots"),
    column("worker_cpu", "CPU slots", "CPU slots that a worker takes"),
    column("worker_gpu", "GPU slots", "GPU slots that a worker takes"),
    column("server_cpu", "CPU slots", "CPU slots that a parameter server takes"),
    column("server_gpu", "GPU slots", "GPU slots that a parameter server takes"),
    column("speed", "epochs/slot", "speed with the tasks that it has; 0 without a worker or without a server"),
    column("speed_with_worker", "epochs/slot", "speed with one worker more on the head node, whether that fits or not"),
    column("speed_with_server", "epochs/slot", "the same with one parameter server more"),
    column("speed_with_both", "epochs/slot", "the same with one of each more"),
];

/// Entries of `cluster`.
const CLUSTER_COLUMNS: [Column; 14] = [
    column("nodes", "nodes", "nodes of the cluster, all alike"),
    column("cpu", "CPU slots", "CPU slots of all nodes"),
    column("gpu", "GPU slots", "GPU slots of all nodes"),
    column("used_cpu", "CPU slots", "of these in use in this slot"),
    column("used_gpu", "GPU slots", "of these in use in this slot"),
    column("head_cpu", "CPU slots", "CPU slots free on the head node, which gets the next task"),
    column("head_gpu", "GPU slots", "GPU slots free there"),
    column("max_workers", "workers", "most workers of a job"),
    column("max_servers", "servers", "most parameter servers of a job"),
    column("types", "types", "types of job that the cluster knows; `job_type` is below it"),
    column("live_jobs", "jobs", "jobs that have arrived and not completed"),
    column("arrived_jobs", "jobs", "jobs that have arrived so far"),
    column("slot", "slots", "number of the slot that is being filled, from 0"),
    column("slot_s", "s", "length of a slot"),
];

// Places among the sizes.
const JOBS: usize = 0;

/// Tasks of a job: [`Task::ALL`].
const TASKS: usize = Task::ALL.len();

/// There is at least one job; it may be that no task fits.
static CONTRACT: Contract = Contract {
    scenario: Some("training"),
    sizes: &[SizeInfo { name: "jobs", meaning: "live jobs" }],
    inputs: &[
        Input {
            name: "jobs",
            dtype: Dtype::F32,
            shape: &[Size::Of(JOBS), Size::Columns],
            columns: &JOB_COLUMNS,
            meaning: "a row per job that has arrived and not completed, in order of arrival",
        },
        Input {
            name: "job_type",
            dtype: Dtype::I64,
            shape: &[Size::Of(JOBS)],
            columns: &[],
            meaning: "the job's type, from 0: its place among the types of the cluster",
        },
        Input {
            name: "mask",
            dtype: Dtype::Bool,
            shape: &[Size::Of(JOBS), Size::Fixed(TASKS)],
            columns: &[],
            meaning: "whether the job may be given a worker, a parameter server, one of each: within its maxima \
                      and the room of the head node",
        },
        Input {
            name: "cluster",
            dtype: Dtype::F32,
            shape: &[Size::Columns],
            columns: &CLUSTER_COLUMNS,
            meaning: "the cluster's numbers",
        },
    ],
    outputs: &[
        Output {
            name: "task_scores",
            shape: &[Size::Of(JOBS), Size::Fixed(TASKS)],
            layout: "a row per job, columns for a worker, a parameter server, one of each",
            meaning: "by job, logits of a worker, a parameter server, one of each",
        },
        Output {
            name: "close_score",
            shape: &[Size::Fixed(1)],
            layout: "one number",
            meaning: "the logit of closing the slot",
        },
    ],
    needed: "scores of tasks that fit, and that of closing the slot,",
};

// Places among the outputs.
const TASK_SCORES: usize = 0;
const CLOSE_SCORE: usize = 1;

impl Tabular for Training {
    fn contract() -> &'static Contract {
        &CONTRACT
    }

    type Tables = TrainingTables;
}

/// Writes questions as tables; the scheduler is a softmax over the tasks that fit and closing the slot.
#[derive(Clone, Debug, Default)]
pub struct TrainingTables {
    /// Scores of the tasks that fit and of closing the slot.
    logits: Vec<f32>,
    log_prob: Vec<f64>,
}

/// Whether tasks may be given, shape `(jobs, 3)`.
fn mask(inputs: &Inputs) -> &[bool] {
    let [_, _, Bool(mask), _] = inputs.values() else { unreachable!("inputs of this contract") };
    mask
}

impl Tables<Training> for TrainingTables {
    fn read(&mut self, seen: &View<'_>, inputs: &mut Inputs) {
        let [F32(jobs), I64(job_type), Bool(mask), F32(cluster)] = inputs.values_mut() else {
            unreachable!("inputs of this contract");
        };
        for &id in seen.live_jobs() {
            let job = seen.job(id);
            let counts = |counts: [u32; 2]| counts.map(f64::from);
            let [workers, servers] = counts([job.workers(), job.servers()]);
            let [worker_cpu, worker_gpu] = counts(job.request(Task::Worker));
            let [server_cpu, server_gpu] = counts(job.request(Task::Server));
            let [with_worker, with_server, with_both] = Task::ALL.map(|task| job.speed_with(task));
            let row: [f64; JOB_COLUMNS.len()] = [
                f64::from(job.stay()),
                job.epochs(),
                job.remaining_epochs(),
                workers,
                servers,
                job.dominant_share(),
                worker_cpu,
                worker_gpu,
                server_cpu,
                server_gpu,
                job.speed(),
                with_worker,
                with_server,
                with_both,
            ];
            jobs.extend(row.map(|value| value as f32));
            job_type.push(i64::from(job.kind()));
            mask.extend(Task::ALL.map(|task| job.can_take(task) && seen.fits(id, task)));
        }
        let (all, capacity, used, head) =
            (seen.cluster(), seen.cluster().capacity(), seen.used(), seen.node_free(seen.head()));
        let counts = [
            all.nodes,
            capacity[0],
            capacity[1],
            used[0],
            used[1],
            head[0],
            head[1],
            all.max_workers,
            all.max_servers,
            all.types.len() as u32,
            seen.live_jobs().len() as u32,
            seen.arrived(),
            seen.slot(),
        ];
        cluster.extend(counts.map(|count| count as f32));
        cluster.push(all.slot_s as f32);
        inputs.set_sizes(&[seen.live_jobs().len()]);
    }

    fn needed(&self, inputs: &Inputs, _: &Scores, mut look: impl FnMut(usize, Range<usize>)) {
        for (place, _) in mask(inputs).iter().enumerate().filter(|&(_, &fits)| fits) {
            look(TASK_SCORES, place..place + 1);
        }
        look(CLOSE_SCORE, 0..1);
    }

    fn decide(
        &mut self,
        seen: &View<'_>,
        (inputs, scores): (&Inputs, &Scores),
        picker: &mut Picker,
        out: &mut Said,
    ) -> Option<Decision> {
        let (mask, [tasks, close]) = (mask(inputs), scores.outputs()) else { unreachable!("outputs of this contract") };
        self.logits.clear();
        self.logits.extend(mask.iter().zip(&tasks.values).filter(|&(&fits, _)| fits).map(|(_, &score)| score));
        self.logits.extend(&close.values);
        self.log_prob.clear();
        // Finite scores may still be too far apart for a finite log-probability.
        if !log_softmax(&self.logits, &mut self.log_prob) {
            return None;
        }
        let mut fitting = self.log_prob.iter();
        let mut next = || fitting.next().copied().unwrap_or(f64::NEG_INFINITY);
        out.joint.extend(mask.iter().map(|&fits| if fits { next() } else { f64::NEG_INFINITY }));
        out.joint.push(next());
        let action = picker.pick(&out.joint);
        let closes = action == mask.len();
        Some(match seen.live_jobs().get(action / TASKS) {
            Some(&job) if !closes => Decision::Add { job, task: Task::ALL[action % TASKS], node: None },
            _ => Decision::Close,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::TrainingWorkload;
    use sched_distill_core::{
        contract::{ScoreError, Tensor},
        simulation::{Simulated, Simulation as _},
    };

    fn read(tables: &mut TrainingTables, seen: &View<'_>, inputs: &mut Inputs) {
        inputs.clear();
        tables.read(seen, inputs);
        assert!(inputs.are_whole());
    }

    fn start(spec: &str, seed: u64) -> <Training as Simulated>::Simulator {
        let workload = TrainingWorkload::open(&spec.parse().unwrap()).unwrap();
        Training::start(&workload, workload.jobs(seed), seed)
    }

    /// Scores that go by places alone, so that all tasks come along; closing is unlikely.
    fn filled(inputs: &Inputs) -> Scores {
        let mut scores = Scores::new(&CONTRACT);
        let jobs = inputs.size("jobs");
        let values =
            mask(inputs).iter().enumerate().map(|(i, &on)| if on { (i % 7) as f32 } else { f32::NAN }).collect();
        *scores.output("task_scores") = Tensor { values, shape: vec![jobs, TASKS] };
        *scores.output("close_score") = Tensor { values: vec![-1.0], shape: vec![1] };
        scores
    }

    #[test]
    fn numbers_are_those_of_the_view_and_the_mask_is_what_may_be_done() {
        let (mut tables, mut inputs, mut asked) = (TrainingTables::default(), Inputs::new(&CONTRACT), 0);
        for spec in ["builtin,nodes=4,jobs=10,max=3", "builtin,nodes=3,jobs=8,max=3,speed=analytic"] {
            let (mut sim, mut picker) = (start(spec, 2), Picker::new(true, "test"));
            picker.reset(1);
            while let Some(seen) = sim.view() {
                read(&mut tables, &seen, &mut inputs);
                let live = seen.live_jobs();
                assert_eq!(inputs.size("jobs"), live.len());
                let rows = inputs.floats("jobs").chunks(JOB_COLUMNS.len()).zip(inputs.integers("job_type"));
                for ((row, &kind), &id) in rows.zip(live) {
                    let job = seen.job(id);
                    assert_eq!(
                        (row[0], row[3], row[4]),
                        (job.stay() as f32, job.workers() as f32, job.servers() as f32)
                    );
                    assert_eq!((row[1], row[2]), (job.epochs() as f32, job.remaining_epochs() as f32));
                    assert_eq!(kind, i64::from(job.kind()));
                    assert_eq!([row[6], row[7]], job.request(Task::Worker).map(|slots| slots as f32));
                    assert_eq!(
                        row[10..],
                        [
                            job.speed(),
                            job.speed_with(Task::Worker),
                            job.speed_with(Task::Server),
                            job.speed_with(Task::Both)
                        ]
                        .map(|speed| speed as f32)
                    );
                }
                let cluster = inputs.floats("cluster");
                assert_eq!([cluster[3], cluster[4]], seen.used().map(|slots| slots as f32));
                assert_eq!((cluster[10], cluster[12]), (live.len() as f32, seen.slot() as f32));
                // What the mask allows is what the simulator would carry out.
                let all = live.iter().flat_map(|&job| Task::ALL.map(|task| Decision::Add { job, task, node: None }));
                assert!(all.zip(mask(&inputs)).all(|(decision, &fits)| sim.check(decision).is_ok() == fits));
                let scores = filled(&inputs);
                assert_eq!(scores.check::<Training>(&tables, &inputs), Ok(()));
                let mut p = Said::default();
                let decision = tables.decide(&seen, (&inputs, &scores), &mut picker, &mut p).unwrap();
                assert_eq!(p.joint.len(), 3 * live.len() + 1);
                let ruled_out = p.joint.iter().zip(mask(&inputs)).all(|(p, &fits)| fits == p.is_finite());
                let sum: f64 = p.joint.iter().map(|p| p.exp()).sum();
                assert!(ruled_out && (sum - 1.0).abs() < 1e-9, "{:?}", p.joint);
                sim.step(decision).unwrap();
                asked += 1;
            }
        }
        assert!(asked > 200, "{asked}");
    }

    /// How long jobs really take, and what luck they will have, is no part of it.
    #[test]
    fn nothing_tells_the_future() {
        let first = |spec: &str| {
            let (sim, mut inputs) = (start(spec, 3), Inputs::new(&CONTRACT));
            read(&mut TrainingTables::default(), &sim.view().unwrap(), &mut inputs);
            inputs.values().to_vec()
        };
        assert_eq!(first("builtin,jobs=20"), first("builtin,jobs=20,epoch-error=0.9,speed-error=0.9"));
        assert_ne!(first("builtin,jobs=20"), first("builtin,jobs=20,epochs=50"));
    }

    #[test]
    fn wrong_shapes_and_missing_numbers_are_named() {
        let (sim, mut tables, mut inputs) =
            (start("builtin,jobs=9", 1), TrainingTables::default(), Inputs::new(&CONTRACT));
        read(&mut tables, &sim.view().unwrap(), &mut inputs);
        let jobs = inputs.size("jobs");
        type Change<'a> = &'a dyn Fn(&mut Tensor, &mut Tensor);
        for (change, words) in [
            (
                &(|t: &mut Tensor, _: &mut Tensor| t.shape = vec![3 * jobs]) as Change<'_>,
                "task_scores of shape (9); it must be (3, 3)",
            ),
            (&|t, _| t.values.truncate(1), "a row per job, columns for a worker, a parameter server, one of each"),
            (&|_, c| c.shape.clear(), "close_score of shape (); it must be (1): one number"),
            (&|t, _| t.values[4] = f32::NAN, "task_scores[1, 1] is NaN; scores of tasks that fit, and that of closing"),
            (&|_, c| c.values[0] = f32::INFINITY, "close_score[0] is inf"),
        ] {
            let mut scores = filled(&inputs);
            let [tasks, close] = scores.outputs_mut() else { unreachable!("two outputs") };
            change(tasks, close);
            let said = scores.check::<Training>(&tables, &inputs).err().as_ref().map(ScoreError::to_string);
            assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{said:?}, expected {words}");
        }
    }
}
